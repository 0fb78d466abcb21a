"""Tasks that wait for jobs: what is stored is not started again, and a look that was lost is found and made up for."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.protocol import job_platform
from tests.unit.protocol.collected_keys import CollectedKeys
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.job_platform import JOB, LOOK_S, Watching, watching
from tests.unit.protocol.map_platform import around, deliver, result
from tests.unit.protocol.platform import chain
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.control import nudge
from unum_runtime.protocol.control.nudge import missing
from unum_runtime.protocol.delivery import run_task
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.waiting import service_job

HOUR_MS = 3_600_000
AGAIN = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 7200, "MaxAttempts": 2, "BackoffRate": 1}]


def test_a_job_is_started_once_and_looked_at_until_it_is_over() -> None:
    platform = watching()
    platform.begun()
    platform.pass_time(600)
    assert (result(platform), len(platform.started), platform.looks) == ("job 1", 1, 3)


def test_a_start_event_that_comes_again_looks_at_the_job() -> None:
    platform = watching()
    platform.start()
    start = platform.sent.pop()
    for _ in range(3):
        deliver(platform, start)
    assert (len(platform.started), platform.looks) == (1, 2)
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def test_of_two_jobs_the_one_counts_that_was_stored_first() -> None:
    platform = watching()
    platform.start()
    (start,) = platform.sent
    creating = platform.memory.create

    def late(key: Any, item: Any, **named: Any) -> Any:
        platform.memory.create = creating
        deliver(platform, start)
        return creating(key, item, **named)

    platform.memory.create = late
    platform.deliver_all()
    assert (len(platform.started), [look.job["handle"] for _, look in platform.later]) == (2, [2, 2])
    platform.pass_time(600)
    assert result(platform) == "job 2"


def test_what_follows_a_crash_after_the_job_was_stored_goes_on() -> None:
    platform = watching()
    platform.start()
    (start,) = platform.sent
    platform.sent.clear()
    platform.schedule, scheduling = _die, platform.schedule  # type: ignore[assignment]
    with pytest.raises(ConnectionError):
        platform.deliver(start)
    platform.schedule = scheduling
    deliver(platform, start)
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def test_a_lost_look_is_told_and_a_nudge_makes_up_for_it_at_once() -> None:
    platform = watching(over_s=3_000)
    platform.begun()
    platform.pass_time(400)
    platform.later.clear()
    found = platform.found()
    assert (found.state, found.waits_for, found.job) == ("Job", WaitsFor.JOB, 1)
    assert found.until_ms is not None
    assert found.until_ms > platform.clock.ms
    platform.nudge()
    platform.pass_time(4_000)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def test_a_nudge_before_the_job_was_started_starts_it() -> None:
    platform = watching()
    platform.start()
    platform.sent.clear()
    assert platform.found().waits_for is WaitsFor.DELIVERY
    platform.nudge()
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def looks_in_an_hour(platform: Watching) -> int:
    before = platform.looks
    platform.pass_time(3_600)
    return platform.looks - before


def test_looks_that_have_multiplied_become_one_again() -> None:
    platform = watching(over_s=86_400)
    look = platform.begun()
    for _ in range(3):
        deliver(platform, look)
        platform.nudge()
        platform.deliver_all()
    assert len(platform.later) > 5
    platform.pass_time(1_800)
    assert len(platform.later) == 1
    assert looks_in_an_hour(platform) == 60
    platform.pass_time(86_400)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def test_of_two_nudges_one_goes_on() -> None:
    platform = watching(over_s=86_400)
    platform.begun()
    platform.later.clear()
    platform.nudge()
    platform.nudge()
    platform.deliver_all()
    assert len(platform.later) == 1


def test_a_write_for_each_ten_minutes() -> None:
    platform = watching(over_s=86_400)
    platform.begun()
    before = len(platform.stored())
    platform.pass_time(36_000)
    assert len(platform.stored()) - before <= 60


def test_a_job_that_ends_within_ten_minutes_costs_a_read_and_a_write() -> None:
    platform = watching(over_s=500)
    platform.store = counted = CountingStore(platform.memory)
    platform.pass_time(0)
    platform.start()
    before = counted.calls.copy()
    platform.deliver(platform.sent.pop())
    assert counted.calls - before == {"read": 2, "create": 1}  # one read is the guard's
    before = counted.calls.copy()
    platform.pass_time(480)
    assert counted.calls - before == {"read": 8}
    platform.pass_time(600)
    assert result(platform) == "job 1"


def test_whoever_dies_when_a_term_has_begun_goes_on() -> None:
    platform = watching(over_s=86_400)
    look = platform.begun()
    platform.clock.pass_seconds(780)  # so late that another term has to begin
    platform.later.clear()
    for _ in range(2):
        platform.schedule, scheduling = _die, platform.schedule  # type: ignore[assignment]
        with pytest.raises(ConnectionError):
            platform.deliver(look)
        platform.schedule = scheduling
    deliver(platform, look)
    assert len(platform.later) == 1


def test_a_job_that_is_looked_at_is_never_silent() -> None:
    platform = watching(over_s=86_400)
    platform.begun()
    for _ in range(23):
        platform.pass_time(3_600)
        assert platform.nudge(silent_ms=60_000) == 0
    assert looks_in_an_hour(platform) <= 60


def test_unpolled_job_is_silent_when_its_term_is_over_for_as_long() -> None:
    platform = watching(over_s=86_400)
    platform.begun()
    platform.later.clear()
    until_ms = platform.found().until_ms or 0
    assert until_ms - platform.clock.ms == LOOK_S * 1000 + service_job.TERM_MS
    platform.clock.ms = until_ms + HOUR_MS - 1
    assert platform.nudge(silent_ms=HOUR_MS) == 0
    platform.clock.ms += 1
    assert platform.nudge(silent_ms=HOUR_MS) == 1
    platform.pass_time(90_000)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def test_failed_job_may_start_again_as_late_as_its_retriers_say() -> None:
    platform = watching(over_s=150, fails=1, task={"Retry": AGAIN})
    platform.begun()
    platform.pass_time(6_000)
    assert platform.nudge(silent_ms=HOUR_MS) == 0
    platform.pass_time(36_000)
    assert (result(platform), len(platform.started)) == ("job 2", 2)


def test_each_try_has_a_job_of_its_own_and_the_last_counts() -> None:
    platform = watching(over_s=150, fails=1, task={"Retry": AGAIN})
    platform.begun()
    platform.pass_time(7_200 + 240)
    assert (len(platform.started), platform.found().job) == (2, 2)
    platform.later.clear()
    platform.nudge()
    assert [look.retries for look in platform.sent] == [(1,)]
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ("job 2", 2)


def test_jobs_of_branches_are_nudged_alone() -> None:
    branch = {"StartAt": "Job", "States": {"Job": {**JOB, "End": True}}}
    platform = watching(around(branch, after="After"), over_s=86_400)
    platform.start("e", [1, 2, 3])
    platform.deliver_all()
    platform.later = [each for each in platform.later if each[1].name.frames[-1].index != 1]
    found = missing(platform.runtime(), "e")
    assert [(each.name.frames[-1].index, each.waits_for) for each in found] == [(n, WaitsFor.JOB) for n in range(3)]
    platform.pass_time(5_000)
    assert [each.name.frames[-1].index for each in nudge.nudge(platform.runtime(), "e", silent_ms=HOUR_MS)] == [1]
    platform.pass_time(90_000)
    assert (sorted(result(platform)), len(platform.started)) == (["job 1", "job 2", "job 3"], 3)


@pytest.mark.parametrize("lost", ["start", "look"])
def test_a_job_that_joins_the_branches_before_it(lost: str) -> None:
    definition = around(chain("A"), after="Job")
    definition["States"]["Job"] |= JOB
    platform = watching(definition)
    platform.start("e", [1, 2])
    while platform.sent:
        event = platform.sent.pop(0)
        if event.state != "Job" or lost == "look":
            deliver(platform, event)
    platform.later.clear()
    found = platform.found()
    expected = ("M", WaitsFor.DELIVERY) if lost == "start" else ("Job", WaitsFor.JOB)
    assert (found.state, found.waits_for) == expected
    platform.nudge()
    platform.pass_time(600)
    assert (result(platform), len(platform.started)) == ("job 1", 1)


def test_under_eager_collection_nothing_is_left_of_jobs() -> None:
    platform = watching(collection=Collection.EAGER, over_s=3_000, fails=1, task={"Retry": AGAIN})
    look = platform.begun()
    platform.pass_time(600)
    assert platform.stored() == ["job.000000000.000000000"]
    platform.pass_time(36_000)
    assert (result(platform), platform.stored()) == ("job 2", [])
    calls = platform.looks
    deliver(platform, look)
    assert (len(platform.started), platform.looks) == (2, calls)


def _die(*_: Any) -> None:
    raise ConnectionError


# Deliberate mistakes. Each is found by a test above, which is run with it.


def nothing_stored(patch: pytest.MonkeyPatch) -> None:
    def next_poll(rt: Any, _envelope: Envelope, found: Any, due_ms: int) -> Any:
        return {**found, "term": 0, "until": due_ms + service_job.TERM_MS, "by": rt.delivery}

    patch.setattr(run_task, "next_poll", next_poll)


def stored_but_not_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run_task, "with_stored_job", lambda _rt, envelope: envelope)


def own_job_instead_of_the_stored_one(patch: pytest.MonkeyPatch) -> None:
    next_poll = run_task.next_poll
    patch.setattr(run_task, "next_poll", lambda rt, event, found, due_ms: next_poll(rt, event, found, due_ms) | found)


def losers_go_on(patch: pytest.MonkeyPatch) -> None:
    def next_poll(rt: Any, envelope: Envelope, found: Any, due_ms: int) -> Any:
        return before(rt, envelope, found, due_ms) or {**envelope.job, **found}

    before = run_task.next_poll
    patch.setattr(run_task, "next_poll", next_poll)


def a_term_is_of_its_delivery(patch: pytest.MonkeyPatch) -> None:
    def next_poll(rt: Any, envelope: Envelope, found: Any, due_ms: int) -> Any:
        own = envelope.job and {**envelope.job, "by": rt.delivery}
        return before(rt, run_task.replace(envelope, job=own), found, due_ms)

    before = run_task.next_poll
    patch.setattr(run_task, "next_poll", next_poll)


def jobs_are_never_silent(patch: pytest.MonkeyPatch) -> None:
    expected = pending._expected_ms
    patch.setattr(
        pending, "_expected_ms", lambda flow, each: None if each.waits_for is WaitsFor.JOB else expected(flow, each)
    )


def jobs_are_silent_from_their_start_on(patch: pytest.MonkeyPatch) -> None:
    expected = pending._expected_ms
    patch.setattr(pending, "_expected_ms", lambda flow, each: expected(flow, pending.replace(each, until_ms=None)))


def a_retry_is_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pending, "longest_wait_ms", lambda _retriers: 0)


def a_nudged_look_begins_no_term(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(service_job.Stored, "polled_by", lambda own, delivery: {**own.job, "by": delivery})


def retries_forgotten(patch: pytest.MonkeyPatch) -> None:
    last = pending.last_job
    patch.setattr(pending, "last_job", lambda *given: (found := last(*given)) and found._replace(retries=()))


def every_look_is_a_term(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(service_job, "MARGIN_MS", 10**9)


def what_joins_is_not_looked_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pending, "_after_start", lambda _rt, missing, _invoke: missing)


def forgets_nothing(patch: pytest.MonkeyPatch) -> None:
    from unum_runtime.protocol.delivery import deliver  # noqa: PLC0415 - the name is that of a function elsewhere

    patch.setattr(deliver, "collect_jobs", lambda *_: None)


@pytest.mark.parametrize(
    ("mistake", "finds"),
    [
        (nothing_stored, test_a_lost_look_is_told_and_a_nudge_makes_up_for_it_at_once),
        (stored_but_not_read, test_a_start_event_that_comes_again_looks_at_the_job),
        (
            own_job_instead_of_the_stored_one,
            test_of_two_jobs_the_one_counts_that_was_stored_first,
        ),
        (losers_go_on, test_looks_that_have_multiplied_become_one_again),
        (losers_go_on, test_of_two_nudges_one_goes_on),
        (a_term_is_of_its_delivery, test_whoever_dies_when_a_term_has_begun_goes_on),
        (jobs_are_never_silent, test_unpolled_job_is_silent_when_its_term_is_over_for_as_long),
        (jobs_are_silent_from_their_start_on, test_a_job_that_is_looked_at_is_never_silent),
        (a_retry_is_not_waited_for, test_failed_job_may_start_again_as_late_as_its_retriers_say),
        (a_nudged_look_begins_no_term, test_of_two_nudges_one_goes_on),
        (retries_forgotten, test_each_try_has_a_job_of_its_own_and_the_last_counts),
        (every_look_is_a_term, test_a_write_for_each_ten_minutes),
        (forgets_nothing, test_under_eager_collection_nothing_is_left_of_jobs),
    ],
)
def test_a_mistake_is_found(
    mistake: Callable[[pytest.MonkeyPatch], None], finds: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        finds()


def test_that_a_job_has_begun_after_a_join_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    what_joins_is_not_looked_for(monkeypatch)
    with pytest.raises(AssertionError):
        test_a_job_that_joins_the_branches_before_it("look")


def terms(platform: Watching) -> list[tuple[str, str]]:
    """Return key and beginner of each stored term."""
    return [(key.sort, str(item["by"])) for key, (item, _) in platform.memory._items.items() if key.sort[:4] == "job."]


def test_terms_are_numbered_and_name_the_delivery_whose_event_began_them() -> None:
    platform = watching(over_s=86_400)
    platform.begun()
    platform.pass_time(1_300)
    first, second = terms(platform)
    assert first == (service_job.job_key("w", "", 0, 0).sort, "")
    assert second[0] == service_job.job_key("w", "", 0, 1).sort
    assert len(second[1]) == 32


@pytest.mark.parametrize("times", [1, 2])
def test_a_start_event_that_comes_late_in_the_first_term_begins_the_second(times: int) -> None:
    platform = watching(over_s=86_400)
    platform.start()
    (start,) = platform.sent
    platform.deliver_all()
    platform.later.clear()
    platform.clock.pass_seconds(700)
    for _ in range(times):
        deliver(platform, start)
    assert [key for key, _ in terms(platform)] == [service_job.job_key("w", "", 0, term).sort for term in (0, 1)]
    platform.pass_time(3_600)
    assert (len(platform.started), len(platform.later)) == (1, 1)


@pytest.mark.parametrize("looks", [1, 11])
def test_a_look_that_comes_twice_leads_to_one_chain_of_looks(looks: int) -> None:
    platform = watching(over_s=86_400)
    look = platform.begun()
    for _ in range(looks - 1):
        platform.pass_time(LOOK_S)
        ((_, look),) = platform.later
    platform.later.clear()
    platform.clock.pass_seconds(LOOK_S)
    deliver(platform, look)
    deliver(platform, look)
    platform.pass_time(800)
    assert len(platform.later) == 1


def test_chains_of_rare_looks_become_one_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_platform, "LOOK_S", 700)
    platform = watching(over_s=86_400)
    look = platform.begun()
    platform.later.clear()
    platform.clock.pass_seconds(700)
    deliver(platform, look)
    deliver(platform, look)
    assert len(platform.later) == 2
    platform.pass_time(800)
    assert len(platform.later) == 1


def test_collected_job_is_neither_polled_nor_started_again() -> None:
    platform = watching(collection=Collection.EAGER)
    look = platform.begun()
    first = replace(look, job=None)
    platform.memory.collect(key for key in platform.memory._items if key.sort.startswith("job."))
    assert service_job.last_job(platform.runtime(), look.name, "Job") is None
    with pytest.raises(RefusedDelivery, match="its job was collected"):
        service_job.with_stored_job(platform.runtime(), first)


def test_jobs_are_collected_once() -> None:
    platform = watching(collection=Collection.EAGER)
    look, collected = platform.begun(), CollectedKeys(platform.memory)
    platform.store = collected
    for count in (1, 1):
        service_job.collect_jobs(platform.runtime(), look, platform.workflow.task("Job"))
        assert len(collected.keys) == count
