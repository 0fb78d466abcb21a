"""Sweeps: stalled executions found, and actions taken."""

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import ASKING, asking
from tests.unit.protocol.control.sweeper import SILENT_S, Sweeper, ended, sweeping, write_start_record
from tests.unit.protocol.map_platform import Later, deployed, lose, mapped, result
from tests.unit.protocol.platform import chain
from unum_runtime.errors import ExecutionDoesNotExist, InvokeError
from unum_runtime.model.checkpoint import Failure, Item, Status
from unum_runtime.model.envelope import MARK
from unum_runtime.model.list_index import FIRST, SHARDS, Kind, partition, place
from unum_runtime.model.naming import Execution, Key, execution_partition, start_key, sweep_partition
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.control import sweep as control_sweep
from unum_runtime.protocol.control.operator_requests import ValidationException
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.sweep import ABANDONED, RESERVE_MS, Sweep, Swept, is_sweep, sweep
from unum_runtime.protocol.control.sweep_memory import Memory
from unum_runtime.protocol.history import list_entries, pending
from unum_runtime.protocol.history.list_entries import Listed
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S, DEFAULT_RETENTION_S, CallbackPending

HOURS = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 3600, "MaxAttempts": 2, "BackoffRate": 2}


def test_an_execution_that_has_never_begun_is_found_and_begins() -> None:
    sweeper = sweeping(chain("A", "B"))
    write_start_record(sweeper.platform, "e")
    assert not sweeper.found_after(SILENT_S - 1)
    assert sweeper.found_after(1)
    sweeper.platform.deliver_all()
    assert result(sweeper.platform) == 5


@pytest.mark.parametrize(("state", "branches"), [("A", (1,)), ("B", (0, 2)), ("A", (0, 1, 2)), ("C", ())])
def test_an_execution_whose_events_were_lost_is_found_and_goes_on(state: str, branches: tuple[int, ...]) -> None:
    sweeper = sweeping(mapped("A", "B", after="C"))
    sweeper.platform.start("e", [0, 1, 2])
    lose(sweeper.platform, state, *branches)
    assert sweeper.platform.ending() is None
    assert not sweeper.found_after(SILENT_S - 1)
    assert sweeper.found_after(1)
    sweeper.platform.deliver_all()
    assert result(sweeper.platform) == [0, 1, 2]
    assert sweeper.platform.calls == {"A": 3, "B": 3, "C": 1}
    assert not sweeper.found_after(SILENT_S)


def test_it_is_told_what_is_missing() -> None:
    sweeper = sweeping(chain("A", "B"))
    sweeper.platform.start("e", 1)
    lose(sweeper.platform, "B")
    since_ms = sweeper.platform.clock.ms
    sweeper.found_after(SILENT_S)
    (seen,) = sweeper.reports
    assert {key: seen[key] for key in ("execution", "state", "count", "since_ms", "nudged")} == {
        "execution": "e",
        "state": "B",
        "count": 1,
        "since_ms": since_ms,
        "nudged": True,
    }


def test_the_oldest_running_execution_is_told_with_its_age() -> None:
    sweeper = sweeping(chain("A"))
    sweeper.platform.start("ended", 1)
    sweeper.platform.deliver_all()
    sweeper.platform.clock.pass_seconds(1)
    write_start_record(sweeper.platform, "older")
    sweeper.platform.clock.pass_seconds(2)
    write_start_record(sweeper.platform, "younger")
    sweeper.platform.clock.pass_seconds(SILENT_S)
    sweeper.sweep()
    seen = [fields for message, fields in sweeper.platform.logged if message == "oldest running"]
    assert seen == [{"execution": "older", "age_ms": (SILENT_S + 2) * 1000}]


def test_where_nothing_runs_no_age_is_told() -> None:
    sweeper = sweeping(chain("A"))
    sweeper.platform.start("e", 1)
    sweeper.platform.deliver_all()
    sweeper.platform.clock.pass_seconds(SILENT_S)
    sweeper.sweep()
    assert "oldest running" not in {message for message, _ in sweeper.platform.logged}


def test_it_may_be_told_without_being_sent() -> None:
    sweeper = sweeping(chain("A", "B"))
    sweeper.platform.start("e", 1)
    lose(sweeper.platform, "B")
    assert sweeper.found_after(SILENT_S, nudges=False)
    assert [seen["nudged"] for seen in sweeper.reports] == [False]
    assert sweeper.platform.sent == []


def test_branches_that_go_on_are_not_sent_again() -> None:
    sweeper = sweeping(mapped("A", "B", after="C"))
    sweeper.platform.start("e", [0, 1, 2])
    lost, kept, _ = sweeper.platform.sent
    sweeper.platform.sent.clear()
    sweeper.platform.clock.pass_seconds(SILENT_S - 1)
    sweeper.platform.deliver(kept)
    sweeper.platform.sent.clear()
    assert sweeper.found_after(1)
    assert [(event.state, event.name.frames[-1].index) for event in sweeper.platform.sent] == [("A", 0), ("A", 2)]
    assert sweeper.platform.sent[0].name == lost.name


def test_a_wait_is_no_silence_until_its_time_has_come() -> None:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 86_400, "Next": "B"}
    sweeper = sweeping(definition)
    sweeper.platform.options["timer"] = Later()
    sweeper.platform.start("e", 1)
    lose(sweeper.platform, "A")
    sweeper.platform.start("e", 1)
    sweeper.platform.deliver_all()
    assert not sweeper.found_after(86_400)
    assert not sweeper.found_after(SILENT_S - 1)
    assert sweeper.found_after(1)
    sweeper.platform.deliver_all()
    assert result(sweeper.platform) == 1


def test_task_may_be_retried_as_often_and_as_late_as_its_retriers_say() -> None:
    sweeper = sweeping(chain("A", "B", B={"Retry": [HOURS]}))
    sweeper.platform.start("e", 1)
    lose(sweeper.platform, "B")
    assert not sweeper.found_after(3 * 3600 + SILENT_S - 1)
    assert sweeper.found_after(1)


def test_retriers_that_are_forgotten_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "longest_wait_ms", lambda _: 0)
    with pytest.raises(AssertionError):
        test_task_may_be_retried_as_often_and_as_late_as_its_retriers_say()


def test_whoever_has_a_token_may_take_any_time() -> None:
    asked = asking()
    asked.begun()
    asked.later.clear()
    assert not Sweeper(asked.platform).found_after(6 * 86_400)


def test_execution_out_of_time_is_reported_and_nobody_is_asked_again() -> None:
    asked = asking()
    asked.platform.workflow = replace(asked.platform.workflow, timeout_s=3600)
    asked.begun()
    sweeper = Sweeper(asked.platform)
    assert not sweeper.found_after(3600 + SILENT_S - 1)
    assert sweeper.found_after(1)
    assert [seen["nudged"] for seen in sweeper.reports] == [False]
    assert asked.platform.sent == []


def test_lost_event_beside_a_task_that_waits_is_sent_and_told_as_such() -> None:
    """Both are overdue: only the lost event is sent, and the sweep reports a nudge."""
    parallel = {"Type": "Parallel", "Branches": [ASKING, chain("F/Lost")], "End": True}
    definition = {"StartAt": "P", "States": {"P": parallel}, "TimeoutSeconds": 3600}
    platform = deployed(definition, F=lambda event: CallbackPending() if "token" in event else event)
    platform.start("e", {})
    lose(platform, "Lost", 1)
    sweeper = Sweeper(platform)
    assert sweeper.found_after(3600 + SILENT_S)
    (seen,) = sweeper.reports
    assert (seen["count"], seen["nudged"]) == (2, True)


def test_ended_and_just_begun_executions_are_not_asked() -> None:
    sweeper = sweeping(chain("A"))
    sweeper.platform.start("ended", 1)
    sweeper.platform.deliver_all()
    write_start_record(sweeper.platform, "old")
    sweeper.platform.clock.pass_seconds(SILENT_S)
    write_start_record(sweeper.platform, "new")
    assert sweeper.sweep() == Swept(looked_at=1, silent=1, rest=None)
    assert sweeper.asked == ["old"]


LAST_MOMENT_S = DEFAULT_RETENTION_S - DEADLINE_MARGIN_S


def test_execution_past_its_last_moment_is_abandoned_without_asking() -> None:
    sweeper = sweeping(chain("A", "B"))
    sweeper.platform.start("e", 1)
    lose(sweeper.platform, "B")
    assert sweeper.found_after(LAST_MOMENT_S)
    sweeper.platform.sent.clear()
    sweeper.asked.clear()
    for _ in range(2):
        assert not sweeper.found_after(1)
    assert (sweeper.asked, sweeper.platform.sent) == ([], [])
    assert [fields["execution"] for message, fields in sweeper.platform.logged if message == "abandoned"] == ["e"]
    ending = sweeper.platform.ending()
    assert ending is not None
    cause = "The execution had no end when the last moment had passed at which its events are delivered."
    assert (ending.status, ending.outcome) == (Status.ABORTED, Failure(ABANDONED, cause))


def test_nudges_after_the_last_moment_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_sweep, "is_over", lambda *_: False)
    with pytest.raises(AssertionError):
        test_execution_past_its_last_moment_is_abandoned_without_asking()


def test_the_retention_of_the_version_of_an_execution_decides() -> None:
    sweeper = sweeping(chain("A"))
    write_start_record(sweeper.platform, "e")
    sweeper.retention_s *= 2
    assert sweeper.found_after(LAST_MOMENT_S + 1)
    assert sweeper.platform.ending() is None


def test_execution_expired_between_two_sweeps_is_reported_once() -> None:
    sweeper = sweeping(chain("A"))
    write_start_record(sweeper.platform, "e")
    assert sweeper.found_after(SILENT_S)

    def gone(_: Execution) -> int:
        raise ExecutionDoesNotExist("expired")

    rt = sweeper.platform.runtime()
    key = start_key("w", "e")
    del sweeper.platform.memory._items[key]
    sweeper.platform.clock.pass_seconds(LAST_MOMENT_S)
    asked = Sweep(silent_ms=SILENT_S * 1000, nudges=True)
    for _ in range(2):
        sweeper.platform.clock.pass_seconds(1)
        sweep(rt, sweeper.platform.memory, asked, sweeper._ask, gone)
    messages = [message for message, _ in sweeper.platform.logged]
    assert (messages.count("abandoned"), messages.count("malformed")) == (1, 0)


def test_execution_with_unknown_retention_is_asked_and_not_abandoned() -> None:
    sweeper = sweeping(chain("A"))
    write_start_record(sweeper.platform, "e")
    execution = Execution("e", sweeper.platform.clock.ms)

    def unknown(asked: Execution) -> int:
        assert asked == execution
        raise InvokeError("no answer")

    sweeper.platform.clock.pass_seconds(LAST_MOMENT_S + 1)
    asked = Sweep(silent_ms=SILENT_S * 1000, nudges=False)
    assert sweep(sweeper.platform.runtime(), sweeper.platform.memory, asked, sweeper._ask, unknown).silent == 1
    assert sweeper.platform.ending() is None


def test_execution_redriven_before_a_sweep_saw_it_is_asked_once() -> None:
    fails = [True]

    def sometimes(value: Any) -> Any:
        if fails:
            raise ValueError(fails.pop())
        return value

    sweeper = sweeping(chain("A"), A=sometimes)
    sweeper.platform.start("e", 1)
    sweeper.platform.deliver_all()
    redrive(sweeper.platform.runtime(), "e", None)
    sweeper.platform.sent.clear()
    sweeper.platform.clock.pass_seconds(SILENT_S)
    assert sweeper.sweep() == Swept(looked_at=1, silent=1, rest=None)
    assert sweeper.asked == ["e"]


@pytest.mark.parametrize("running", ["5", "no JSON", '["1800000000"]'])
def test_a_memory_that_cannot_be_read_hides_nothing(running: str) -> None:
    sweeper = sweeping(chain("A"))
    write_start_record(sweeper.platform, "e")
    item: Item = {"horizon": FIRST, "running": running}
    sweeper.platform.memory.create(Key(sweep_partition("w"), "0"), item, expires_at_s=2**40)
    assert sweeper.found_after(SILENT_S)
    assert sweeper.asked == ["e"]


def test_the_horizon_does_not_pass_what_nobody_has_looked_at() -> None:
    places = [place(Execution(name, 1)) for name in "abcd"]
    known = Memory(places[1], (places[0],))
    assert known.after(places[2], places[3], [places[3]]) == known
    assert known.after(places[1], places[3], [places[2]]) == Memory(places[3], (places[0], places[2]))


def test_an_end_that_was_just_committed_counts_and_not_the_abandonment(monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = sweeping(chain("A"))
    sweeper.platform.start("e", 1)
    is_over = control_sweep.is_over

    def while_the_last_delivery_runs(*arguments: Any) -> bool:
        sweeper.platform.clock.ms -= 1_000
        sweeper.platform.deliver_all()
        sweeper.platform.clock.ms += 1_000
        return is_over(*arguments)

    monkeypatch.setattr(control_sweep, "is_over", while_the_last_delivery_runs)
    assert not sweeper.found_after(LAST_MOMENT_S + 1)
    assert result(sweeper.platform) == 1


def test_remaining_pages_of_the_index_that_are_forgotten_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    oldest = Listed._oldest
    monkeypatch.setattr(Listed, "_oldest", lambda *asked: islice(oldest(*asked), list_entries.PORTION))
    with pytest.raises(AssertionError):
        test_each_is_asked_once(1, monkeypatch)


def test_an_execution_that_was_redriven_after_a_sweep_saw_its_end_is_found() -> None:
    fails = [True]

    def sometimes(value: Any) -> Any:
        if fails:
            raise ValueError(fails.pop())
        return value

    sweeper = sweeping(chain("A"), A=sometimes)
    sweeper.platform.start("e", 1)
    sweeper.platform.deliver_all()
    assert not sweeper.found_after(SILENT_S)
    redrive(sweeper.platform.runtime(), "e", None)
    sweeper.platform.sent.clear()
    assert sweeper.found_after(SILENT_S)
    sweeper.platform.deliver_all()
    assert result(sweeper.platform) == 1


def test_where_the_time_is_over_another_delivery_goes_on() -> None:
    sweeper = sweeping(chain("A"))
    for number in range(5):
        write_start_record(sweeper.platform, f"e{number}")
        sweeper.platform.clock.pass_seconds(1)
    sweeper.platform.clock.pass_seconds(SILENT_S)
    sweeper.remaining = [RESERVE_MS, RESERVE_MS - 1]
    first = sweeper.sweep()
    assert (first.looked_at, sweeper.asked) == (2, ["e0", "e1"])
    assert first.rest is not None
    assert Sweep.from_json(first.rest.to_json()) == first.rest
    assert sweeper.sweep(rest=first.rest) == Swept(looked_at=3, silent=3, rest=None)
    assert sweeper.asked == ["e0", "e1", "e2", "e3", "e4"]


def test_each_delivery_looks_at_one_even_without_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_entries, "PORTION", 3)
    sweeper = sweeping(chain("A"))
    for number in range(7):
        ended(sweeper.platform, f"ended{number}")
    write_start_record(sweeper.platform, "e")
    sweeper.platform.clock.pass_seconds(SILENT_S)
    rest, deliveries, silent = None, 0, 0
    while deliveries == 0 or rest is not None:
        sweeper.remaining = [0]
        swept = sweeper.sweep(rest=rest)
        rest, deliveries, silent = swept.rest, deliveries + 1, silent + swept.silent
    assert (deliveries, silent, sweeper.asked) == (8, 1, ["e"])


@pytest.mark.parametrize("portion", [1, 2, 3, 1_000])
def test_each_is_asked_once(portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_entries, "PORTION", portion)
    sweeper = sweeping(chain("A"))
    for number in range(6):
        write_start_record(sweeper.platform, f"e{number}")
        sweeper.platform.clock.pass_seconds(number % 2)
    sweeper.platform.clock.pass_seconds(SILENT_S)
    rest, sweeper.remaining = sweeper.sweep().rest, []
    assert rest is None
    assert sorted(sweeper.asked) == [f"e{number}" for number in range(6)]


def test_unreachable_execution_is_reported_and_hides_no_other() -> None:
    sweeper = sweeping(chain("A"))
    for name in ("e0", "e1", "e2"):
        write_start_record(sweeper.platform, name)
        sweeper.platform.clock.pass_seconds(1)
    sweeper.fails = {"e1": InvokeError("no answer"), "e2": ExecutionDoesNotExist("expired")}
    sweeper.platform.clock.pass_seconds(SILENT_S)
    assert sweeper.sweep() == Swept(looked_at=3, silent=2, rest=None)
    assert [(seen["execution"], seen.get("error")) for seen in sweeper.reports] == [
        ("e0", None),
        ("e1", "InvokeError"),
    ]
    assert sweeper.reports[1] == {"execution": "e1", "error": "InvokeError", "reason": "no answer"}


def test_a_sweep_is_told_from_other_requests() -> None:
    event = Sweep(silent_ms=1, nudges=False).to_json()
    assert is_sweep(event)
    assert Sweep.from_json(event) == Sweep(silent_ms=1, nudges=False)
    assert not is_sweep(operator_requests.request(operator_requests.Control.NUDGE, "sweep"))
    assert not is_sweep({"control": "sweep"})


@pytest.mark.parametrize(
    "wrong",
    [{"silent_ms": 0}, {"silent_ms": True}, {"silent_ms": 1.5}, {"nudge": "yes"}, {"after": 3}, {"letters": None}],
)
def test_a_sweep_that_is_not_as_it_must_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationException, match="silent_ms"):
        Sweep.from_json(Sweep(silent_ms=1, nudges=False).to_json() | wrong)


def test_sweep_of_an_earlier_release_starts_over_without_dead_letters() -> None:
    event = Sweep(silent_ms=1, nudges=False).to_json()
    del event["after"], event["letters"]
    assert Sweep.from_json(event) == Sweep(silent_ms=1, nudges=False)


@pytest.mark.parametrize("status", [None, "GARBAGE"])
def test_malformed_items_hide_no_stalled_execution(status: str | None) -> None:
    """Those of another workflow in this one's list, and an execution of its own that cannot be read."""
    sweeper = sweeping(chain("A", "B"))
    platform = sweeper.platform
    name = platform.runtime().workflow.name
    for shard in range(SHARDS):
        for number, at in enumerate(["0", "1800000000", place(Execution("theirs", 1)), place(Execution("e", 1))]):
            listed: Item = {"list": partition(name, Kind.STARTED, shard), "list_at": at}
            platform.memory.create(Key(f"start:other/{shard}-{number}", "start"), listed, expires_at_s=2**40)
    for each in ("bad", "e"):
        write_start_record(platform, each)
    if status is not None:
        bad = execution_partition(name, Execution("bad", platform.clock.ms))
        platform.memory.create(Key(bad, "000000001"), {"status": status}, expires_at_s=2**40)
    platform.memory.create(Key(sweep_partition(name), "0"), {"horizon": 1}, expires_at_s=2**40)
    assert sweeper.found_after(SILENT_S)
    assert sweeper.sweep().looked_at == (2 if status is None else 1)
    reported = [fields for message, fields in platform.logged if message == "malformed"]
    assert {fields.get("partition", "")[:12] for fields in reported} >= {"start:other/"}
    assert any(fields.get("execution") == "bad" for fields in reported) is (status is not None)
    listed = {fields["sort"]: fields["place"] for fields in reported if "sort" in fields}
    assert listed == {"start": "1800000000"}
    said = {fields["reason"] for fields in reported if "reason" in fields}
    assert said == (set() if status is None else {"ValueError: 'GARBAGE' is not a valid Status"})


@pytest.mark.parametrize("error", [ValueError, KeyError, TypeError, AttributeError])
def test_execution_that_cannot_be_read_hides_no_stalled_one(error: type[Exception]) -> None:
    sweeper = sweeping(chain("A"))
    for name in ("bad", "e"):
        write_start_record(sweeper.platform, name)
    sweeper.fails = {"bad": error("what is wrong")}
    assert sweeper.found_after(SILENT_S)
    assert [seen["execution"] for seen in sweeper.reports] == ["e"]
    (seen,) = [fields for message, fields in sweeper.platform.logged if message == "malformed"]
    assert (seen["execution"], seen["reason"]) == ("bad", f"{error.__name__}: {error('what is wrong')}")


def test_malformed_start_record_hides_no_stalled_execution() -> None:
    sweeper = sweeping(chain("A"))
    write_start_record(sweeper.platform, "bad")
    sweeper.platform.memory._items[start_key("w", "bad")][0]["state"] = "A"
    sweeper.platform.clock.pass_seconds(LAST_MOMENT_S)
    write_start_record(sweeper.platform, "e")
    assert sweeper.found_after(SILENT_S)
    assert [seen["execution"] for seen in sweeper.reports] == ["e"]
    (seen,) = [fields for message, fields in sweeper.platform.logged if message == "malformed"]
    assert seen["reason"].startswith("InconsistentHistory: ")


def test_retention_is_asked_only_when_the_time_of_this_version_is_over() -> None:
    sweeper = sweeping(chain("A"))
    write_start_record(sweeper.platform, "e")
    sweeper.retention_s = 0
    assert sweeper.found_after(SILENT_S)
    assert sweeper.platform.ending() is None


def test_later_execution_of_the_same_name_is_not_abandoned() -> None:
    platform = deployed(chain("A"))
    write_start_record(platform, "e")
    before = {**platform.memory._items}
    control_sweep.abandon(platform.runtime(), Execution("e", platform.clock.ms - 1))
    assert platform.memory._items == before


def test_a_sweep_of_another_wire_version_is_refused() -> None:
    event = Sweep(silent_ms=1, nudges=False).to_json()
    with pytest.raises(ValidationException, match="version"):
        Sweep.from_json({**event, MARK: 99})
