"""Status events that no delivery puts: after nudges, redrives and forks, and by the sweep from notes."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.features.status_events.test_status_events import BEGUN_MS, Bus, announcing, notes
from tests.unit.protocol.cut_store import CutStore, Died
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.features.status_events.announcements import MOST_REFUSED, announce_noted, change_before
from unum_runtime.features.status_events.status_events import StatusEvents, note_key
from unum_runtime.model.checkpoint import Failure, Item, Status, Success, start_record
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import Execution, Name, checkpoint_key, start_key
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.control.sweep import RESERVE_MS, abandon
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S

E = Execution("e", BEGUN_MS)
WHY = Failure("Enough", None)


def write_start_record(platform: Platform, name: str = "e") -> None:
    """Write a start record, as a client does that dies afterwards."""
    record = start_record(Execution(name, platform.clock.ms), 5)
    platform.memory.create(start_key("w", name), stored_item("w", record), expires_at_s=10**12)


def swept(platform: Platform, bus: Bus) -> None:
    announce_noted(platform.runtime(), StatusEvents(put=bus.put))


def left(platform: Platform, execution: Execution, step: int) -> None:
    platform.memory.create(note_key("w", execution, step), {"step": step}, expires_at_s=10**12)


def test_a_nudge_tells_of_a_start_before_anything_follows() -> None:
    platform, bus = announcing("A", "B")
    write_start_record(platform)
    seen: list[Any] = []
    nudge(replace(platform.runtime(), invoker=_Watching(platform, bus, seen)), "e")
    assert seen == [["RUNNING"]]
    platform.deliver_all()
    assert bus.statuses == ["RUNNING", "SUCCEEDED"]


class _Watching:
    """Notes which events are on the bus when another event is sent."""

    def __init__(self, platform: Platform, bus: Bus, seen: list[Any]) -> None:
        self.platform, self.bus, self.seen = platform, bus, seen

    def invoke(self, events: Any) -> None:
        self.seen.append([*self.bus.statuses])
        self.platform.invoke(events)


def test_a_nudge_of_what_runs_tells_nothing() -> None:
    platform, bus = announcing("A", "B")
    platform.start(value=1)
    nudge(platform.runtime(), "e")
    assert bus.statuses == ["RUNNING"]


def test_a_nudge_tells_nothing_of_a_start_that_is_not_overdue() -> None:
    platform, bus = announcing("A", "B")
    write_start_record(platform)
    nudge(platform.runtime(), "e", silent_ms=60_000)
    assert bus.statuses == []


def test_a_redrive_runs_again_and_ends_again_each_with_an_id_of_its_own() -> None:
    platform, bus = announcing("A", "B")
    platform.functions["B"] = _fails
    platform.run(value=1)
    platform.functions["B"] = lambda event: event
    platform.clock.pass_seconds(1)
    redrive(platform.runtime(), "e")
    platform.deliver_all()
    assert bus.statuses == ["RUNNING", "FAILED", "RUNNING", "SUCCEEDED"]
    assert len({each["id"] for each in bus.details}) == 4
    assert [each["Time"] - BEGUN_MS // 1000 for each in bus.entries] == [0, 0, 1, 1]
    assert {each["startDate"] for each in bus.details} == {BEGUN_MS}


def test_redrive_states_its_number_even_when_the_sweep_puts_its_event() -> None:
    platform, bus = announcing("A", "B")
    platform.functions["B"] = _fails
    platform.run(value=1)
    for _ in range(2):
        platform.clock.pass_seconds(1)
        redrive(platform.runtime(), "e")
        redrive(platform.runtime(), "e")  # the same one: it has not ended again
        platform.deliver_all()
    running = [each for each in bus.details if each["status"] == "RUNNING"]
    reply = {(each["redriveCount"], each["redriveDate"]) for each in running}
    assert reply == {(0, None), (1, BEGUN_MS + 1000), (2, BEGUN_MS + 2000)}
    redriven = [
        each.name.step for each in from_start(platform.memory, "w", "e") if each.state == "B" and not each.ending
    ]
    by_delivery = {each["id"]: each for each in running}
    for step in redriven:
        left(platform, E, step)
    swept(platform, bus)
    assert [by_delivery[each["id"]] for each in bus.details[-2:]] == bus.details[-2:]
    assert {each["redriveCount"] for each in bus.details[-2:]} == {1, 2}


def redriven(platform: Platform, bus: Bus, name: str, times: int = 2) -> list[tuple[Any, ...]]:
    """Return redrives in the events of ends, of an execution whose last state fails until the last redrive."""
    working = platform.functions[name]
    platform.functions[name] = _fails
    platform.run(value=[1, 2])
    for left in reversed(range(times)):
        platform.clock.pass_seconds(1)
        platform.functions[name] = _fails if left else working
        redrive(platform.runtime(), "e")
        platform.deliver_all()
    return ends(bus)


def ends(bus: Bus) -> list[tuple[Any, ...]]:
    found = [each for each in bus.details if each["stopDate"] is not None]
    return [(each["status"], each["redriveCount"], each["redriveDate"]) for each in found]


TWICE = [("FAILED", 0, None), ("FAILED", 1, BEGUN_MS + 1000), ("SUCCEEDED", 2, BEGUN_MS + 2000)]


def test_ends_tell_how_often_the_execution_was_redriven_and_when() -> None:
    platform, bus = announcing("A", "B", "C")
    assert redriven(platform, bus, "B") == TWICE


def test_the_end_of_a_redriven_fan_out_tells_of_the_redrives() -> None:
    bus = Bus()
    mapped = {"Type": "Map", "ItemProcessor": chain("A", "B"), "End": True}
    platform = Platform.of({"StartAt": "M", "States": {"M": mapped}}, {}, A=lambda event: event, B=lambda event: event)
    platform.options["statuses"] = StatusEvents(put=bus.put)
    assert redriven(platform, bus, "B") == TWICE


@pytest.mark.parametrize("states", ["A", "AB", "BAC"])
def test_the_sweep_puts_ends_with_the_redrives_before_them_alone(states: str) -> None:
    platform, bus = announcing(*states)
    redriven(platform, bus, "A")
    by_delivery = [each for each in bus.entries if json.loads(each["Detail"])["stopDate"] is not None]
    for step in platform.steps():
        if step.ending is not None:
            left(platform, E, step.name.step)
    bus.entries.clear()
    swept(platform, bus)
    assert bus.entries == by_delivery


def test_late_events_before_a_redrive_repeat_the_event_of_their_end() -> None:
    platform, bus = announcing("A", "B", "C")
    late: list[Any] = []
    working = platform.functions["B"]
    platform.functions["B"] = _fails
    platform.start(value=1)
    while platform.sent:
        late.append(platform.sent.pop(0))
        platform.deliver(late[-1])
    platform.functions["B"] = working
    redrive(platform.runtime(), "e")
    platform.deliver_all()
    first = bus.entries[1]
    bus.entries.clear()
    for event in late:
        platform.deliver(event)
    assert bus.entries[-1] == first
    assert ends(bus) == [("FAILED", 0, None)]


def test_a_stop_tells_of_the_redrives_before_it() -> None:
    platform, bus = announcing("A", "B", "C")
    platform.start(value=1)
    stop(platform.runtime(), E, WHY)
    redrive(platform.runtime(), "e")
    stop(platform.runtime(), E, WHY)
    assert ends(bus) == [("ABORTED", 0, None), ("ABORTED", 1, BEGUN_MS)]
    stop(platform.runtime(), E, WHY)
    assert bus.entries[-1] == bus.entries[-2]


def test_a_stop_of_the_first_steps_reads_no_more_than_the_last_one() -> None:
    platform, _ = announcing("A", "B")
    platform.start(value=1)
    asked: list[Any] = []
    query = platform.memory.query

    def querying(*given: Any, **options: Any) -> Any:
        asked.append(options)
        return query(*given, **options)

    platform.memory.query = querying
    stop(platform.runtime(), E, WHY)
    assert asked == [{"newest": 1}]


def test_a_fork_of_a_redriven_execution_was_never_redriven() -> None:
    platform, bus = announcing("A", "B", "C")
    redriven(platform, bus, "B")
    bus.entries.clear()
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="C", value=Success(7)))
    platform.deliver_all()
    assert [(each["redriveCount"], each["redriveDate"]) for each in bus.details] == [(0, None)] * 2


def test_nothing_travels_with_redriven_executions_without_status_events() -> None:
    platform, _ = announcing("A", "B", "C")
    del platform.options["statuses"]
    platform.start(value=1)
    stop(platform.runtime(), E, WHY)
    redrive(platform.runtime(), "e")
    assert [event.routes for event in platform.sent][1:] == [{}]


def test_a_redrive_tells_what_redrive_allows() -> None:
    platform, bus = announcing("A", "B")
    platform.functions["B"] = _fails
    platform.run(value=1)
    assert bus.details[-1]["redriveStatus"] == "REDRIVABLE"
    platform.functions["B"] = lambda event: event
    redrive(platform.runtime(), "e")
    assert bus.details[-1]["redriveStatus"] == "NOT_REDRIVABLE"
    platform.deliver_all()
    assert bus.details[-1]["redriveStatus"] == "NOT_REDRIVABLE"
    with pytest.raises(ExecutionNotRedrivable):
        redrive(platform.runtime(), "e")


def _fails(_event: Any) -> Any:
    raise ValueError("bad")


def test_a_fork_has_events_of_its_own() -> None:
    platform, bus = announcing("A", "B")
    platform.run(value=1)
    fork(platform.runtime(), ForkRequest(execution="e", name="f", node="B", value=Success(7)))
    platform.deliver_all()
    own = [each for each in bus.details if each["name"] == "f"]
    assert [each["status"] for each in own] == ["RUNNING", "SUCCEEDED"]
    assert [each["input"] for each in own] == ["1", "1"]
    assert own[1]["output"] == "7"


def test_a_nudge_that_finishes_a_fork_tells_of_its_start() -> None:
    """The request may have died before its announcement."""
    platform, bus = announcing("A", "B", "C")
    platform.run(value=1)
    request = ForkRequest(execution="e", name="f", node="C", value=Success(7))
    whole = CutStore(platform.memory)
    fork(replace(platform.runtime(), store=whole, statuses=None), replace(request, name="whole"))
    died = CutStore(platform.memory, dies_at=whole.calls.total() - 3)
    with pytest.raises(Died):
        fork(replace(platform.runtime(), store=died, statuses=None), request)
    nudge(platform.runtime(), "f")
    platform.deliver_all()
    assert [each["status"] for each in bus.details if each["name"] == "f"] == ["RUNNING", "SUCCEEDED"]


def test_the_sweep_tells_of_a_redrive_that_follows_the_first_step() -> None:
    platform, bus = announcing("A")
    platform.functions["A"] = _fails
    platform.run(value=1)
    platform.functions["A"] = lambda event: event
    bus.refuses = 1
    redrive(platform.runtime(), "e")
    reply = [*bus.statuses]
    swept(platform, bus)
    assert (bus.statuses, bus.details[-1]["redriveCount"]) == ([*reply, "RUNNING"], 1)


def test_an_abandoned_execution_is_told_of() -> None:
    platform, bus = announcing("A", "B", notes_first=True)
    platform.start(value=1)
    platform.options["result_retention_s"] = 2 * DEFAULT_RETENTION_S
    platform.memory.replace(
        start_key("w", "e"), platform.memory.read([start_key("w", "e")])[start_key("w", "e")], expires_at_s=10**12
    )
    platform.clock.pass_seconds(DEFAULT_RETENTION_S)
    abandon(platform.runtime(), E)
    assert (bus.details[-1]["status"], bus.details[-1]["error"]) == ("ABORTED", "Unum.Abandoned")
    assert bus.details[-1]["redriveStatus"] == "NOT_REDRIVABLE"


def test_the_sweep_puts_what_the_bus_has_refused() -> None:
    platform, bus = announcing("A")
    bus.refuses = 2
    platform.run(value=1)
    assert bus.statuses == []
    swept(platform, bus)
    assert sorted(bus.statuses) == ["RUNNING", "SUCCEEDED"]
    assert not notes(platform)
    swept(platform, bus)
    assert len(bus.entries) == 2


def test_the_sweep_puts_the_same_event() -> None:
    platform, bus = announcing("A")
    platform.run(value=1)
    for step in (0, 1):
        left(platform, E, step)
    swept(platform, bus)
    assert bus.entries[2:] == bus.entries[:2]


def test_the_sweep_puts_refused_events_of_redrives_and_stops() -> None:
    platform, bus = announcing("A", "B", "C")
    platform.start(value=1)
    stop(platform.runtime(), E, WHY)
    bus.refuses = 1
    redrive(platform.runtime(), "e")
    assert notes(platform) == [note_key("w", E, 3)]
    swept(platform, bus)
    assert bus.statuses == ["RUNNING", "ABORTED", "RUNNING"]
    assert bus.details[2]["stopDate"] is None
    left(platform, E, 2)
    swept(platform, bus)
    assert bus.entries[3] == bus.entries[1]


def test_dead_stop_keeps_its_note_while_it_may_still_commit() -> None:
    platform, bus = announcing("A", "B")
    platform.start(value=1)
    left(platform, E, 2)
    swept(platform, bus)
    assert bus.statuses == ["RUNNING"]
    assert notes(platform) == [note_key("w", E, 2)]
    platform.deliver_all()
    swept(platform, bus)
    assert bus.statuses == ["RUNNING", "SUCCEEDED", "SUCCEEDED"]
    assert not notes(platform)


@pytest.mark.parametrize("step", [1, 3, 9])
def test_a_note_about_no_change_is_removed(step: int) -> None:
    platform, bus = announcing("A", "B")
    platform.run(value=1)
    left(platform, E, step)
    swept(platform, bus)
    assert bus.statuses == ["RUNNING", "SUCCEEDED"]
    assert not notes(platform)


@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("execution", [Execution("gone", BEGUN_MS), Execution("e", BEGUN_MS - 1)])
def test_a_note_about_an_execution_that_is_gone_is_removed(execution: Execution, step: int) -> None:
    platform, bus = announcing("A")
    platform.run(value=1)
    left(platform, execution, step)
    swept(platform, bus)
    assert bus.statuses == ["RUNNING", "SUCCEEDED"]
    assert not notes(platform)


def test_a_note_of_a_stop_that_came_after_another_commit_is_removed() -> None:
    """The stop leaves another note, for the next step."""
    platform, bus = announcing("A", "B", "C")
    platform.start(value=1)
    platform.deliver(platform.sent[0])
    reply = [*bus.statuses]
    left(platform, E, 1)
    swept(platform, bus)
    assert (notes(platform), bus.statuses) == ([], reply)


def test_a_bus_that_refuses_leaves_the_notes() -> None:
    platform, bus = announcing("A")
    for number in range(MOST_REFUSED + 2):
        write_start_record(platform, f"e{number}")
        left(platform, Execution(f"e{number}", BEGUN_MS), 0)
    bus.refuses = 10**6
    swept(platform, bus)
    assert len(bus.waits) == MOST_REFUSED == 10
    assert len(notes(platform)) == MOST_REFUSED + 2


def test_a_refused_event_keeps_no_other_one_from_being_put() -> None:
    platform, bus = announcing("A")
    for number in range(3):
        write_start_record(platform, f"e{number}")
        left(platform, Execution(f"e{number}", BEGUN_MS), 0)
    bus.refuses = 1
    swept(platform, bus)
    assert (len(bus.entries), len(notes(platform))) == (2, 1)


def test_the_sweep_leaves_the_rest_when_its_time_is_over() -> None:
    platform, bus = announcing("A")
    for number in range(3):
        write_start_record(platform, f"e{number}")
        left(platform, Execution(f"e{number}", BEGUN_MS), 0)
    remaining = iter([RESERVE_MS, RESERVE_MS, RESERVE_MS - 1])
    rt = replace(platform.runtime(), remaining_ms=lambda: next(remaining))
    announce_noted(rt, StatusEvents(put=bus.put))
    assert (len(bus.entries), len(notes(platform))) == (1, 2)


def test_a_malformed_note_stays_and_keeps_no_other_one_from_being_put() -> None:
    platform, bus = announcing("A")
    platform.run(value=1)
    key = note_key("w", E, 1)
    platform.memory.create(key._replace(sort="nonsense"), {"step": 1}, expires_at_s=10**12)
    left(platform, E, 1)
    swept(platform, bus)
    assert bus.statuses == ["RUNNING", "SUCCEEDED", "SUCCEEDED"]
    assert [each.sort for each in notes(platform)] == ["nonsense"]
    ((_, line),) = [each for each in platform.logged if each[0] == "malformed"]
    assert (line["partition"], line["sort"]) == (key.partition, "nonsense")
    assert line["reason"].startswith("ValueError: ")


WHOLE: Item = {"state": "A", "phase": "left", "ir": "x", "at": 1, "ms": 0, "attempt": 0, "value": "1"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"phase": "sideways"}, "ValueError: 'sideways' is not a valid Phase"),
        ({"state": ...}, "KeyError: 'state'"),
        ({"at": None}, "TypeError: int() argument"),
    ],
)
def test_malformed_step_keeps_no_other_event_from_being_put(change: dict[str, Any], reason: str) -> None:
    platform, bus = announcing("A", "B")
    platform.start(value=1)
    item = {name: value for name, value in (WHOLE | change).items() if value is not ...}
    platform.memory.create(checkpoint_key("w", Name(E, (), 2)), item, expires_at_s=10**12)
    for step in (0, 2):
        left(platform, E, step)
    swept(platform, bus)
    assert bus.statuses == ["RUNNING", "RUNNING"]
    assert len(notes(platform)) == 1
    assert [line["reason"].startswith(reason) for message, line in platform.logged if message == "malformed"] == [True]


def test_malformed_start_record_keeps_no_other_event_from_being_put() -> None:
    platform, bus = announcing("A")
    write_start_record(platform)
    write_start_record(platform, "f")
    platform.memory._items[start_key("w", "e")][0]["state"] = "A"
    for name in ("e", "f"):
        left(platform, Execution(name, BEGUN_MS), 0)
    swept(platform, bus)
    assert [each["name"] for each in bus.details] == ["f"]
    assert len(notes(platform)) == 1


def test_malformed_notes_are_no_refusals_of_the_bus() -> None:
    platform, bus = announcing("A")
    platform.run(value=1)
    key = note_key("w", E, 1)
    for number in range(MOST_REFUSED + 1):
        platform.memory.create(key._replace(sort=f"! {number}"), {"step": 1}, expires_at_s=10**12)
    left(platform, E, 1)
    swept(platform, bus)
    assert bus.statuses == ["RUNNING", "SUCCEEDED", "SUCCEEDED"]


def test_what_is_a_change_of_status() -> None:
    platform, _ = announcing("A", "B")
    platform.start(value=1)
    steps = from_start(platform.memory, "w", "e")
    found = change_before(steps[:1])
    assert (found and (found.step, found.status, found.at_ms)) == (0, Status.RUNNING, BEGUN_MS)
    assert change_before(steps) is None
    stop(platform.runtime(), E, WHY)
    assert change_before(from_start(platform.memory, "w", "e")) is None
