"""Commits: what one contains beside its outcome, which sizes are accepted, and which stored items are not."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import TOMBSTONE, Began, Continuation, Failure, Phase, Success
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Name
from unum_runtime.protocol.delivery.commit import MAX_CAUSE_LENGTH, MAX_ERROR_LENGTH, commit, limit_outcome, shorten
from unum_runtime.protocol.delivery.delivery_state import DeliveredEvent, DeliveryState
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, Commit

ROUTES = {"A": "A:1", "B": "B:1", "C": "C:1"}


def platform_of(*states: str, **options: Any) -> Platform:
    platform = Platform.of(chain(*states), None, **dict.fromkeys(states, lambda event: event))
    platform.options = options
    return platform


def of_bytes(size: int) -> Success:
    """Return a result with `size` bytes of JSON."""
    return Success.from_text(f'"{"x" * (size - 2)}"')


def test_only_the_first_commit_states_the_executions_first_versions() -> None:
    platform = platform_of("A", "B", "C", own_address="F:7", carried=("A", "B", "C"))
    platform.run()
    assert [step.began for step in platform.steps()] == [Began("F:7", dict(zip("ABC", "ABC", strict=True))), None, None]


def test_a_function_without_an_address_tells_no_versions() -> None:
    platform = platform_of("A", "B")
    platform.run()
    assert [step.began for step in platform.steps()] == [None, None]


def test_first_commits_of_branches_tell_no_versions() -> None:
    platform = Platform.of(mapped("B", "C"), B=lambda event: event, C=lambda event: event)
    platform.options = {"own_address": "F:7"}
    platform.run(value=[1])
    inside = [key for key in platform.memory._items if "/M@" in key.partition and key.sort != "done"]
    assert inside
    assert not any(
        "began" in platform.memory._items[key][0] or "by" in platform.memory._items[key][0] for key in inside
    )


def test_a_delivery_notes_whether_it_has_created_or_found_an_outcome() -> None:
    rt, name = platform_of("A").runtime(), Name(Execution("e", 0), (), 1)
    first, second = DeliveryState({}), DeliveryState({})
    for delivery in (first, second):
        commit(rt, Commit(name, "A", Phase.LEFT, Success(1)), delivery)
    assert ([each.name for each in first.created], first.found) == ([name], [])
    assert (second.created, second.found) == ([], [name])


@pytest.mark.parametrize(
    ("change", "found"),
    [({"digest": "other"}, "found that of 'B' by IR other"), ({"state": "A"}, "found that of 'A' by IR {ir}")],
)
def test_an_outcome_of_another_state_or_version_is_an_error(change: dict[str, str], found: str) -> None:
    platform = platform_of("A", "B")
    platform.start()
    event, ir = platform.sent[0], platform.workflow.digest
    platform.deliver_all()
    (key,) = [key for key in platform.memory._items if key.sort == "000000002"]
    item, expires_at_s = platform.memory._items[key]
    stored = {"state": item["state"], "ir": item["ir"]} | {
        {"digest": "ir"}.get(key, key): change[key] for key in change
    }
    platform.memory._items[key] = ({**item, **stored}, expires_at_s)
    with pytest.raises(InconsistentHistory) as error:
        platform.deliver(event)
    assert str(error.value) == (
        f"{event.name}: expected the outcome of 'B' by IR {ir}, {found.format(ir=ir)}; "
        "was a name used by two deployments?"
    )


@pytest.mark.parametrize(("size", "fits"), [(MAX_OUTCOME_BYTES, True), (MAX_OUTCOME_BYTES + 1, False)])
def test_an_outcome_may_have_as_many_bytes_as_an_item_stores(size: int, *, fits: bool) -> None:
    rt, outcome = platform_of("A").runtime(), of_bytes(size)
    cause = f"the output has {size} bytes; at most {MAX_OUTCOME_BYTES} are stored"
    found = limit_outcome(rt, outcome)
    assert found == outcome if fits else isinstance(found, Failure)
    if isinstance(found, Failure):
        assert found.error == "States.DataLimitExceeded"
        assert (found.cause or "").startswith(cause)


def test_variables_count() -> None:
    rt, continuation = platform_of("A").runtime(), Continuation(variables={"v": "x" * 100})
    found = limit_outcome(rt, of_bytes(MAX_OUTCOME_BYTES - 50), continuation, what="input")
    assert isinstance(found, Failure)
    assert (found.cause or "").startswith("the input with the variables has ")
    assert limit_outcome(rt, of_bytes(MAX_OUTCOME_BYTES - 500), continuation) == of_bytes(MAX_OUTCOME_BYTES - 500)


def test_variables_that_are_no_json_fail_the_outcome() -> None:
    rt, half = platform_of("A").runtime(), Continuation(variables={"v": chr(0xD800)})
    found = limit_outcome(rt, of_bytes(10), half)
    assert isinstance(found, Failure)
    assert (found.error, str(found.cause).partition(":")[0]) == ("States.Runtime", "the variables is not valid JSON")


def test_only_the_commit_of_an_event_tells_of_its_delivery() -> None:
    platform = platform_of("A", "B")
    platform.start()
    (event,) = platform.sent
    rt, reply = replace(platform.runtime(), arrival=Arrival(5)), []
    for name in (event.name, replace(event.name, step=9)):
        delivery = DeliveryState({})
        delivery.event = DeliveredEvent(event, 5)
        commit(rt, Commit(name, "B", Phase.LEFT, Success(1)), delivery)
        reply += [bool(each.delivery) for each in delivery.created]
    assert reply == [True, False]


@pytest.mark.parametrize(("more", "fits"), [(0, True), (1, False)])
def test_all_that_is_stored_beside_an_outcome_counts(more: int, *, fits: bool) -> None:
    rt, caught = platform_of("A").runtime(), Failure("Error", "x" * 1000)
    continuation = Continuation(variables={"v": "x" * 100}, caught=caught, retries=(1, 2), until_ms=1)
    beside = sum(len(str(value)) for value in continuation.to_item().values())
    assert beside > 1100
    outcome = of_bytes(MAX_OUTCOME_BYTES - beside + more)
    assert (limit_outcome(rt, outcome, continuation) == outcome) is fits


@pytest.mark.parametrize(("size", "fits"), [(30, True), (31, False)])
def test_a_limit_of_the_workflow(size: int, *, fits: bool) -> None:
    outcome = of_bytes(size)
    refused = Failure(
        "States.DataLimitExceeded",
        f"the output has {size} bytes; at most 30 are allowed: pass large data by reference",
    )
    assert limit_outcome(platform_of("A").runtime(), outcome, limit=30) == (outcome if fits else refused)


def test_failures_are_cut_to_their_limits() -> None:
    long = Failure("e" * (MAX_ERROR_LENGTH + 1), "c" * (MAX_CAUSE_LENGTH + 1))
    assert shorten(long) == Failure("e" * MAX_ERROR_LENGTH, "c" * MAX_CAUSE_LENGTH)
    assert limit_outcome(platform_of("A").runtime(), long) == shorten(long)
    exact = Failure("e" * MAX_ERROR_LENGTH, None)
    assert shorten(exact) == exact
    assert shorten(replace(exact, error="")) == Failure("", None)


def test_a_step_without_an_event_of_its_own_is_marked_as_fused() -> None:
    platform = platform_of("A", "B", fuses=lambda *_: True)
    platform.run()
    assert [step.fused for step in platform.steps()] == [False, True]


def test_a_branch_without_a_task_is_marked_as_fused() -> None:
    passing = {"StartAt": "C", "States": {"C": CHOICE, "P": {"Type": "Pass", "End": True}, "T": TASK}}
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": passing, "End": True}}}
    platform = Platform.of(definition, A=lambda event: event)
    platform.run(value=[1, 2])
    assert {step.state: step.fused for step in platform.steps() if step.name.frames} == {"P": True, "T": False}


TASK = {"Type": "Task", "Resource": "A", "End": True}
CHOICE = {"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 1, "Next": "P"}], "Default": "T"}


def mapped_with(result: str, **fields: Any) -> Platform:
    branch = {"StartAt": "T", "States": {"T": TASK}}
    last = {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": branch, "End": True, **fields}
    return Platform.of({"StartAt": "M", "States": {"M": last}}, A=lambda _: result)


def failure_of(platform: Platform, value: Any) -> Failure:
    ending = platform.run(value=value)
    assert ending is not None
    assert isinstance(ending.outcome, Failure), "what was joined is too large"
    return ending.outcome


def test_joined_results_over_the_limit_of_the_workflow_fail() -> None:
    platform = mapped_with("x" * 20)
    platform.workflow = replace(platform.workflow, payload_limit=30)
    assert failure_of(platform, {"items": [1, 2]}).cause == (
        "the output has 47 bytes; at most 30 are allowed: pass large data by reference"
    )


def test_joined_results_that_do_not_fit_beside_the_variables_fail() -> None:
    platform = mapped_with("x" * 150_000, Assign={"v.$": "$[0]"})
    assert str(failure_of(platform, {"items": [1, 2]}).cause).startswith("the output with the variables has 450")


def test_a_result_that_does_not_fit_beside_the_variables_is_caught() -> None:
    catch = [{"ErrorEquals": ["States.DataLimitExceeded"], "Next": "B", "ResultPath": None}]
    platform = Platform.of(
        chain("A", "B", A={"Assign": {"v.$": "$"}, "Catch": catch}), A=lambda _: "x" * 200_000, B=lambda event: event
    )
    ending = platform.run(value=1)
    assert ending is not None
    assert ending.outcome == Success(1)


def test_fan_out_takes_back_an_outcome_set_aside_by_a_dead_delivery() -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "B"}]
    platform = Platform.of(mapped("A", after="B", Catch=catch), A=lambda _: None, B=lambda event: event)
    platform.workflow = replace(platform.workflow, small_results=True)
    platform.collection = Collection.EAGER
    platform.start(value=[1, 2])
    first, second = platform.sent
    platform.sent.clear()
    extend = platform.memory.extend

    def die(*_: Any, **__: Any) -> Any:
        platform.memory.extend = extend
        raise ConnectionError

    def run_beside_another(_: Any) -> Any:
        platform.functions["A"] = run_while_the_fan_out_fails
        with pytest.raises(ConnectionError):
            platform.deliver(first)
        return "x" * 1_000

    def run_while_the_fan_out_fails(_: Any) -> Any:
        platform.functions["A"] = fail
        platform.deliver(second)
        platform.deliver_all()
        platform.memory.extend = die
        return "x" * 1_000

    def fail(event: Any) -> Any:
        raise ValueError(event)

    platform.functions["A"] = run_beside_another
    platform.deliver(first)
    inside = {key: item for key, (item, _) in platform.memory._items.items() if "/M" in key.partition}
    assert len(inside) > 2
    assert [key for key, item in inside.items() if TOMBSTONE not in item] == []
