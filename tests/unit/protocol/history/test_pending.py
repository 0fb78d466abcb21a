"""Pending branches of a fan-out, since when, and events that continue them, for parts of wide ones too."""

from typing import Any

import pytest

from tests.unit.features.signals.test_signal import WAIT, WITH_KEY, before_its_wait
from tests.unit.protocol.callback_platform import WAITING, asking
from tests.unit.protocol.control.test_nudge import drawn
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.job_platform import JOB, SERVICES, Watching, watching
from tests.unit.protocol.map_platform import deployed, lose, mapped, result
from tests.unit.protocol.platform import Platform
from unum_compiler import graph as g
from unum_constructs import Definition
from unum_runtime.cold_start.records import replace
from unum_runtime.features.signals import signal_by_key
from unum_runtime.features.signals.listeners import keep
from unum_runtime.features.signals.mailbox import Mailbox
from unum_runtime.features.signals.signal_slots import Signal
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Results
from unum_runtime.model.naming import SHARD_SIZE, Scope, checkpoint_key
from unum_runtime.model.states import Pattern
from unum_runtime.protocol.control.nudge import missing, nudge
from unum_runtime.protocol.history.pending import EndedBranches, Opened, Resend, WaitsFor, part_of, pending_after
from unum_runtime.protocol.planning.plan import Invoke
from unum_runtime.protocol.runtime import CallbackPending
from unum_runtime.protocol.waiting import callback
from unum_runtime.protocol.waiting.callback import nudge_job


def find(platform: Platform) -> list[tuple[int, int]]:
    """Return the branches that are pending at the moment, with the time since when, from the start on."""
    began_ms = platform.steps()[0].committed_ms
    return [(each.name.frames[-1].index, each.since_ms - began_ms) for each in missing(platform.runtime(), "e")]


def ticking(platform: Platform, step_ms: int = 1) -> Platform:
    """Let `step_ms` pass whenever a Task runs, so that no two commits of Tasks have the same time."""
    for name, function in list(platform.functions.items()):

        def run(event: Any, function: Any = function) -> Any:
            platform.clock.ms += step_ms
            return function(event)

        platform.functions[name] = run
    return platform


def committed_ms(platform: Platform, state: str, index: int) -> int:
    """Return when branch `index` committed `state`, from the start on."""
    first, *steps = platform.steps()
    (found,) = (each for each in steps if each.state == state and each.name.frames[-1].index == index)
    return found.committed_ms - first.committed_ms


def test_a_lane_waits_for_the_branch_that_is_lost_and_begins_no_other() -> None:
    platform = ticking(deployed(mapped("A", after="C", MaxConcurrency=2)))
    platform.start("e", [*range(6)])
    lose(platform, "A", 0)
    assert find(platform) == [(0, 0)]
    assert platform.calls == {"A": 3}
    while platform.ending() is None:
        nudge(platform.runtime(), "e")
        platform.deliver_all()
    assert platform.calls == {"A": 6, "C": 1}


def test_lanes_into_the_next_part_continue_from_the_previous_branch() -> None:
    width = 100
    platform = ticking(deployed(mapped("A", after="C", MaxConcurrency=width)))
    platform.start("e", [*range(600)])
    lose(platform, "A", 300, 590)  # whose lanes have their last branches in the part before
    assert SHARD_SIZE == 256
    assert find(platform) == [(index, committed_ms(platform, "A", index - width)) for index in (300, 590)]
    nudge(platform.runtime(), "e")
    platform.deliver_all()
    assert result(platform) == [*range(600)]


def test_a_lane_whose_branch_before_is_lost_in_an_earlier_part_waits() -> None:
    platform = deployed(mapped("A", MaxConcurrency=100))
    platform.start("e", [*range(400)])
    lose(platform, "A", 170)
    assert find(platform) == [(170, 0)]


def test_a_branch_has_freed_its_lane_only_with_its_last_task() -> None:
    platform = ticking(deployed(mapped("A", "B", MaxConcurrency=200)))
    platform.start("e", [*range(400)])
    lose(platform, "B", 60)
    assert find(platform) == [(60, committed_ms(platform, "A", 60))]


def test_each_earlier_part_is_read_once() -> None:
    platform = deployed(mapped("A", MaxConcurrency=SHARD_SIZE))
    platform.start("e", [*range(2 * SHARD_SIZE)])
    for _ in range(SHARD_SIZE):
        platform.deliver(platform.sent.pop(0))
    counting = CountingStore(platform.memory)
    platform.store = counting
    found = part_of(platform.runtime(), opened_by(platform), 1)
    assert (len(found.missing), counting.calls["query"]) == (SHARD_SIZE, 2)


def test_no_part_is_read_again_for_lanes_within_it() -> None:
    platform = deployed(mapped("A", MaxConcurrency=2))
    platform.start("e", [*range(6)])
    lose(platform, "A", 3)
    counting = CountingStore(platform.memory)
    platform.store = counting
    found = part_of(platform.runtime(), opened_by(platform), 0)
    assert ([each.name.frames[-1].index for each in found.missing], counting.calls["query"]) == ([3], 1)


def opened_by(platform: Platform) -> Opened:
    """Return the fan-out that the first commit opens."""
    found = pending_after(platform.runtime(), platform.steps()[0])
    assert isinstance(found, Opened)
    return found


@pytest.mark.parametrize("last", [3, 255, 256, 400])
def test_a_join_is_pending_since_the_latest_end_of_any_part(last: int) -> None:
    platform = ticking(deployed(mapped("A", after="C")))
    platform.start("e", [*range(500)])
    (late,) = (event for event in platform.sent if event.name.frames[-1].index == last)
    platform.sent.remove(late)
    platform.deliver_all()
    platform.clock.pass_seconds(60)
    platform.sent.append(late)
    lose(platform, "C")
    (found,) = missing(platform.runtime(), "e")
    assert (found.state, found.since_ms, found.due_ms) == ("M", platform.clock.ms, platform.clock.ms)
    assert found.effect.scope == Scope.around(late.name.execution, late.name.frames)


def refuse(_event: Any) -> Any:
    raise ValueError("no")


def end_untold(platform: Platform) -> None:
    """Deliver the events that were sent, and forget the fan-out's end each time, as if nobody had told of it."""
    events, platform.sent = platform.sent, []
    for event in events:
        platform.deliver(event)
        for step in platform.steps():
            if not step.name.frames and step.name.step > 1:
                del platform.memory._items[checkpoint_key("w", step.name)]
    platform.sent.clear()


@pytest.mark.parametrize(
    ("flow", "reply", "since_ms"),
    [
        (g.map(g.task("A"), items=g.out), 1, 0),  # the first failure decides, and no branch has completed
        (g.map(g.task("A"), items=g.out).quorum(2), 3, 3),
    ],
    ids=["all", "quorum"],
)
def test_failures_are_told_again_as_many_as_decide(flow: Any, reply: int, since_ms: int) -> None:
    platform = ticking(drawn(flow, A=refuse))
    platform.start("e", [1, 2, 3])
    end_untold(platform)
    (found,) = missing(platform.runtime(), "e")
    assert isinstance(found.effect, EndedBranches)
    assert (found.effect.done, len(found.effect.failed), found.effect.nodes, found.effect.arrivals) == (
        (),
        reply,
        (),
        (),
    )
    assert found.since_ms - platform.steps()[0].committed_ms == since_ms
    nudge(platform.runtime(), "e")
    platform.deliver_all()
    ending = platform.ending()
    assert ending is not None
    assert isinstance(ending.outcome, Failure)


def test_fewer_failures_than_decide_are_pending_as_nothing() -> None:
    platform = drawn(g.map(g.task("A"), items=g.out).quorum(2), A=lambda n: n if n > 1 else refuse(n))
    platform.start("e", [1, 2, 3])
    lose(platform, "A", 1, 2)
    part = part_of(platform.runtime(), opened_by(platform), 0)
    assert (len(part.ended.failed), part.is_decided, [each.name.frames[-1].index for each in part.missing]) == (
        1,
        False,
        [1, 2],
    )


def test_what_a_decided_fan_out_has_inside_is_left_alone() -> None:
    inner = g.map(g.task("B"), items=g.out)
    flow = g.parallel(g.task("A"), g.task("X") >> inner).quorum(1)
    platform = drawn(flow, A=lambda n: n, X=lambda n: n, B=lambda n: n)
    platform.start("e", [1, 2])
    platform.deliver(platform.sent.pop(1))  # the branch with a fan-out inside
    platform.sent = [event for event in platform.sent if event.state == "A"]
    end_untold(platform)
    part = part_of(platform.runtime(), opened_by(platform), 0)
    assert (part.is_decided, part.inside, [*part.ended.done]) == (True, {}, [0])


def joined_by_a_job() -> Watching:
    """A platform whose Map is joined by a Task that has started a job, of which no poll is left."""
    definition = mapped("A")
    definition["States"]["M"] |= {"Next": "Job"}
    del definition["States"]["M"]["End"]
    definition["States"]["Job"] = {**JOB, "End": True}
    platform = watching(definition)
    platform.functions["A"] = lambda n: platform.clock.pass_seconds(1) or n
    platform.start("e", [1, 2])
    platform.deliver_all()
    platform.later.clear()
    return platform


def test_a_task_that_joins_and_has_started_a_job_is_polled_again() -> None:
    platform = joined_by_a_job()
    _, *branches = platform.steps()
    (found,) = missing(platform.runtime(), "e")
    assert (found.state, found.waits_for, found.job, found.since_ms) == (
        "Job",
        WaitsFor.JOB,
        1,
        max(step.committed_ms for step in branches),
    )
    assert found.name == Scope.around(branches[0].name.execution, branches[0].name.frames).join
    assert isinstance(found.effect, Invoke)
    assert (found.effect.state, found.effect.name, found.effect.job["handle"]) == ("Job", found.name, 1)
    nudge(platform.runtime(), "e")
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def test_neighbour_join_with_a_started_job_is_polled_with_both_inputs() -> None:
    flow = g.map(g.task("A") >> g.task("Job").meets_previous(), items=g.out)
    workflow = Definition.from_graph(flow).compile("w", None)
    data = {**workflow.states["Job"].data, "ResultPath": "$[1]"}
    job = replace(workflow.task("Job"), pattern=Pattern.SYNC, function=SERVICES, data=data)
    platform = Watching(
        replace(workflow, states={**workflow.states, "Job": job}),
        {"A": lambda n: n * 10, SERVICES: lambda event: event},
    )
    platform.options["timer"] = platform
    platform.start("e", [1, 2])
    platform.deliver_all()
    platform.later.clear()
    found = missing(platform.runtime(), "e")
    assert [(each.waits_for, each.job) for each in found] == [(WaitsFor.JOB, 1), (WaitsFor.JOB, 2)]
    nudge(platform.runtime(), "e")
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ([[None, "job 1"], [10, "job 2"]], 2)


def test_an_event_that_resumes_from_an_answer_says_when_it_was_sent() -> None:
    asked = asking()
    asked.answer(asked.begun())
    (event,) = asked.platform.sent
    asked.platform.sent.clear()
    asked.platform.clock.pass_seconds(100)
    (found,) = nudge(asked.platform.runtime(), "e")
    assert isinstance(found.effect, Resend)
    (again,) = asked.platform.sent
    assert (again, found.effect.address) == (replace(event, sent_s=event.sent_s + 100), "F:1")


def test_tolerated_failure_frees_the_lane_of_an_earlier_part_too() -> None:
    definition = mapped("A", MaxConcurrency=100, ToleratedFailurePercentage=100)
    definition["States"]["M"]["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    platform = ticking(deployed(definition))
    passing = platform.functions["A"]
    platform.functions["A"] = lambda n: refuse(passing(n)) if n == 200 else passing(n)
    platform.start("e", [*range(400)])
    lose(platform, "A", 300)
    assert find(platform) == [(300, committed_ms(platform, "A", 200))]


def test_a_node_of_a_region_is_pending_since_the_latest_end_of_its_sources() -> None:
    nodes = {"a": g.task("a"), "b": g.task("b"), "c": g.task("c").after("a", "b")}
    platform = ticking(drawn(g.dag(nodes), **dict.fromkeys("abc", lambda event: event)), 1_000)
    platform.start("e", 1)
    assert find(platform) == [(0, 0), (1, 0)]
    lose(platform, "c", 2)
    assert find(platform) == [(2, 2_000)]


def wave() -> Platform:
    """Return a platform with a Map whose branches' second Tasks have the result of the previous branch's first."""
    flow = g.map(g.task("A") >> g.task("B").after_previous("A"), items=g.out)
    return ticking(drawn(flow, A=lambda n: n, B=lambda both: [both["previous"], both["own"]]))


@pytest.mark.parametrize("lost", [1, SHARD_SIZE, SHARD_SIZE + 1])
def test_a_task_of_a_wave_is_pending_since_both_that_it_waits_for(lost: int) -> None:
    platform = wave()
    platform.start("e", [*range(SHARD_SIZE + 2)])
    lose(platform, "B", lost)
    (found,) = missing(platform.runtime(), "e")
    assert (found.state, found.name.frames[-1].index, found.waits_for) == ("B", lost, WaitsFor.DELIVERY)
    began_ms = platform.steps()[0].committed_ms
    assert found.since_ms - began_ms == max(committed_ms(platform, "A", index) for index in (lost - 1, lost))
    assert found.effect.input.value == {"own": lost, "previous": lost - 1}
    nudge(platform.runtime(), "e")
    platform.deliver_all()
    assert result(platform) == [[n - 1 if n else None, n] for n in range(SHARD_SIZE + 2)]
    assert platform.calls == {"A": SHARD_SIZE + 2, "B": SHARD_SIZE + 2}


def test_parts_of_a_wave_are_read_once_and_tell_only_what_has_not_begun() -> None:
    platform = wave()
    platform.start("e", [*range(SHARD_SIZE + 2)])
    lose(platform, "B", 1, SHARD_SIZE + 1)
    opened = opened_by(platform)
    counting = CountingStore(platform.memory)
    platform.store = counting
    first, second = (part_of(platform.runtime(), opened, shard).ended.arrivals for shard in (0, 1))
    assert [each.waiting for each in first] == ["B"], "of the last branch, for the first one of the next part"
    assert second == ()
    assert counting.calls["query"] == 3


def test_joining_task_that_waits_for_an_answer_is_planned_with_the_results() -> None:
    definition = mapped("A")
    definition["States"]["M"] |= {"Next": "Ask"}
    del definition["States"]["M"]["End"]
    definition["States"]["Ask"] = {**WAITING, "End": True}
    platform = Platform.of(definition, A=lambda n: n, F=lambda _: CallbackPending())
    platform.start("e", [1, 2])
    platform.deliver_all()
    (found,) = missing(platform.runtime(), "e")
    assert (found.state, found.waits_for) == ("Ask", WaitsFor.ANSWER)
    assert isinstance(found.effect, Resend)
    assert isinstance(found.effect.envelope.input, Results)


def test_an_activity_without_an_answer_waits_for_it_and_for_no_signal() -> None:
    activity = {"Type": "Task", "Resource": "arn:aws:states:eu-west-1:123456789012:activity:a", "End": True}
    functions: dict[str, Any] = {"$services": lambda _: CallbackPending()}
    platform = Platform.of({"StartAt": "A", "States": {"A": activity}}, {}, **functions)
    platform.start("e", 1)
    platform.deliver_all()
    (found,) = missing(platform.runtime(), "e")
    assert (found.waits_for, found.signal) == (WaitsFor.ANSWER, None)


def test_a_wait_whose_key_is_no_key_is_pending_until_its_event_comes() -> None:
    platform = before_its_wait(WITH_KEY)
    (found,) = missing(platform.runtime(), "e")
    assert (found.waits_for, found.signal) == (WaitsFor.DELIVERY, None)
    assert isinstance(found.effect, Invoke)


def test_a_wait_without_a_key_waits_for_its_signal() -> None:
    platform = for_signals(WAIT)
    platform.start("e", {})
    platform.deliver_all()
    (found,) = missing(platform.runtime(), "e")
    assert (found.waits_for, found.signal) == (WaitsFor.ANSWER, Mailbox(found.name.execution, "go", ""))


def test_wait_that_met_its_signal_resumes_despite_other_missing_signals() -> None:
    platform = for_signals({**WAIT, "Parameters": {"Key": "x"}})
    platform.start("e", {})
    platform.deliver_all()
    signal_by_key.send(platform.runtime(), signal_by_key.request("go", "x", "yes", id="1"))
    platform.sent.clear()
    keep(platform.runtime(), Signal("go", "2", "2", "x"), 60)  # its sender died before it reached the wait
    (found,) = missing(platform.runtime(), "e")
    slot = Mailbox(found.name.execution, "go", "x").slot(0)
    assert isinstance(found.effect, Resend)
    assert found.effect.envelope.job == nudge_job(slot)


def for_signals(wait: Any) -> Platform:
    functions: dict[str, Any] = {"$services": lambda _: CallbackPending()}
    platform = Platform.of({"StartAt": "A", "States": {"A": {**wait, "End": True}}}, {}, **functions)
    platform.options["own_address"] = "services"
    return platform


def test_event_that_resumes_at_its_time_limit_checks_the_time_again() -> None:
    asked = asking(TimeoutSeconds=9)
    asked.begun()
    (_, check), *_ = asked.later
    asked.platform.clock.pass_seconds(9)
    name = callback._answer_key(asked.platform.runtime(), check)
    item = callback.result_item(Failure("States.Timeout", None), callback.By.CLOCK)
    expires_at_s = asked.platform.runtime().expires_at_s()
    asked.platform.memory.create(name, item, expires_at_s=expires_at_s)  # the check died behind this
    nudge(asked.platform.runtime(), "e")
    (again,) = asked.platform.sent
    assert again.job == {"since": asked.platform.clock.ms}
    asked.platform.deliver_all()
    assert asked.outcome == Failure("States.Timeout", None)


def test_first_task_of_a_branch_frees_no_lane_of_a_map_that_tolerates() -> None:
    definition = mapped("A", "B", MaxConcurrency=200, ToleratedFailurePercentage=100)
    definition["States"]["M"]["ItemProcessor"]["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
    platform = ticking(deployed(definition))
    platform.start("e", [*range(400)])
    lose(platform, "B", 60)
    assert find(platform) == [(60, committed_ms(platform, "A", 60))]


def test_a_branch_that_is_about_to_join_has_arrived_for_the_next_one() -> None:
    flow = g.map(g.task("A") >> g.task("B").meets_previous(), items=g.out)
    platform = drawn(flow, A=lambda n: n, B=lambda both: both)
    platform.start("e", [1, 2, 3])
    platform.deliver(platform.sent[0])
    (join,) = part_of(platform.runtime(), opened_by(platform), 0).ended.joins
    assert (join.state, join.name.frames[-1].index) == ("B", 1)


def test_a_node_of_a_region_between_two_tasks_has_not_ended() -> None:
    nodes = {"a": g.task("a") >> g.task("x"), "b": g.task("b").after("a")}
    platform = drawn(g.dag(nodes), **dict.fromkeys("axb", lambda event: event))
    platform.start("e", 1)
    lose(platform, "x", 0)
    part = part_of(platform.runtime(), opened_by(platform), 0)
    assert (part.ended.nodes, [each.state for each in part.missing]) == ((), ["x"])


def test_a_failed_branch_of_a_parallel_counts_against_it() -> None:
    platform = drawn(g.parallel(g.task("A"), g.task("B")).quorum(1), A=refuse, B=lambda n: n)
    platform.start("e", 1)
    lose(platform, "B", 1)
    ended = part_of(platform.runtime(), opened_by(platform), 0).ended
    assert (ended.done, [each.frames[-1].index for each in ended.failed]) == ((), [0])


def test_latest_end_of_a_part_is_of_its_own_branches() -> None:
    platform = ticking(deployed(mapped("A", MaxConcurrency=100)))
    platform.start("e", [*range(300)])
    held = {}
    while platform.sent:
        event = platform.sent.pop(0)
        index = event.name.frames[-1].index
        if index in (199, 290):
            held[index] = event
        else:
            platform.deliver(event)
    platform.clock.pass_seconds(60)
    platform.deliver(held[199])
    platform.sent.clear()
    part = part_of(platform.runtime(), opened_by(platform), 1)
    began_ms = platform.steps()[0].committed_ms
    own = (index for index in range(SHARD_SIZE, 299) if index != 290)
    assert part.latest_ms - began_ms == max(committed_ms(platform, "A", index) for index in own)
