"""Costs and guarantees of each guard, and nodes without a checkpoint."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import Platform, chain
from unum_client.reading.progress import Reach, progress
from unum_compiler import compile_workflow
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import DefinitionError, RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint, Collected, Ending, Failure, Status, Success
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.states import Guard
from unum_runtime.protocol.delivery.lease import Lease
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS
from unum_simulator.memory_store import MemoryStore

WITHOUT = FunctionOptions(checkpoint=False)
TASK = {"Type": "Task", "Resource": "U"}
LAST = {"Type": "Task", "Resource": "S", "End": True}


def succeeded(value: Any) -> Ending:
    return Ending(Status.SUCCEEDED, Success(value))


def states(steps: Iterable[Checkpoint]) -> list[str]:
    return [step.state for step in steps]


@pytest.mark.parametrize(
    ("guard", "calls"),
    [
        (Guard.READ, {"create": 3, "read": 1}),
        (Guard.COMMIT, {"create": 3}),
        (Guard.LEASE, {"create": 3, "read": 1, "acquire": 2, "release": 2}),
    ],
)
def test_what_a_guard_costs(guard: Guard, calls: dict[str, int]) -> None:
    platform = Platform.of(chain("A", "B"), dict.fromkeys("AB", FunctionOptions(guard=guard)), A=abs, B=abs)
    platform.store = store = CountingStore(platform.memory)
    platform.run(value=1)
    assert store.calls == calls


@pytest.mark.parametrize(("guard", "runs"), [(Guard.READ, 1), (Guard.COMMIT, 2), (Guard.LEASE, 1)])
def test_what_a_guard_keeps_from_running_again(guard: Guard, runs: int) -> None:
    outputs = iter((10, 20))
    options = {"B": FunctionOptions(guard=guard)}
    platform = Platform.of(chain("A", "B", "C"), options, A=abs, B=lambda _: next(outputs), C=abs)
    platform.start(value=1)
    event = platform.sent[0]
    platform.deliver_all()
    platform.deliver(event)
    platform.deliver_all()
    assert platform.calls["B"] == runs
    assert platform.ending() == succeeded(10)


def test_options_reach_the_ir() -> None:
    options = {
        "A": FunctionOptions(guard=Guard.LEASE),
        "U": WITHOUT,
        "S": FunctionOptions(guard=Guard.COMMIT, memoize=True),
    }
    compiled = compile_workflow(chain("A", "U", "S"), name="w", functions=["A", "U", "S"], options=options)
    fields = {task.name: (task.guard, task.committed_by, task.memoize) for task in compiled.tasks}
    assert fields == {
        "A": (Guard.LEASE, None, False),
        "U": (Guard.COMMIT, "S", False),
        "S": (Guard.COMMIT, None, True),
    }
    again = Workflow.from_json(compiled.to_json())
    assert again.states == compiled.states


def test_options_of_no_task_leave_the_ir_as_it_was() -> None:
    plain = compile_workflow(chain("A"), name="w", functions=None)
    assert compile_workflow(chain("A"), name="w", functions=None, options={"U": WITHOUT}).digest == plain.digest
    assert "guard" not in plain.to_json()


@pytest.mark.parametrize("contradiction", [{"guard": Guard.LEASE}, {"memoize": True}])
def test_what_is_not_committed_can_be_neither_guarded_nor_shared(contradiction: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected checkpoint=False alone, got"):
        FunctionOptions(checkpoint=False, **contradiction)


def uncommitted(*names: str, **functions: Any) -> Platform:
    """A chain of Tasks in which those that begin with U have no checkpoint."""
    given = {name: functions.get(name, lambda event: event + 1) for name in names}
    options = {name: WITHOUT for name in names if name.startswith("U")}
    return Platform.of(chain(*names), options, **given)


@pytest.mark.parametrize(
    ("names", "committed"),
    [
        (("A", "U", "S"), "AS"),
        (("U", "S"), "S"),
        (("A", "U1", "U2", "U3", "S", "T"), "AST"),
        (("U", "S", "U2", "T"), "ST"),
    ],
)
def test_a_node_without_checkpoint_is_not_committed_and_takes_no_step(names: tuple[str, ...], committed: str) -> None:
    platform = uncommitted(*names)
    platform.store = store = CountingStore(platform.memory)
    assert platform.run(value=0) == succeeded(len(names))
    assert store.calls["create"] == len(committed) + 1
    steps = platform.steps()
    assert states(steps) == list(committed)
    assert [step.name.step for step in steps] == list(range(1, len(committed) + 1))


def test_two_waves_of_a_node_without_checkpoint_come_to_one_result() -> None:
    outputs = iter((10, 20))
    platform = uncommitted("A", "U", "S", "T", U=lambda _: next(outputs))
    platform.start(value=0)
    (event,) = platform.sent
    platform.deliver(event)
    platform.deliver(platform.sent.pop(0))
    first, second = platform.sent
    assert (first.input.value, second.input.value) == (10, 20)
    platform.deliver(second)
    platform.deliver(first)
    platform.deliver_all()
    assert platform.ending() == succeeded(22)
    assert platform.calls["S"] == 1


def fail(_event: Any) -> Any:
    raise LookupError("gone")


def test_failure_of_a_node_without_checkpoint_commits_as_its_successor() -> None:
    platform = uncommitted("A", "U", "S", U=fail)
    ending = platform.run(value=0)
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "LookupError"
    assert states(platform.steps()) == ["A", "S"]
    assert platform.calls["S"] == 0


@pytest.mark.parametrize("failing_first", [True, False])
def test_success_and_failure_of_one_uncheckpointed_node_give_one_result(*, failing_first: bool) -> None:
    outcomes = [fail, abs] if failing_first else [abs, fail]

    def run(event: Any) -> Any:
        return outcomes.pop(0)(event)

    platform = uncommitted("A", "U", "S", U=run)
    platform.start(value=0)
    (event,) = platform.sent
    platform.deliver_all()
    ending = platform.ending()
    platform.deliver(event)
    platform.deliver_all()
    assert platform.ending() == ending
    assert (ending and ending.status) == (Status.FAILED if failing_first else Status.SUCCEEDED)


def test_output_that_pass_states_cannot_take_fails_as_their_successor() -> None:
    definition = {
        "StartAt": "U",
        "States": {
            "U": {**TASK, "Next": "P"},
            "P": {"Type": "Pass", "InputPath": "$.there", "Next": "S"},
            "S": LAST,
        },
    }
    outputs = iter(({}, {"there": 1}))
    platform = Platform.of(definition, {"U": WITHOUT}, U=lambda _: next(outputs), S=abs)
    platform.start(value=0)
    ending = platform.ending()
    assert ending is not None
    assert ending.status is Status.FAILED
    platform.start(value=0)
    platform.deliver_all()
    assert platform.ending() == ending


def test_an_output_that_is_too_large_fails_in_the_successors_place() -> None:
    platform = uncommitted("A", "U", "S", U=lambda _: "x" * 500_000)
    ending = platform.run(value=0)
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "States.DataLimitExceeded"


def test_the_hop_budget_holds_without_checkpoints() -> None:
    platform = uncommitted("A", "U1", "U2", "S")
    platform.workflow = Workflow("w", "A", platform.workflow.states, hop_budget=2)
    ending = platform.run(value=0)
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "Unum.HopBudgetExceeded"


def joining(**functions: Any) -> Platform:
    branch = {"StartAt": "U1", "States": {"U1": {**TASK, "Next": "I"}, "I": {**LAST, "Resource": "I"}}}
    definition = {
        "StartAt": "A",
        "States": {
            "A": {"Type": "Task", "Resource": "A", "Next": "M"},
            "M": {"Type": "Map", "ItemProcessor": branch, "Next": "J"},
            "J": {"Type": "Task", "Resource": "J", "Next": "S"},
            "S": LAST,
        },
    }
    given = {"A": list, "U": abs, "I": abs, "J": sum, "S": abs, **functions}
    return Platform.of(definition, {"U": WITHOUT, "J": WITHOUT}, **given)


def test_branches_and_joins_may_have_nodes_without_checkpoint() -> None:
    platform = joining()
    assert platform.run(value=[1, -2, 3]) == succeeded(6)
    assert states(platform.steps()) == ["A", "I", "I", "I", "S"]


def test_a_failure_in_a_branch_is_committed_in_the_successors_place() -> None:
    platform = joining(U=fail)
    ending = platform.run(value=[1])
    assert ending is not None
    assert ending.status is Status.FAILED
    assert platform.calls["I"] == 0


def test_eager_collection_leaves_only_tombstones_without_checkpoints() -> None:
    platform = joining()
    platform.collection = Collection.EAGER
    assert platform.run(value=[1, -2, 3]) == succeeded(6)
    assert states(step for step in platform.steps() if not isinstance(step.outcome, Collected)) == ["S"]


@pytest.mark.parametrize("collection", Collection)
def test_late_duplicates_change_nothing_where_nodes_have_no_checkpoint(collection: Collection) -> None:
    platform = joining()
    platform.collection = collection
    platform.start(value=[1, -2, 3])
    delivered = []
    while platform.sent:
        delivered.append(platform.sent.pop(0))
        platform.deliver(delivered[-1])
    ending = platform.ending()
    for event in [*delivered, *reversed(delivered)]:
        try:
            platform.deliver(event)
        except RefusedDelivery:
            assert collection is Collection.EAGER
        platform.sent.clear()
    assert platform.ending() == ending == succeeded(6)


def test_progress_counts_nodes_without_checkpoint_by_the_commit_after_them() -> None:
    platform = uncommitted("A", "U1", "U2", "S")
    platform.start(value=0)
    found = progress(platform.workflow, platform.steps())
    assert [found[name].reach for name in ("U1", "U2", "S")] == [Reach.RUNNING, Reach.NOT_REACHED, Reach.NOT_REACHED]
    platform.deliver_all()
    found = progress(platform.workflow, platform.steps())
    assert {name: found[name].reach for name in found} == dict.fromkeys(("A", "U1", "U2", "S"), Reach.SUCCEEDED)


def refused(definition: dict[str, Any], *functions: str) -> list[str]:
    options = dict.fromkeys(functions or ("U",), WITHOUT)
    with pytest.raises(DefinitionError) as caught:
        compile_workflow(definition, name="w", functions=None, options=options)
    return [str(problem) for problem in caught.value.problems]


def after_u(**following: dict[str, Any]) -> dict[str, Any]:
    first = next(iter(following), None)
    continuation = {"Next": first} if first else {"End": True}
    return {"StartAt": "U", "States": {"U": {**TASK, **continuation}, **following}}


BRANCH = {"StartAt": "I", "States": {"I": {"Type": "Task", "Resource": "I", "End": True}}}
CHOICE = {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": True, "Next": "S"}], "Default": "S"}


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (after_u(), "its scope ends after it"),
        (after_u(P={"Type": "Pass", "End": True}), "its scope ends after it"),
        (after_u(P={"Type": "Succeed"}), "its scope ends after it"),
        (after_u(P={"Type": "Fail"}), "its scope ends after it"),
        (after_u(C=CHOICE, S=LAST), '"C" follows, which may lead deliveries with different outputs'),
        (after_u(P={"Type": "Pass", "Next": "C"}, C=CHOICE, S=LAST), '"C" follows'),
        (
            after_u(M={"Type": "Map", "ItemProcessor": BRANCH, "Next": "S"}, S=LAST),
            '"M" follows, which needs the number of its items committed',
        ),
        (
            after_u(M={"Type": "Parallel", "Branches": [BRANCH], "Next": "S"}, S=LAST),
            '"M" follows, which needs its input committed',
        ),
    ],
)
def test_the_compiler_refuses_what_needs_a_checkpoint(definition: dict[str, Any], reason: str) -> None:
    (problem,) = refused(definition)
    assert problem.startswith(
        f'$.States.U.Resource: "U" has checkpoint=False, but this Task needs a checkpoint: {reason}'
    )
    assert problem.endswith("; remove the option, or give this Task a function of its own")


def test_the_end_of_a_branch_needs_a_checkpoint() -> None:
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": after_u(), "Next": "S"}, "S": LAST}}
    (problem,) = refused(definition)
    assert problem.startswith("$.States.M.ItemProcessor.States.U.Resource: ")


def test_a_circle_needs_a_checkpoint() -> None:
    definition = {
        "StartAt": "C",
        "States": {
            "C": {**CHOICE, "Default": "U"},
            "U": {**TASK, "Next": "V"},
            "V": {"Type": "Task", "Resource": "V", "Next": "U"},
            "S": LAST,
        },
    }
    first, second = refused(definition, "U", "V")
    assert "the Tasks after it loop back to it without any checkpoint" in first
    assert second.startswith("$.States.V.Resource: ")


def test_a_loop_may_have_nodes_without_checkpoint() -> None:
    again = {"Variable": "$", "NumericLessThan": 6, "Next": "U"}
    definition = after_u(
        T={"Type": "Task", "Resource": "T", "Next": "C"},
        C={"Type": "Choice", "Choices": [again], "Default": "E"},
        E={"Type": "Succeed"},
    )
    platform = Platform.of(definition, {"U": WITHOUT}, U=lambda event: event + 1, T=lambda event: event + 1)
    assert platform.run(value=0) == succeeded(6)
    assert [(step.state, step.name.step) for step in platform.steps()] == [("T", 1), ("T", 2), ("T", 3)]


class Freezing(MemoryStore):
    """A store whose client freezes right after it read the outcome of B, while something else happens."""

    meanwhile: Any = None

    def read(self, keys: Any) -> Any:
        found = super().read(keys)
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return found


def frozen(guard: Guard, seconds: int, *, before_user_code: bool) -> Platform:
    """Freeze a delivery of B for `seconds`, while another delivery of the same event commits."""
    outputs = iter((10, 20))
    options = {"B": FunctionOptions(guard=guard)}
    platform = Platform.of(chain("A", "B", "C"), options, A=abs, B=lambda _: next(outputs), C=abs)
    platform.store = platform.memory = store = Freezing(platform.clock)
    platform.start(value=1)
    (event,) = platform.sent

    def freeze() -> None:
        platform.clock.pass_seconds(seconds)
        platform.deliver(event)
        assert [step.state for step in platform.steps()] == ["A", "B"], "the outcome is committed"

    run = platform._call

    def call(*given: Any) -> Any:
        vars(platform)["_call"] = run
        freeze()
        return run(*given)

    if before_user_code:
        vars(platform)["_call"] = call
    else:
        store.meanwhile = freeze
    platform.deliver(event)
    return platform


@pytest.mark.parametrize(
    ("guard", "seconds", "before_user_code"),
    [(Guard.READ, 0, False), (Guard.READ, 0, True), (Guard.LEASE, MAX_DELIVERY_MS // 1000, True)],
)
def test_user_code_after_the_commit_of_its_outcome_has_its_result_dropped(
    *, guard: Guard, seconds: int, before_user_code: bool
) -> None:
    platform = frozen(guard, seconds, before_user_code=before_user_code)
    assert platform.calls["B"] == 2
    assert platform.messages()[-1] == "adopted"
    platform.deliver_all()
    assert platform.ending() == succeeded(10)


def test_delivery_frozen_past_its_lease_checks_again_before_user_code() -> None:
    platform = frozen(Guard.LEASE, MAX_DELIVERY_MS // 1000, before_user_code=False)
    assert platform.calls["B"] == 1
    platform.deliver(platform.pass_to_next())
    platform.deliver_all()
    assert platform.calls["B"] == 1
    assert platform.ending() == succeeded(10)


def test_without_that_look_user_code_would_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lease, "renew", lambda _: True)
    assert frozen(Guard.LEASE, MAX_DELIVERY_MS // 1000, before_user_code=False).calls["B"] == 2
