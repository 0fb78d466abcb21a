"""Status events: what they say, when they are put, and what remains of those that the bus refuses."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import ExecutionDeleted, InvokeError, StoreError
from unum_runtime.features.status_events import status_events
from unum_runtime.features.status_events.status_events import (
    DETAIL_TYPE,
    MAX_DETAIL_BYTES,
    MAX_WAIT_MS,
    Redriven,
    StatusChange,
    StatusEvents,
    entry_of,
    event_id,
    note_key,
    remove_note,
)
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success
from unum_runtime.model.ir import Home
from unum_runtime.model.list_index import SHARDS
from unum_runtime.model.naming import Execution, Key, announcements_partition, start_key
from unum_runtime.protocol.control.deletions.delete import QUIET_MS, delete
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.control.sweep import ABANDONED
from unum_runtime.protocol.delivery.commit import MAX_CAUSE_LENGTH
from unum_runtime.protocol.planning.existing_start import DELETED
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

BEGUN_MS = 1_800_000_000_000
HOME = Home("aws", "eu-west-1", "123456789012")
ARN = "arn:aws:states:eu-west-1:123456789012:execution:w:e"


@dataclass
class Bus:
    """Keeps entries; refuses as many as it is told to."""

    entries: list[Any] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    refuses: int = 0

    def put(self, entry: Any, timeout_ms: int) -> None:
        self.waits.append(timeout_ms)
        if self.refuses:
            self.refuses -= 1
            raise InvokeError("bus: ThrottlingException")
        self.entries.append(entry)

    @property
    def details(self) -> list[Any]:
        return [json.loads(each["Detail"]) for each in self.entries]

    @property
    def statuses(self) -> list[str]:
        return [each["status"] for each in self.details]


def same(event: Any) -> Any:
    return event


def announcing(*states: str, notes_first: bool = False) -> tuple[Platform, Bus]:
    bus = Bus()
    platform = Platform.of(chain(*states), {}, **dict.fromkeys(states, same))
    platform.workflow = replace(platform.workflow, home=HOME)
    platform.options["statuses"] = StatusEvents(put=bus.put, notes_first=notes_first)
    return platform, bus


def notes(platform: Platform) -> list[Key]:
    return [key for shard in range(SHARDS) for key in platform.memory.query(announcements_partition("w", shard))]


def test_start_and_end_have_the_fields_of_step_functions() -> None:
    platform, bus = announcing("A", "B")
    platform.start(value={"n": 1})
    platform.clock.pass_seconds(2.5)
    platform.deliver_all()
    started, ended = bus.entries
    common = {"Source": "unum", "DetailType": "Unum Execution Status Change", "Resources": [ARN]}
    detail = {
        "executionArn": ARN,
        "stateMachineArn": "arn:aws:states:eu-west-1:123456789012:stateMachine:w",
        "name": "e",
        "status": "RUNNING",
        "startDate": BEGUN_MS,
        "stopDate": None,
        "input": '{"n":1}',
        "inputDetails": {"included": True},
        "output": None,
        "outputDetails": None,
        "error": None,
        "cause": None,
        "redriveCount": 0,
        "redriveDate": None,
        "stateMachineVersionArn": None,
        "stateMachineAliasArn": None,
    }
    about = {
        "redriveStatus": "NOT_REDRIVABLE",
        "redriveStatusReason": "Execution is RUNNING and cannot be redriven",
    }
    found = [json.loads(each.pop("Detail")) for each in (started, ended)]
    assert (started, found[0]) == ({**common, "Time": BEGUN_MS // 1000}, {**detail, **about, "id": found[0]["id"]})
    end = {"status": "SUCCEEDED", "stopDate": BEGUN_MS + 2500, "output": '{"n":1}', "outputDetails": {"included": True}}
    end["redriveStatus"] = "NOT_REDRIVABLE"
    end["redriveStatusReason"] = "Execution is SUCCEEDED and cannot be redriven"
    assert (ended, found[1]) == (
        {**common, "Time": BEGUN_MS // 1000 + 2},
        {**detail, **end, "id": found[1]["id"]},
    )
    assert len({each["id"] for each in found}) == 2
    assert all(len(each["id"]) == 32 for each in found)


def test_a_failure_has_error_and_cause() -> None:
    def fails(_event: Any) -> Any:
        raise ValueError("bad")

    platform, bus = announcing("A")
    platform.functions["A"] = fails
    platform.run(value=1)
    detail = bus.details[-1]
    assert (detail["status"], detail["error"], detail["output"], detail["outputDetails"]) == (
        "FAILED",
        "ValueError",
        None,
        None,
    )
    assert "bad" in detail["cause"]


LATE = "Execution has exceeded the max execution time"


@pytest.mark.parametrize(
    ("status", "outcome", "expected"),
    [
        (Status.FAILED, Failure("E", None), ("REDRIVABLE", None)),
        (Status.ABORTED, Failure(None, None), ("REDRIVABLE", None)),
        (Status.TIMED_OUT, Failure("States.Timeout", None), ("NOT_REDRIVABLE", LATE)),
        (Status.ABORTED, Failure(status_events.ABANDONED, "why"), ("NOT_REDRIVABLE", LATE)),
        (Status.SUCCEEDED, Success(1), ("NOT_REDRIVABLE", "Execution is SUCCEEDED and cannot be redriven")),
    ],
)
def test_an_end_tells_whether_a_redrive_may_follow(status: Status, outcome: Any, expected: Any) -> None:
    """As `redrive` decides by status and time."""
    platform, _ = announcing("A")
    platform.start(value=1)
    detail = json.loads(str(entry_of(platform.runtime(), change(outcome, status), None)["Detail"]))
    assert (detail["redriveStatus"], detail["redriveStatusReason"]) == expected
    assert (detail["redriveCount"], detail["redriveDate"]) == (0, None)


def test_the_fields_about_redrives_follow_those_of_earlier_releases() -> None:
    platform, bus = announcing("A")
    platform.run(value=1)
    fields = "id executionArn stateMachineArn name status startDate stopDate input inputDetails output outputDetails"
    expected = [
        *fields.split(),
        "error",
        "cause",
        "redriveStatus",
        "redriveStatusReason",
        "redriveCount",
        "redriveDate",
    ]
    assert [[*each] for each in bus.details] == [[*expected, "stateMachineVersionArn", "stateMachineAliasArn"]] * 2


def test_start_is_announced_before_user_code_and_an_end_after_its_commit() -> None:
    platform, bus = announcing("A")
    seen: list[Any] = []
    platform.functions["A"] = lambda event: seen.append([*bus.statuses]) or event
    put = bus.put

    def checked(entry: Any, timeout_ms: int) -> None:
        seen.append(platform.ending() is not None)
        put(entry, timeout_ms)

    platform.options["statuses"] = StatusEvents(put=checked)
    platform.run(value=1)
    assert seen == [False, ["RUNNING"], True]


def test_a_repeated_delivery_puts_the_same_event() -> None:
    platform, bus = announcing("A", "B")
    platform.start(value=1)
    (event,) = platform.sent
    platform.deliver_all()
    platform.clock.pass_seconds(60)
    platform.deliver(event)
    platform.start(value=1)
    assert bus.statuses == ["RUNNING", "SUCCEEDED", "SUCCEEDED", "RUNNING"]
    assert bus.entries[1] == bus.entries[2]
    assert bus.entries[0] == bus.entries[3]


def test_an_end_is_told_of_by_whoever_finds_it_when_its_delivery_died() -> None:
    platform, bus = announcing("A", "B")
    platform.start(value=1)
    (event,) = platform.sent
    statuses = platform.options.pop("statuses")  # the first delivery dies after its commit
    platform.deliver(event)
    platform.options["statuses"] = statuses
    platform.deliver(event)
    assert bus.statuses == ["RUNNING", "SUCCEEDED"]


def test_a_refused_event_fails_nothing_and_leaves_a_note() -> None:
    platform, bus = announcing("A")
    bus.refuses = 2
    assert platform.run(value=1) == Ending(Status.SUCCEEDED, Success(1))
    execution = Execution("e", BEGUN_MS)
    assert {*notes(platform)} == {note_key("w", execution, step) for step in (0, 1)}
    lines = [fields for message, fields in platform.logged if message == "not announced"]
    assert lines == [
        {"execution": "e", "status": status, "reason": "bus: ThrottlingException"}
        for status in ("RUNNING", "SUCCEEDED")
    ]


def test_a_note_lives_as_long_as_the_result() -> None:
    platform, bus = announcing("A")
    platform.options["result_retention_s"] = DEFAULT_RETENTION_S + 1000
    bus.refuses = 1
    platform.start(value=1)
    platform.clock.pass_seconds(DEFAULT_RETENTION_S + 999)
    assert notes(platform)
    platform.clock.pass_seconds(1)
    assert not notes(platform)


def test_bus_gets_a_third_of_the_time_left_and_at_most_five_seconds() -> None:
    platform, bus = announcing("A")
    platform.start("long")
    platform.options["remaining_ms"] = lambda: 3_002
    platform.start("short")
    assert bus.waits == [MAX_WAIT_MS, MAX_WAIT_MS, 1_000, 1_000]


@pytest.mark.parametrize("notes_first", [False, True])
def test_a_request_leaves_a_note_before_the_end_and_takes_it_back(notes_first: bool) -> None:  # noqa: FBT001
    platform, bus = announcing("A", "B", notes_first=notes_first)
    platform.start(value=1)
    seen: list[int] = []
    create, put = platform.memory.create, bus.put

    def creating(key: Key, item: Any, *, expires_at_s: int) -> Any:
        if "stops" not in key.sort and "stops" not in key.partition:  # the proof of the stop
            seen.append(len(notes(platform)) if "status" in item else -1)
        return create(key, item, expires_at_s=expires_at_s)

    def putting(entry: Any, timeout_ms: int) -> None:
        seen.append(10 + len(notes(platform)))
        put(entry, timeout_ms)

    platform.memory.create = creating
    platform.options["statuses"] = StatusEvents(put=putting, notes_first=notes_first)
    stop(platform.runtime(), Execution("e", BEGUN_MS), Failure("Enough", "for now"))
    assert seen == ([-1, 1, 11] if notes_first else [0, 10])
    assert not notes(platform)
    assert (bus.details[-1]["status"], bus.details[-1]["error"], bus.details[-1]["cause"]) == (
        "ABORTED",
        "Enough",
        "for now",
    )


def test_a_refused_event_of_a_request_keeps_its_note() -> None:
    platform, bus = announcing("A", "B", notes_first=True)
    platform.start(value=1)
    bus.refuses = 1
    stop(platform.runtime(), Execution("e", BEGUN_MS), Failure(None, None))
    assert notes(platform) == [note_key("w", Execution("e", BEGUN_MS), 2)]


def test_a_note_that_cannot_be_removed_fails_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    platform, bus = announcing("A", "B", notes_first=True)
    platform.start(value=1)

    def fails(*_: Any) -> None:
        raise StoreError("no answer")

    monkeypatch.setattr(status_events, "remove_note", fails)
    stop(platform.runtime(), Execution("e", BEGUN_MS), Failure(None, None))
    assert bus.statuses[-1] == "ABORTED"
    assert notes(platform)


def test_a_second_stop_tells_again_of_the_end_that_it_finds() -> None:
    platform, bus = announcing("A")
    platform.run(value=1)
    stop(platform.runtime(), Execution("e", BEGUN_MS), Failure("Late", None))
    assert bus.statuses == ["RUNNING", "SUCCEEDED", "SUCCEEDED"]
    assert bus.entries[1] == bus.entries[2]


def test_only_ends_have_notes_before_them() -> None:
    platform, _ = announcing("A", "B", notes_first=True)
    platform.start(value=1)
    assert not notes(platform)


def change(outcome: Any, status: Status = Status.SUCCEEDED) -> StatusChange:
    return StatusChange(Execution("e", BEGUN_MS), 3, BEGUN_MS + 7, status, outcome)


def sized(platform: Platform, given: int, returned: int) -> tuple[Any, int]:
    """Detail and size, with so many letters of input and output."""
    rt = platform.runtime()
    record = status_events.read_start_record("e", platform.memory.read([start_key("w", "e")])[start_key("w", "e")])
    text = entry_of(rt, change(Success("o" * returned)), replace(record, outcome=Success("i" * given)))["Detail"]
    return json.loads(text), len(text.encode())


def test_a_large_input_is_left_out_before_the_output() -> None:
    platform, _ = announcing("A")
    platform.start(value=1)
    _, rest = sized(platform, 0, 0)
    room = MAX_DETAIL_BYTES - rest
    whole, size = sized(platform, room - 10, 10)
    assert (size, whole["inputDetails"], whole["outputDetails"]) == (
        MAX_DETAIL_BYTES,
        {"included": True},
        {"included": True},
    )
    shorter, _ = sized(platform, room - 10, 11)
    assert (shorter["input"], shorter["inputDetails"], shorter["output"]) == (
        None,
        {"included": False},
        '"' + "o" * 11 + '"',
    )
    empty, size = sized(platform, 5, room + 100)
    assert (empty["input"], empty["output"], empty["outputDetails"]) == (None, None, {"included": False})
    assert size < 1_000


def test_an_absent_output_is_not_said_to_be_left_out() -> None:
    platform, _ = announcing("A")
    platform.start(value="i" * MAX_DETAIL_BYTES)
    rt = platform.runtime()
    record = status_events.read_start_record("e", platform.memory.read([start_key("w", "e")])[start_key("w", "e")])
    detail = json.loads(str(entry_of(rt, change(Failure("E", "c"), Status.FAILED), record)["Detail"]))
    assert (detail["input"], detail["inputDetails"], detail["outputDetails"]) == (None, {"included": False}, None)


def test_absent_output_beside_the_longest_cause_is_not_called_left_out() -> None:
    platform, _ = announcing("A")
    platform.start(value=1)
    cause = chr(0xD800) + chr(0x1F600) * (MAX_CAUSE_LENGTH - 1)  # half a character makes all others escapes
    entry = entry_of(platform.runtime(), change(Failure("E", cause), Status.FAILED), None)
    assert len(str(entry["Detail"]).encode()) > MAX_DETAIL_BYTES
    assert json.loads(str(entry["Detail"]))["outputDetails"] is None


def test_an_id_depends_on_execution_and_step_alone() -> None:
    one = change(Success(1))
    others = [one._replace(step=4), one._replace(execution=Execution("e", BEGUN_MS + 1))]
    assert event_id(ARN, one) == event_id(ARN, one._replace(at_ms=0, status=Status.FAILED, outcome=None))
    assert len({event_id(ARN, each) for each in (one, *others)} | {event_id(f"{ARN}f", one)}) == 4
    assert event_id("a", StatusChange(Execution("e", 1), 2, 3, Status.RUNNING)) == "91860f38112e2a1cb75e7607a42b81eb"


def test_an_expired_start_record_leaves_the_input_unknown() -> None:
    platform, bus = announcing("A")
    rt = platform.runtime()
    assert rt.statuses.announce(rt, change(Success(1)))
    (detail,) = bus.details
    assert (detail["id"], detail["inputDetails"]) == (event_id(ARN, change(Success(1))), {"included": False})


def test_the_event_of_a_start_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts an execution has its record."""
    platform, bus = announcing("A")
    platform.start(value=1)
    rt = platform.runtime()
    record = status_events.read_start_record("e", platform.memory.read([start_key("w", "e")])[start_key("w", "e")])
    monkeypatch.setattr(platform.memory, "read", None)
    rt.statuses.started(rt, record)
    assert bus.entries[0] == bus.entries[-1]


def test_the_input_is_not_that_of_another_execution_of_the_same_name() -> None:
    platform, bus = announcing("A")
    platform.run(value=1)
    rt = platform.runtime()
    rt.statuses.announce(rt, change(Success(1))._replace(execution=Execution("e", 5)))
    assert (bus.details[-1]["input"], bus.details[-1]["startDate"]) == (None, 5)


def test_a_deletion_is_no_end() -> None:
    platform, bus = announcing("A", "B")
    platform.start(value=1)
    (event,) = platform.sent
    platform.deliver_all()
    delete(platform.runtime(), "e")
    reply = [*bus.statuses]
    platform.clock.pass_seconds(QUIET_MS / 1000)
    with pytest.raises(ExecutionDeleted):
        platform.deliver(event)
    with pytest.raises(ExecutionDeleted):
        platform.start(value=1)
    assert bus.statuses == reply
    rt = platform.runtime()
    assert rt.statuses.announce(rt, change(Failure(DELETED, None)))
    assert bus.statuses == reply
    assert status_events.DELETED == DELETED
    assert status_events.ABANDONED == ABANDONED


def test_a_removed_note_is_gone() -> None:
    platform, _ = announcing("A")
    rt, key = platform.runtime(), note_key("w", Execution("e", BEGUN_MS), 1)
    rt.store.create(key, {"step": 1}, expires_at_s=10**12)
    remove_note(rt, key)
    assert not notes(platform)


def test_a_note_beside_large_items_is_removed_from_the_store_itself() -> None:
    platform, _ = announcing("A")
    large = LargeItems(platform.memory, MemoryObjects(), "w", 1_000)
    rt, key = replace(platform.runtime(), store=large), note_key("w", Execution("e", BEGUN_MS), 1)
    rt.store.create(key, {"step": 1}, expires_at_s=10**12)
    remove_note(rt, key)
    assert not notes(platform)


def test_names() -> None:
    assert (DETAIL_TYPE, status_events.SOURCE) == ("Unum Execution Status Change", "unum")
    assert (MAX_DETAIL_BYTES, MAX_WAIT_MS) == (253_952, 5_000)
    key = note_key("w", Execution("e", 12), 3)
    assert key.partition.startswith("w/announcements~")
    assert key.sort == "0000000000012/e#3"


def test_redrives_travel_as_text_among_the_routes() -> None:
    assert Redriven(2, 1_800_000_000_007).to_routes() == {"$redriven": "2 1800000000007"}
    assert Redriven.from_routes({"F": "arn", **Redriven(2, 7).to_routes()}) == Redriven(2, 7)
    assert Redriven().to_routes() == {}


@pytest.mark.parametrize("forged", ["", "2", "2 ", " 7", "two 7", "2 -7", "2 7 8"])
def test_forged_redrives_fail_no_end(forged: str) -> None:
    assert Redriven.from_routes({"$redriven": forged}) == Redriven()


def test_nothing_travels_with_an_execution_that_was_never_redriven() -> None:
    platform, _ = announcing("A", "B")
    platform.start(value=1)
    nudge(platform.runtime(), "e")
    assert [event.routes for event in platform.sent] == [{}, {}]


def test_a_removed_note_expires_at_a_whole_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """DynamoDB's time to live is a whole number; the store would write any other number as a text."""
    platform, _ = announcing("A")
    platform.clock.ms = BEGUN_MS + 500
    expiries: list[object] = []
    monkeypatch.setattr(platform.memory, "replace", lambda _key, _item, *, expires_at_s: expiries.append(expires_at_s))
    remove_note(platform.runtime(), note_key("w", Execution("e", BEGUN_MS), 1))
    assert repr(expiries) == f"[{BEGUN_MS // 1000}]"


def test_mark_of_a_deletion_is_no_end_while_the_start_record_is_kept() -> None:
    platform, bus = announcing("A")
    platform.run()
    bus.entries.clear()
    mark = change(Failure(DELETED, None), Status.FAILED)
    assert StatusEvents(put=bus.put).announce(platform.runtime(), mark)
    assert bus.entries == []


def test_execution_whose_input_is_too_large_is_announced() -> None:
    platform, bus = announcing("A")
    platform.start(value="x" * 400_000)
    platform.deliver_all()
    assert bus.statuses == ["RUNNING", "FAILED"]
