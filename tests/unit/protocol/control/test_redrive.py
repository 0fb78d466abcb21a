"""Executions that failed, and go on from what has succeeded."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.broken_platform import BROKEN, broken, failed, fragile, go_on  # noqa: F401 - a fixture for all tests here
from tests.unit.protocol.map_platform import Mortal, around, deliver, deliver_all, deployed, lose, mapped, result
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import ExecutionDoesNotExist, ExecutionNotRedrivable, InvokeError
from unum_runtime.model.checkpoint import Began, Checkpoint, Continuation, Ending, Failure, Phase, Status, Success
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Name, checkpoint_key
from unum_runtime.protocol.control.redrives import redrive as redrive_module
from unum_runtime.protocol.control.redrives.entry import Entry, entering
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.history.timeline import nested_steps


def test_the_state_that_failed_runs_again_with_its_input() -> None:
    platform = failed(chain("A", "B", "C"), 1, 1, B=fragile)
    go_on(platform)
    assert (result(platform), platform.calls) == (1, Counter(B=1, C=1))
    entered = next(step for step in platform.steps() if step.phase is Phase.ENTERED)
    assert (entered.state, entered.name.step) == ("B", 3)


def test_it_may_fail_again_and_be_redriven_again() -> None:
    platform = failed(chain("A", "B"), 1, 1, B=fragile)
    for _ in range(3):
        BROKEN.add(1)
        go_on(platform)
        assert platform.ending() == Ending(Status.FAILED, Failure("ValueError", platform.ending().outcome.cause))
        BROKEN.clear()
    go_on(platform)
    assert (result(platform), platform.calls) == (1, Counter(B=4))


def test_without_a_step_left_it_is_refused_and_stays_as_it_is() -> None:
    platform = deployed(chain("A", "B"), B=fragile)
    platform.workflow = replace(platform.workflow, hop_budget=3)
    BROKEN.add(1)
    platform.start("e", 1)
    deliver_all(platform)
    ending = platform.ending()
    assert ending is not None
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly(
            "state 'B': more than 3 steps; does a loop never end? Raise hop_budget where this many are meant"
        ),
    ):
        redrive(platform.runtime(), "e")
    assert platform.ending() == ending


def test_retriers_begin_anew() -> None:
    rule = [{"ErrorEquals": ["ValueError"], "MaxAttempts": 1, "IntervalSeconds": 1}]
    platform = failed(chain("A", "B", B={"Retry": rule}), 1, 1, B=fragile)
    BROKEN.add(1)
    go_on(platform)
    assert platform.calls == Counter(B=2)


def test_variables_are_kept() -> None:
    definition = chain("A", "B")
    definition |= {"QueryLanguage": "JSONata"}
    definition["States"]["A"]["Assign"] = {"x": "{% $states.input + 1 %}"}
    definition["States"]["B"] |= {"Arguments": "{% $x %}"}
    platform = failed(definition, 1, 2, B=fragile)
    go_on(platform)
    assert result(platform) == 2


@pytest.mark.parametrize("limit", [{}, {"MaxConcurrency": 2}, {"MaxConcurrency": 1}])
def test_of_a_map_only_what_failed_or_did_not_run_runs_again(limit: Any) -> None:
    platform = failed(mapped("A", "B", after="C", **limit), [0, 1, 2, 3, 4], 3, B=fragile)
    done = {step.name.frames[-1].index for step in platform.steps() if step.state == "B" and not is_failure(step)}
    begun = {step.name.frames[-1].index for step in platform.steps() if step.state == "A"}
    go_on(platform)
    assert result(platform) == [0, 1, 2, 3, 4]
    assert platform.calls == Counter(A=5 - len(begun), B=5 - len(done), C=1)


def is_failure(step: Checkpoint) -> bool:
    return isinstance(step.outcome, Failure)


def test_a_first_task_of_a_branch_that_failed_runs_again() -> None:
    platform = failed(mapped("A", after="C"), list(range(600)), 598, 599, A=fragile)
    go_on(platform)
    assert result(platform) == list(range(600))
    assert platform.calls == Counter(A=2, C=1)


def test_nested_fan_outs_keep_what_they_have() -> None:
    inner = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("A", "B"), "End": True}}}
    platform = failed(around(inner, after="C"), [[1, 2], [3, 4, 5]], 5, B=fragile)
    go_on(platform)
    assert (result(platform), platform.calls) == ([[1, 2], [3, 4, 5]], Counter(B=1, C=1))


def test_a_task_that_joins_a_fan_out_runs_again() -> None:
    platform = failed(mapped("A", after="C"), [1, 2], "all", C=lambda event: fragile("all") and event)
    go_on(platform)
    assert (result(platform), platform.calls) == ([1, 2], Counter(C=1))


def test_retried_fan_out_begins_its_rounds_anew_and_keeps_the_last_ones() -> None:
    rule = [{"ErrorEquals": ["ValueError"], "MaxAttempts": 1, "IntervalSeconds": 1}]
    platform = failed(mapped("A", "B", after="C", Retry=rule), [1, 2, 3], 3, B=fragile)
    go_on(platform)
    assert (result(platform), platform.calls) == ([1, 2, 3], Counter(B=1, C=1))


def test_tolerated_failures_run_again_if_there_were_too_many() -> None:
    distributed = chain("A") | {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    platform = failed(around(distributed, ToleratedFailureCount=1), [1, 2, 3, 4], 2, 3, A=fragile)
    go_on(platform)
    assert (result(platform), platform.calls) == ([1, 2, 3, 4], Counter(A=2))


def test_branches_that_were_under_way_run_to_their_end() -> None:
    platform = deployed(mapped("A", "B", after="C"), A=fragile)
    BROKEN.add(2)
    platform.start("e", [0, 1, 2, 3])
    lose(platform, "B", 0, 1)
    assert platform.ending() is not None
    BROKEN.clear()
    platform.calls.clear()
    go_on(platform)
    assert (result(platform), platform.calls) == ([0, 1, 2, 3], Counter(A=2, B=4, C=1))  # the last had not begun


def test_stragglers_of_before_change_nothing() -> None:
    platform = deployed(mapped("A", "B", after="C"), A=fragile)
    BROKEN.add(0)
    platform.start("e", [0, 1])
    first, second = platform.sent
    platform.sent.clear()
    platform.deliver(first)
    BROKEN.clear()
    redrive(platform.runtime(), "e")
    platform.sent.append(second)
    deliver_all(platform)
    deliver(platform, first)
    deliver_all(platform)
    assert result(platform) == [0, 1]


def test_two_redrives_are_one() -> None:
    platform = failed(mapped("A", after="C"), [0, 1, 2], 1, A=fragile)
    redrive(platform.runtime(), "e")
    redrive(platform.runtime(), "e")
    deliver_all(platform)
    assert result(platform) == [0, 1, 2]
    assert len([step for step in platform.steps() if step.ending]) == 2


def test_of_two_redrives_at_once_both_have_the_time_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = failed(chain("A", "B"), 1, 1, B=fragile)
    commit, times = redrive_module.commit_step, []

    def after_another(*asked: Any) -> Checkpoint:
        monkeypatch.setattr(redrive_module, "commit_step", commit)
        platform.clock.ms += 5
        times.append(redrive(platform.runtime(), "e"))
        return commit(*asked)

    monkeypatch.setattr(redrive_module, "commit_step", after_another)
    assert [redrive(platform.runtime(), "e")] == times == [platform.clock.ms]


def test_the_inner_fan_out_of_a_branch_is_named_that_would_fail_again() -> None:
    inner = mapped("A", ResultSelector={"x.$": "$[9]"})
    platform = failed({"StartAt": "O", "States": {"O": {"Type": "Map", "ItemProcessor": inner, "End": True}}}, [[1, 2]])
    with pytest.raises(
        ExecutionNotRedrivable, match=r"^state 'M' failed although none of its branches would run again"
    ):
        redrive(platform.runtime(), "e")


def test_an_inner_fan_out_that_was_stopped_before_its_join_is_joined() -> None:
    inner = {"StartAt": "N", "States": {"N": {"Type": "Map", "ItemProcessor": chain("A"), "End": True}}}
    platform = deployed(around(inner, after="C"))
    platform.start("e", [[1, 2], [3]])
    last = platform.sent.pop()
    platform.store = Mortal(platform.memory, 4)  # dies before the commit of the first inner fan-out
    with suppress(ConnectionError):
        while platform.sent:
            platform.deliver(platform.sent.pop(0))
    platform.store = platform.memory
    assert [step.state for step in platform.steps()] == ["M", "N", "A", "A", "N"]
    stop_execution(platform)
    platform.calls.clear()
    platform.sent = [last]
    go_on(platform)
    assert (result(platform), platform.calls) == ([[1, 2], [3]], Counter(A=1, C=1))


def test_branch_that_begins_with_a_fan_out_that_cannot_open_fails_again() -> None:
    inner = mapped("A", ItemsPath="$.items")
    platform = failed({"StartAt": "O", "States": {"O": {"Type": "Map", "ItemProcessor": inner, "End": True}}}, [{}])
    with pytest.raises(
        ExecutionNotRedrivable, match=r"^branch 0 of 'O' failed after 'M', by no user code, with States"
    ):
        redrive(platform.runtime(), "e")


def test_tolerated_failures_that_would_all_come_again_are_refused() -> None:
    inner = mapped("A", ItemsPath="$.items") | {"ProcessorConfig": {"Mode": "DISTRIBUTED"}}
    outer = {"Type": "Map", "ItemProcessor": inner, "ToleratedFailureCount": 1, "End": True}
    platform = failed({"StartAt": "O", "States": {"O": outer}}, [{}, {}, {"items": [1]}])
    with pytest.raises(
        ExecutionNotRedrivable, match=r"^state 'O' failed although none of its branches would run again"
    ):
        redrive(platform.runtime(), "e")


def test_copies_tell_of_the_scopes_that_are_there() -> None:
    """A finished scope inside a branch is not copied, so its copy opens none; an unfinished one is seen by readers."""
    branch = chain("A", "N", "B", "O", "D")
    for name, inside in (("N", "NA"), ("O", "OA")):
        branch["States"][name] = {"Type": "Map", "ItemProcessor": chain(inside), "Next": branch["States"][name]["Next"]}
    platform = failed(around(branch), [[1, 2]], 2, OA=fragile)
    go_on(platform)
    assert (result(platform), platform.calls) == ([[1, 2]], Counter(OA=1, D=1))
    top = [step for step in platform.steps() if not step.name.frames]
    again = next(step for step in reversed(top) if step.opens is not None)
    found = [step for step in nested_steps(platform.memory, "w", [again]) if step.name.frames]
    assert [(step.state, step.opens is not None) for step in found if len(step.name.frames) == 1] == [
        ("A", False),
        ("B", True),
        ("D", False),
    ]
    assert [step.state for step in found if len(step.name.frames) == 2] == ["OA", "OA"]


@pytest.mark.parametrize("dies_at", range(8))
def test_a_redrive_that_died_goes_on(dies_at: int) -> None:
    platform = failed(mapped("A", "B", after="C"), [0, 1, 2, 3], 3, B=fragile)
    platform.store = Mortal(platform.memory, dies_at)
    try:
        redrive(platform.runtime(), "e")
    except ConnectionError:
        platform.store = platform.memory
        deliver_all(platform)
        redrive(platform.runtime(), "e")
    deliver_all(platform)
    assert (result(platform), platform.calls) == ([0, 1, 2, 3], Counter(B=1, C=1))


def test_it_runs_on_the_versions_that_it_is_told() -> None:
    platform = failed(chain("A", "B"), 1, 1, B=fragile)
    redrive(platform.runtime(), "e", Began("version", {"A": "other"}))
    assert [step.began for step in platform.steps() if step.phase is Phase.ENTERED] == [
        Began("version", {"A": "other"})
    ]


def test_an_execution_that_was_stopped_goes_on() -> None:
    platform = deployed(mapped("A", "B", after="C"))
    platform.start("e", [0, 1])
    lose(platform, "B", 0, 1)
    stop_execution(platform)
    platform.calls.clear()
    go_on(platform)
    assert (result(platform), platform.calls) == ([0, 1], Counter(B=2, C=1))


def stop_execution(platform: Platform) -> None:
    """Stop the execution: the step after the last is committed, without a state."""
    last = [step for step in platform.steps() if not step.name.frames][-1]
    name = Name(last.name.execution, (), last.name.step + 1)
    failure = Failure("Stopped", None)
    stop = Checkpoint(
        name=name,
        state="",
        phase=Phase.LEFT,
        outcome=failure,
        digest="any",
        committed_ms=platform.clock.ms,
        ending=Ending(Status.FAILED, failure),
    )
    platform.memory.create(checkpoint_key("w", name), stop.to_item(), expires_at_s=10**12)


def fails_purely() -> dict[str, Any]:
    definition = chain("A", "B")
    definition["States"]["B"] = {"Type": "Fail", "Error": "No"}
    return definition


def test_what_would_fail_again_is_refused() -> None:
    platform = failed(fails_purely(), 1)
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly(
            "execution 'e' ended after 'A' by no user code: it would again, so fork at a state before, or with "
            "another input"
        ),
    ):
        redrive(platform.runtime(), "e")


def test_a_branch_that_would_fail_again_is_named() -> None:
    platform = failed(around(fails_purely()), [1, 2])
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly(
            "branch 0 of 'M' failed after 'A', by no user code, with No: it would again, so fork at a state "
            "before 'M', or with another input"
        ),
    ):
        redrive(platform.runtime(), "e")


def test_a_fan_out_whose_results_cannot_be_joined_is_refused() -> None:
    platform = failed(mapped("A", ResultSelector={"x.$": "$[9]"}), [1, 2])
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly(
            "state 'M' failed although none of its branches would run again: it would fail again, so fork at a "
            "state before it instead"
        ),
    ):
        redrive(platform.runtime(), "e")


def test_one_that_could_not_send_what_it_had_come_to_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The redrive itself commits the results of a fan-out."""
    branch = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}
    platform = deployed(around(branch, after="C", Assign={"all.$": "$"}, Retry=[{"ErrorEquals": ["Any"]}]))
    with monkeypatch.context() as patch:
        patch.setattr(platform, "store", Mortal(platform.memory, 2))
        with pytest.raises(ConnectionError):
            start(platform.runtime(), "e", [0])
    stop_execution(platform)
    with monkeypatch.context() as patch:
        patch.setattr(platform, "invoke", throttled)
        with pytest.raises(InvokeError):
            redrive(platform.runtime(), "e")
    assert [step.state for step in platform.steps()][-1] == "M"
    go_on(platform)
    assert (result(platform), platform.calls) == ([0], Counter(C=1))


def throttled(*_events: Any) -> None:
    raise InvokeError("throttled")


def test_one_that_is_under_way_is_the_same_until_the_execution_ends() -> None:
    platform = failed(chain("A", "B", "C"), 1, 1, B=fragile)
    first = redrive(platform.runtime(), "e")
    deliver(platform, platform.sent.pop(0))
    assert [step.state for step in platform.steps()][-1] == "B"
    platform.clock.ms += 1
    assert redrive(platform.runtime(), "e") == first
    deliver_all(platform)
    assert platform.calls == Counter(B=1, C=1)
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly("execution 'e': expected one that failed, was stopped or ran out of time; it is SUCCEEDED"),
    ):
        redrive(platform.runtime(), "e")


def test_what_has_not_failed_or_is_none_is_refused() -> None:
    platform = deployed(chain("A", "B"))
    platform.start("e", 1)
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly("execution 'e': expected one that failed, was stopped or ran out of time; it is RUNNING"),
    ):
        redrive(platform.runtime(), "e")
    deliver_all(platform)
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly("execution 'e': expected one that failed, was stopped or ran out of time; it is SUCCEEDED"),
    ):
        redrive(platform.runtime(), "e")
    with pytest.raises(ExecutionDoesNotExist):
        redrive(platform.runtime(), "x")


@pytest.mark.parametrize(("limit", "later_s"), [({"TimeoutSeconds": 60}, 61), ({}, 7 * 86_400 - 3_000)])
def test_what_has_no_time_left_is_refused(limit: dict[str, Any], later_s: int) -> None:
    platform = failed(chain("A", "B") | limit, 1, 1, B=fragile)
    platform.clock.pass_seconds(later_s)
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly(
            "execution 'e': the time is over that it may take, by its TimeoutSeconds or the retention of the "
            "workflow; start another, or fork"
        ),
    ):
        redrive(platform.runtime(), "e")


def test_what_was_collected_is_refused() -> None:
    platform = deployed(chain("A", "B", "C"), C=fragile)
    platform.collection = Collection.EAGER
    BROKEN.add(1)
    platform.run("e", 1)
    with pytest.raises(
        ExecutionNotRedrivable,
        match=exactly(
            "e:1a3185c5000#2: was collected, because what follows from it is committed; eager collection keeps "
            "no results to continue from: start another execution"
        ),
    ):
        redrive(platform.runtime(), "e")


def test_data_flow_of_a_wait_that_failed_would_fail_again_and_is_refused() -> None:
    definition = chain("A", "W")
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 60, "OutputPath": "$.missing", "End": True}
    platform = failed(definition, 1)
    with pytest.raises(ExecutionNotRedrivable, match="execution 'e' ended after 'W' by no user code"):
        redrive(platform.runtime(), "e")


def test_execution_with_a_time_limit_is_redriven_within_it() -> None:
    platform = failed(chain("A", "B") | {"TimeoutSeconds": 60}, 1, 1, B=fragile)
    platform.clock.pass_seconds(59)
    go_on(platform)
    assert result(platform) == 1


def test_input_that_is_too_large_is_refused_at_a_task_without_a_checkpoint() -> None:
    platform = deployed(chain("A", "B"), {"A": FunctionOptions(checkpoint=False)})
    entry = Entry("A", Success("x" * 400_000), Continuation())
    with pytest.raises(ExecutionNotRedrivable, match="state 'A': the input has 400002 bytes"):
        entering(platform.runtime(), Name(Execution("e", 1), (), 2), entry, 1)
