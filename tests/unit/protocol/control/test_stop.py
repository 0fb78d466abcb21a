"""Executions that somebody stops: nothing new starts, and they have one result."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import ASKING, Asking, asking
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.delivery.test_platform_failure import Later
from tests.unit.protocol.platform import Platform, chain
from unum_client.reading import stored_steps
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import RefusedDelivery, TaskTimedOut
from unum_runtime.model.checkpoint import TOMBSTONE, Checkpoint, Ending, Failure, Status, Success, start_record
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, checkpoint_key, start_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.delivery.commit import MAX_CAUSE_LENGTH, MAX_ERROR_LENGTH
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.history.start_records import last_step
from unum_runtime.protocol.runtime import CallbackPending

WHY = Failure("NotNeeded", "somebody changed their mind")
ABORTED = Ending(Status.ABORTED, WHY)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {key: lambda event: event for key in "ABCD"}


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def task(key: str, following: str | None = None) -> dict[str, Any]:
    return {"Type": "Task", "Resource": key, **({"Next": following} if following else {"End": True})}


def map_of(following: str | None = None, *states: str, **fields: Any) -> dict[str, Any]:
    continuation = {"Next": following} if following else {"End": True}
    return {"Type": "Map", "ItemProcessor": chain(*states), **continuation, **fields}


def platform_of(definition: dict[str, Any], **options: FunctionOptions) -> Platform:
    platform = Platform.of(definition, options, **FUNCTIONS)
    platform.options |= {"timer": Later(), "own_address": "F:1"}
    return platform


def stopped(platform: Platform, why: Failure = WHY) -> Checkpoint:
    record = stored_steps.start_record(platform.memory, "w", "e")
    return stop(platform.runtime(), record.name.execution, why)


def refused(platform: Platform, event: Envelope) -> bool:
    try:
        platform.deliver(event)
    except RefusedDelivery:
        return True
    return False


def test_what_would_come_next_does_not_come() -> None:
    platform = platform_of(chain("A", "B", "C"))
    platform.start(value=1)
    found = stopped(platform)
    assert (found.ending, found.committed_ms, found.name.step) == (ABORTED, platform.clock.ms, 2)
    platform.deliver_all()
    assert platform.calls == {"A": 1}
    assert platform.ending() == ABORTED


@pytest.mark.parametrize("definition", [chain("A"), machine(Each=map_of(None, "A"))])
def test_an_execution_is_stopped_before_its_first_step(definition: dict[str, Any]) -> None:
    platform = platform_of(definition)
    record = start_record(Execution("e", platform.clock.ms), [1, 2])
    platform.memory.create(start_key("w", "e"), record.to_item(), expires_at_s=platform.clock.ms)
    assert stopped(platform).name.step == 1
    resume(platform.runtime(), "e")
    assert not platform.sent
    assert not platform.calls
    assert platform.ending() == ABORTED


def test_an_execution_that_has_ended_keeps_its_result() -> None:
    platform = platform_of(chain("A"))
    ending = platform.run(value=1)
    assert stopped(platform).ending == ending == platform.ending() == Ending(Status.SUCCEEDED, Success(1))


def test_the_first_of_two_stops_counts() -> None:
    platform = platform_of(chain("A", "B"))
    platform.start(value=1)
    stopped(platform)
    assert stopped(platform, Failure("Other", None)).ending == ABORTED == platform.ending()


def test_a_stop_collects_the_last_outcome_under_eager_collection() -> None:
    platform = replace(platform_of(chain("A", "B", "C")), collection=Collection.EAGER)
    platform.start(value=1)
    last = last_step(platform.memory, "w", Execution("e", platform.clock.ms))
    assert last is not None
    stopped(platform)
    key = checkpoint_key("w", last.name)
    assert TOMBSTONE in platform.memory.read([key])[key]


def test_error_and_cause_may_be_missing_and_are_cut() -> None:
    platform = platform_of(chain("A", "B"))
    platform.start("e", 1)
    assert stopped(platform, Failure(None, None)).ending == Ending(Status.ABORTED, Failure(None, None))
    platform.start("other", 1)
    record = stored_steps.start_record(platform.memory, "w", "other")
    stop(platform.runtime(), record.name.execution, Failure("e" * 1_000, "c" * 100_000))
    ending = platform.ending("other")
    assert ending
    assert ending.outcome == Failure("e" * MAX_ERROR_LENGTH, "c" * MAX_CAUSE_LENGTH)


def test_user_code_that_runs_finishes_and_its_outcome_loses() -> None:
    platform = platform_of(chain("A", "B", "C"))
    platform.functions["B"] = lambda event: stopped(platform) and event
    assert platform.run(value=1) == ABORTED
    assert platform.calls == {"A": 1, "B": 1}


def test_a_commit_that_was_faster_is_followed_by_the_stop() -> None:
    platform = platform_of(chain("A", "B", "C"))
    platform.start(value=1)

    class Late(CountingStore):
        """Lets B commit between the look at the last step and the stop."""

        def query(self, partition: str, *, newest: int | None = None) -> Any:
            found = platform.memory.query(partition, newest=newest)
            platform.store = platform.memory
            platform.deliver(platform.sent.pop(0))
            return found

    platform.store = Late(platform.memory)
    assert stopped(platform).name.step == 3
    platform.deliver_all()
    assert platform.calls == {"A": 1, "B": 1}
    assert platform.ending() == ABORTED


def test_a_function_of_another_version_can_stop_it() -> None:
    platform = platform_of(chain("A", "B"))
    platform.start(value=1)
    own = platform.workflow
    platform.workflow = replace(own, hop_budget=7)
    stopped(platform)
    platform.workflow = own
    platform.deliver_all()
    assert platform.ending() == ABORTED


@pytest.mark.parametrize("guard", [Guard.READ, Guard.LEASE])
def test_no_step_of_a_branch_starts_after_a_stop(guard: Guard) -> None:
    lookers = dict.fromkeys("ABCD", FunctionOptions(guard=guard))
    platform = platform_of(machine(A=task("A", "Each"), Each=map_of("D", "B", "C"), D=task("D")), **lookers)
    platform.start(value=[1, 2, 3])
    first, second, third = platform.sent
    platform.deliver(first)
    stopped(platform)
    assert all(refused(platform, event) for event in (platform.sent[-1], second, third, first))
    assert platform.calls == {"A": 1, "B": 1}


def test_no_step_of_a_nested_branch_starts_after_a_stop() -> None:
    inner = {"Type": "Map", "ItemProcessor": chain("B", "C"), "End": True}
    outer = {"Type": "Map", "ItemProcessor": machine(Inner=inner), "End": True}
    platform = platform_of(machine(A=task("A", "Outer"), Outer=outer))
    platform.start(value=[[1]])
    (event,) = platform.sent
    assert len(event.name.frames) == 2
    stopped(platform)
    assert refused(platform, event)
    assert platform.calls == {"A": 1}


@pytest.mark.parametrize("guard", [Guard.READ, Guard.COMMIT])
def test_the_next_branch_in_a_lane_does_not_start(guard: Guard) -> None:
    platform = platform_of(machine(Each=map_of(None, "A", MaxConcurrency=1)), A=FunctionOptions(guard=guard))
    platform.functions["A"] = lambda event: stopped(platform) and event
    assert platform.run(value=[1, 2, 3]) == ABORTED
    assert platform.calls == {"A": 1}


def test_a_wait_in_a_branch_looks_whether_it_may_go_on() -> None:
    ever = {"Type": "Choice", "Choices": [{"Variable": "$", "IsPresent": True, "Next": "W"}], "Default": "End"}
    branch = machine(W={"Type": "Wait", "Seconds": 60, "Next": "Ever"}, Ever=ever, End={"Type": "Succeed"})
    platform = platform_of(machine(A=task("A", "P"), P={"Type": "Parallel", "Branches": [branch], "End": True}))
    platform.start(value=1)
    kept = platform.options["timer"].kept
    (waited, due_ms) = kept.pop()
    platform.clock.ms = due_ms
    platform.deliver(waited)
    assert len(kept) == 1
    stopped(platform)
    (waited, due_ms) = kept.pop()
    platform.clock.ms = due_ms
    assert refused(platform, waited)
    assert not kept


def test_a_fan_out_that_would_begin_anew_in_a_branch_does_not() -> None:
    again = {"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1}]}
    outer = {"Type": "Map", "ItemProcessor": machine(Inner=map_of(None, "B", **again)), "End": True}
    platform = platform_of(machine(Outer=outer))
    platform.functions["B"] = lambda event: event / 0
    platform.start(value=[[1]])
    platform.deliver_all()
    ((event, due_ms),) = platform.options["timer"].kept
    stopped(platform)
    platform.clock.ms = due_ms
    assert refused(platform, event)


def test_a_task_that_joins_finds_the_stop_in_its_place() -> None:
    platform = platform_of(machine(A=task("A", "Each"), Each=map_of("D", "B"), D=task("D")))
    platform.start(value=[1, 2])
    for event in [platform.sent.pop(0), platform.sent.pop(0)]:
        platform.deliver(event)
    assert [event.state for event in platform.sent] == ["D"]
    assert stopped(platform).name == platform.sent[0].name
    platform.deliver_all()
    assert platform.calls == {"A": 1, "B": 2}
    assert platform.ending() == ABORTED


def test_committing_task_finds_the_stop_after_uncheckpointed_ones() -> None:
    platform = platform_of(chain("A", "B", "C"), B=FunctionOptions(checkpoint=False))
    platform.start(value=1)
    platform.deliver(platform.sent.pop(0))
    stopped(platform)
    platform.deliver_all()
    assert platform.calls == {"A": 1, "B": 1}
    assert platform.ending() == ABORTED


@pytest.mark.parametrize("is_in_branch", [True, False])
def test_whoever_answers_after_a_stop_is_too_late(*, is_in_branch: bool) -> None:
    tokens: list[str] = []
    each = machine(Each={"Type": "Map", "ItemProcessor": ASKING, "End": True})
    waiting = Asking(Platform.of(each, F=lambda event: tokens.append(event["token"]) or CallbackPending()), tokens)
    if not is_in_branch:
        waiting = asking()
    waiting.platform.start(value=[1])
    waiting.platform.deliver_all()
    stopped(waiting.platform)
    for use in (waiting.answer, waiting.beat):
        with pytest.raises(TaskTimedOut):
            use(waiting.tokens[-1])
    assert waiting.platform.ending() == ABORTED


def test_a_failure_that_the_platform_reports_afterwards_changes_nothing() -> None:
    platform = platform_of(chain("A", "B"))
    platform.start(value=1)
    (event,) = platform.sent
    stopped(platform)
    fail_invocation(platform.runtime(), event, Failure("Sandbox.Timedout", None))
    assert platform.ending() == ABORTED


def test_a_failure_that_the_platform_reports_of_a_branch_is_refused() -> None:
    platform = platform_of(machine(A=task("A", "Each"), Each=map_of(None, "B")))
    platform.start(value=[1])
    (event,) = platform.sent
    stopped(platform)
    with pytest.raises(RefusedDelivery):
        fail_invocation(platform.runtime(), event, Failure("Sandbox.Timedout", None))


def test_an_execution_that_was_stopped_is_not_started_again() -> None:
    platform = platform_of(chain("A", "B"))
    platform.start(value=1)
    stopped(platform)
    platform.deliver_all()
    platform.start(value=1)
    platform.deliver_all()
    assert platform.calls == {"A": 1}
    assert platform.ending() == ABORTED


def test_where_the_guard_does_not_look_the_commit_still_finds_the_stop() -> None:
    platform = platform_of(chain("A", "B", "C"), B=FunctionOptions(guard=Guard.COMMIT))
    platform.start(value=1)
    stopped(platform)
    platform.deliver_all()
    assert platform.calls == {"A": 1, "B": 1}
    assert platform.ending() == ABORTED
