"""Forks that take over steps of another execution."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.map_platform import deliver_all, deployed, mapped, result
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_client.reading.progress import progress
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    NodeNotForkable,
    StartRefused,
    StartsPaused,
)
from unum_runtime.model.checkpoint import Began, Checkpoint, ForkOrigin, Success
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.control.forks import fork as fork_module
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.operator_requests import fork_runs_on
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.versions import RunsOn
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.history.past import past_digest, past_of
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.planning.evaluation import REDRIVES
from unum_runtime.protocol.runtime import Runtime


def done(definition: dict[str, Any], value: Any, **functions: Any) -> Platform:
    """A platform with an execution that has ended."""
    platform = deployed(definition, **functions)
    platform.start("e", value)
    deliver_all(platform)
    platform.calls.clear()
    return platform


def forked(platform: Platform, node: str, **request: Any) -> Any:
    """Return the fork's end."""
    fork(platform.runtime(), ForkRequest(**{"execution": "e", "name": "f", "node": node} | request))
    deliver_all(platform)
    return result(platform, "f")


def add(event: Any) -> Any:
    return event + 1


ADDING = {"A": add, "B": add, "C": add}


def test_it_goes_on_from_the_node_with_what_that_was_entered_with() -> None:
    platform = done(chain("A", "B", "C"), 0, **ADDING)
    assert (forked(platform, "B"), platform.calls) == (3, Counter(B=1, C=1))
    assert [step.state for step in platform.steps("f")] == ["A", "B", "B", "C"]
    assert result(platform) == 3


def test_it_goes_on_with_another_input() -> None:
    platform = done(chain("A", "B", "C"), 0, **ADDING)
    assert forked(platform, "C", value=Success(10)) == 11
    assert platform.calls == Counter(C=1)


def test_the_first_node_begins_anew() -> None:
    platform = done(chain("A", "B"), 0, **ADDING)
    assert (forked(platform, "A", value=Success(5)), platform.calls) == (7, Counter(A=1, B=1))


def test_a_map_runs_all_its_branches_and_a_node_behind_it_none() -> None:
    platform = done(mapped("A", after="C"), [1, 2], A=add)
    assert (forked(platform, "M"), platform.calls) == ([2, 3], Counter(A=2, C=1))
    platform.calls.clear()
    assert forked(platform, "C", name="g") == [2, 3]
    assert platform.calls == Counter(C=1)
    assert [step.state for step in platform.steps("g")] == ["M", "A", "A", "C", "C"]


def test_of_a_map_that_runs_again_nothing_is_copied() -> None:
    definition = chain("S", "M")
    definition["States"]["M"] = mapped("A", after="C")["States"]["M"]
    definition["States"]["C"] = {"Type": "Task", "Resource": "C", "End": True}
    platform = done(definition, [1, 2], A=add)
    before = {*platform.memory._items}
    assert fork(platform.runtime(), ForkRequest(execution="e", name="f", node="M"))
    made = [key for key in platform.memory._items if key not in before]
    assert sorted(key.sort for key in made) == ["000000001", "000000002", "start"]
    assert [step.opens is not None for step in platform.steps("f")] == [False, True]


def test_visits_of_a_loop_are_counted() -> None:
    definition = chain("A", "B")
    definition["States"]["B"] = {
        "Type": "Choice",
        "Choices": [{"Variable": "$", "NumericLessThan": 3, "Next": "A"}],
        "Default": "End",
    }
    definition["States"]["End"] = {"Type": "Succeed"}
    platform = done(definition, 0, A=add)
    assert (forked(platform, "A", visit=3, value=Success(7)), platform.calls) == (8, Counter(A=1))
    assert len(platform.steps("f")) == 4
    with pytest.raises(
        NodeNotForkable,
        match=exactly(
            "state 'A': expected one of its visits, of which execution 'e' has 3, got 4; only what has "
            "committed can be forked at: a Task, Map or Parallel"
        ),
    ):
        forked(platform, "A", name="g", visit=4)


def test_there_is_no_visit_before_the_first() -> None:
    platform = done(chain("A", "B"), 0, **ADDING)
    with pytest.raises(NodeNotForkable, match="which execution 'e' has 1, got 0"):
        forked(platform, "B", visit=0)


def test_a_map_that_joins_its_results_was_visited_once() -> None:
    platform = done(mapped("A"), [1, 2])
    with pytest.raises(NodeNotForkable, match="which execution 'e' has 1, got 2"):
        forked(platform, "M", visit=2)


def test_a_paused_workflow_begins_no_fork_and_finishes_one_that_exists() -> None:
    platform = done(chain("A", "B"), 0, **ADDING)
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="B"))
    platform.sent.clear()
    pausing.answer(platform.runtime(), pausing.request("pause", reason="repair"))
    with pytest.raises(StartsPaused, match="repair"):
        forked(platform, "B", name="g")
    with pytest.raises(ExecutionDoesNotExist):
        start_record(platform.memory, "w", "g")
    assert forked(platform, "B") == 2


@pytest.mark.parametrize("node", ["B", "A"])
def test_of_two_requests_at_once_the_first_record_counts(node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An equal request continues the other's fork, and another one is refused."""
    platform = done(chain("A", "B"), 0, **ADDING)
    create, winners = fork_module.create, []

    def after_another(rt: Runtime, record: Checkpoint) -> Any:
        monkeypatch.setattr(fork_module, "create", create)
        platform.clock.ms += 1
        winners.append(fork(platform.runtime(), ForkRequest(execution="e", name="f", node=node)))
        return create(rt, record)

    monkeypatch.setattr(fork_module, "create", after_another)
    if node == "B":
        assert [fork(platform.runtime(), ForkRequest(execution="e", name="f", node="B"))] == winners
        assert [step.state for step in platform.steps("f")] == ["A", "B"]
    else:
        with pytest.raises(ExecutionAlreadyExists):
            fork(platform.runtime(), ForkRequest(execution="e", name="f", node="B"))


def test_the_same_again_is_the_same_and_another_is_refused() -> None:
    platform = done(chain("A", "B", "C"), 0, **ADDING)
    forked(platform, "B")
    assert forked(platform, "B") == 3
    assert platform.calls == Counter(B=1, C=1)
    with pytest.raises(
        ExecutionAlreadyExists, match=exactly("execution 'f' of workflow 'w' is another: use another name")
    ):
        forked(platform, "B", value=Success(9))
    with pytest.raises(
        ExecutionAlreadyExists, match=exactly("execution 'f' of workflow 'w' is another: use another name")
    ):
        forked(platform, "C")
    platform.start("other", 77)
    with pytest.raises(
        ExecutionAlreadyExists, match=exactly("execution 'other' of workflow 'w' is another: use another name")
    ):
        forked(platform, "B", name="other")


def test_it_runs_on_the_versions_of_whoever_forks_it() -> None:
    platform = done(chain("A", "B"), 0, **ADDING)
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="B"), Began("v2", {}))
    assert [step.began for step in platform.steps("f")] == [None, Began("v2", {})]


def test_from_another_version_it_needs_an_input() -> None:
    platform = done(chain("A", "B"), 0, **ADDING)
    newer = deployed(chain("A", "B", "C"), **ADDING)  # type: ignore[arg-type]  # by name
    newer.memory = newer.store = platform.memory
    with pytest.raises(
        NodeNotForkable,
        match=exactly(
            "state 'B': expected a known input, but it ran on another version, or its input was collected; "
            "give an input"
        ),
    ):
        forked(newer, "B")
    assert forked(newer, "B", value=Success(1)) == 3
    assert {step.digest for step in newer.steps("f")} == {newer.workflow.digest}


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("X", "workflow 'w' has none of that name"),
        ("A", "is inside 'M'; fork at that, as a whole"),
        (
            "D",
            (
                "expected one of its visits, of which execution 'e' has 0, got 1; only what has committed can be "
                "forked at: a Task, Map or Parallel"
            ),
        ),
    ],
)
def test_what_is_no_node_that_was_visited_is_refused(node: str, reason: str) -> None:
    definition = mapped("A", after="C")
    definition["States"]["D"] = {"Type": "Task", "Resource": "A", "End": True}
    definition["States"]["M"]["Catch"] = [{"ErrorEquals": ["States.ALL"], "Next": "D"}]
    platform = done(definition, [1])
    with pytest.raises(NodeNotForkable, match=exactly(f"state {node!r}: {reason}")):
        forked(platform, node)
    with pytest.raises(ExecutionDoesNotExist):
        forked(platform, node, execution="x")


def test_what_is_refused_leaves_nothing() -> None:
    platform = done(chain("A", "B", "C"), 0, **ADDING)
    platform.workflow = replace(platform.workflow, hop_budget=2)
    before = {**platform.memory._items}
    with pytest.raises(
        NodeNotForkable,
        match=exactly(
            "state 'C': more than 2 steps; does a loop never end? Raise hop_budget where this many are meant"
        ),
    ):
        forked(platform, "C", value=Success(1))
    with pytest.raises(
        NodeNotForkable,
        match=exactly(
            "state 'B': the input has 380001 bytes; at most 380000 are stored: give the workflow a bucket for "
            'larger ones, payload="s3", or pass large data by reference'
        ),
    ):
        forked(platform, "B", value=Success("x" * 379_999))
    assert platform.memory._items == before


def test_data_flow_that_fails_at_once_leaves_nothing() -> None:
    platform = done(mapped("A", after="C", ItemsPath="$.items"), {"items": [1]})
    before = {**platform.memory._items}
    with pytest.raises(NodeNotForkable, match="state 'M': Invalid path"):
        forked(platform, "M", value=Success({}))
    assert platform.memory._items == before


def test_small_results_that_are_collected_can_be_taken_over() -> None:
    platform = deployed(mapped("A", after="C"), A=add)
    platform.workflow = replace(platform.workflow, small_results=True)
    platform.collection = Collection.EAGER
    platform.start("e", [1, 2])
    deliver_all(platform)
    assert forked(platform, "C", value=Success([5])) == [5]


def test_small_results_of_another_version_can_be_taken_over() -> None:
    platform = deployed(mapped("A", "B", after="C"), A=add, B=add)
    platform.workflow = replace(platform.workflow, small_results=True)
    platform.start("e", [1, 2])
    deliver_all(platform)
    newer = deployed(mapped("B", "A", after="C"), A=add, B=add)
    newer.workflow = replace(newer.workflow, small_results=True)
    newer.memory = newer.store = platform.memory
    assert forked(newer, "C", value=Success([5])) == [5]
    assert [step.state for step in newer.steps("f")] == ["M", "A", "B", "A", "B", "C", "C"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [(chain("A", "B", "C"), chain("X", "C")), (mapped("A", "B", after="C"), mapped("B", "A", after="C"))],
    ids=["other states", "other branches"],
)
def test_what_was_taken_over_from_another_version_is_shown_and_no_input(
    older: dict[str, Any], newer: dict[str, Any]
) -> None:
    before, after = done(older, [1, 2]), deployed(newer)
    after.memory = after.store = before.memory
    forked(after, "C", value=Success([5]))
    reply = progress(after.workflow, after.steps("f"))
    assert (reply["C"].succeeded, reply["C"].over) == (1, True)
    with pytest.raises(
        NodeNotForkable,
        match=exactly(
            "state 'C': expected a known input, but it ran on another version, or its input was collected; "
            "give an input"
        ),
    ):
        forked(after, "C", execution="f", name="g")
    forked(after, "C", execution="f", name="g", value=Success(7))
    assert result(after, "g") == 7


def test_copies_are_what_the_original_committed_under_names_of_the_fork() -> None:
    broken = [True]

    def fragile(event: Any) -> Any:
        if broken:
            raise ValueError(broken.pop())
        return event

    platform = deployed(mapped("A", after="C"), C=fragile)
    platform.options["own_address"] = "F:1"
    platform.start("e", [1, 2])
    deliver_all(platform)
    redrive(platform.runtime(), "e")
    deliver_all(platform)
    _, *steps = from_start(platform.memory, "w", "e")
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C"))
    _, *copies = from_start(platform.memory, "w", "f")
    execution = copies[0].name.execution
    assert execution.name == "f"
    before = steps[: len(copies) - 1]
    assert [step.phase for step in before][-1] is not None
    for step, copy in zip(before, copies, strict=False):
        expected = replace(
            step,
            name=replace(step.name, execution=execution),
            opens=step.opens and replace(step.opens, execution=execution),
            ending=None,
            began=None,
            past=past_of(step, platform.workflow),
        )
        assert copy == expected


def test_copies_of_a_redriven_history_tell_of_its_end_without_having_one() -> None:
    broken = [True]

    def fragile(event: Any) -> Any:
        if broken:
            raise ValueError(broken.pop())
        return event["value"]

    counted = {"Parameters": {"value.$": "$", "count.$": "$$.Execution.RedriveCount"}}
    platform = deployed(chain("A", "B", "C", B=counted), B=fragile)
    platform.start("e", 1)
    deliver_all(platform)
    redrive(platform.runtime(), "e")
    deliver_all(platform)
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C"))
    _, *steps = from_start(platform.memory, "w", "e")
    _, *copies = from_start(platform.memory, "w", "f")
    assert [step.ending is not None for step in steps[:4]] == [False, True, False, False]
    assert steps[2].continuation.variables[REDRIVES] == 1
    assert [(copy.ending, copy.continuation.variables) for copy in copies] == [(None, {})] * 5
    digest = platform.workflow.digest
    assert [past_digest(copy) for copy in copies] == ["", digest, "", "", ""]
    fork(platform.runtime(), ForkRequest(execution="f", name="g", node="C", value=Success(2)))
    assert [copy.past for copy in from_start(platform.memory, "w", "g")[1:]] == [copy.past for copy in copies]


def test_another_input_keeps_the_variables_of_the_state() -> None:
    definition = chain("A", "P", "B") | {"QueryLanguage": "JSONata"}
    definition["States"]["P"] = {"Type": "Pass", "Assign": {"x": "{% $states.input + 1 %}"}, "Next": "B"}
    definition["States"]["B"] |= {"Arguments": "{% [$states.input, $x] %}"}
    platform = done(definition, 1)
    assert forked(platform, "B", value=Success(7)) == [7, 2]


def test_an_input_that_does_not_fit_beside_the_variables_is_refused() -> None:
    definition = chain("A", "B") | {"QueryLanguage": "JSONata"}
    definition["States"]["A"] |= {"Assign": {"x": "{% $states.input & $states.input %}"}, "Output": "{% 1 %}"}
    platform = done(definition, "x" * 100_000)
    with pytest.raises(NodeNotForkable, match="state 'B': the input with the variables has 390010 bytes"):
        forked(platform, "B", value=Success("y" * 190_000))


def test_a_state_without_a_checkpoint_before_it_has_no_known_input() -> None:
    platform = deployed(chain("A", "B", "C"), {"B": FunctionOptions(checkpoint=False)}, **ADDING)
    platform.start("e", 0)
    deliver_all(platform)
    platform.calls.clear()
    with pytest.raises(NodeNotForkable, match="state 'C': expected a known input"):
        forked(platform, "C")
    assert (forked(platform, "C", value=Success(7)), platform.calls) == (8, Counter(C=1))


def test_a_state_that_ran_at_the_start_without_a_task_has_no_known_input() -> None:
    platform = done({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}, 1)
    with pytest.raises(NodeNotForkable, match="state 'P': expected a known input"):
        forked(platform, "P")


def test_a_fork_has_the_secret_and_the_first_input_of_its_original() -> None:
    platform = deployed(chain("A", "B", B={"Parameters": {"id.$": "States.UUID()"}}))
    platform.options["new_secret"] = lambda: "secret"
    platform.start("e", 5)
    deliver_all(platform)
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="B"))
    original, copy = (start_record(platform.memory, "w", name) for name in ("e", "f"))
    assert (copy.outcome, copy.secret) == (original.outcome, "secret")
    assert copy.fork == ForkOrigin(original.name.execution, "B", 1, 2, None)


def test_a_fork_that_has_begun_runs_on_the_version_of_its_start_record() -> None:
    platform, began = done(chain("A", "B", "C"), 0, **ADDING), Began("v2", {})
    asked = ForkRequest(execution="e", name="f", node="B")
    assert fork_runs_on(platform.store, "w", asked) is None
    fork(platform.runtime(), asked, began)
    assert fork_runs_on(platform.store, "w", asked) == RunsOn(platform.workflow.digest, began)
    assert fork_runs_on(platform.store, "w", replace(asked, node="C")) is None


def test_fork_after_which_nothing_would_run_is_refused() -> None:
    """No event follows its first step, so it would run for ever."""
    platform = done(mapped("A"), [1])
    before = {**platform.memory._items}
    with pytest.raises(NodeNotForkable, match=exactly("state 'M': with this input the execution would end at once")):
        forked(platform, "M", value=Success([]))
    assert platform.memory._items == before


def test_map_of_a_fork_without_items_leads_to_the_next_task() -> None:
    platform = done(mapped("A", after="C"), [1])
    assert forked(platform, "M", value=Success([])) == []
    assert platform.calls == Counter(C=1)


def test_input_that_is_too_large_is_refused_and_not_caught() -> None:
    definition = chain("A", "B", "C")
    definition["States"]["B"]["Catch"] = [{"ErrorEquals": ["States.ALL"], "Next": "C"}]
    platform = done(definition, 0, **ADDING)
    with pytest.raises(NodeNotForkable, match="state 'B': the input has 380001 bytes"):
        forked(platform, "B", value=Success("x" * 379_999))


def test_state_that_a_redrive_entered_again_is_visited_once() -> None:
    broken = [True]

    def fragile(event: Any) -> Any:
        if broken:
            raise ValueError(broken.pop())
        return event

    platform = done(chain("A", "B", "C"), 1, B=fragile)
    redrive(platform.runtime(), "e")
    deliver_all(platform)
    with pytest.raises(NodeNotForkable, match="of which execution 'e' has 1, got 2"):
        forked(platform, "B", visit=2)
    assert forked(platform, "B") == 1


def test_start_of_a_fork_is_refused_whatever_definition_it_runs_on() -> None:
    platform = done(chain("A", "B"), 0, A=add, B=add)
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="B"))
    platform.workflow = replace(platform.workflow, hop_budget=7)
    with pytest.raises(StartRefused, match="is a fork, which only its request or a nudge continues"):
        resume(platform.runtime(), "f")
