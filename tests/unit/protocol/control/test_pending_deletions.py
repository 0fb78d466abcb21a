"""Sweeps request deletions again: which ones, when, and what an answer says of it."""

from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import InvokeError
from unum_runtime.model.list_index import FIRST, Kind
from unum_runtime.protocol.control import sweep as sweeps
from unum_runtime.protocol.control.deletions.delete import delete
from unum_runtime.protocol.control.deletions.deletion_marks import CLOSED, QUIET_MS, is_due, marker
from unum_runtime.protocol.control.operator_requests import answer, parse
from unum_runtime.protocol.control.sweep import Sweep
from unum_runtime.protocol.control.sweep_memory import has_sweeps
from unum_runtime.protocol.history.list_entries import Listed

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
LISTED = {"list": "w/REDRIVEN~0", "list_at": "1800000000000/e"}


@pytest.fixture
def platform() -> Platform:
    made = Platform.of(chain("A"), A=lambda event: event)
    made.run("e", 1)
    return made


def sweep(platform: Platform, asked: list[str], *, silent_ms: int = 1, fails: bool = False, after: str = FIRST) -> None:
    def ask(event: Any) -> Any:
        asked.append(f"{event['control']} {event['execution']}")
        if fails:
            raise InvokeError("no answer")
        return answer(platform.runtime(), parse(event), None)

    request, retention_s = Sweep(silent_ms=silent_ms, nudges=True, after=after), platform.runtime().retention_s
    sweeps.sweep(platform.runtime(), platform.memory, request, ask, lambda _: retention_s)


def pending(platform: Platform) -> list[str]:
    return [*Listed(platform.memory, "w").oldest(Kind.REDRIVEN)]


@pytest.mark.parametrize(
    ("mark", "due"),
    [
        ({**marker(1_000), **LISTED}, True),
        ({**marker(1_001), **LISTED}, False),
        ({**marker(0), **LISTED, CLOSED: 1_000}, True),
        ({**marker(0), **LISTED, CLOSED: 1_001}, False),
        (marker(0), False),
        ({"status": "FAILED", "at": 0, "error": '"E"', **LISTED}, False),
        ({}, False),
    ],
)
def test_deletion_is_due_when_no_delivery_beside_it_runs(mark: Any, *, due: bool) -> None:
    assert is_due(mark, 1_000 + QUIET_MS) is due


def test_sweep_requests_a_deletion_once_more_and_no_more(platform: Platform) -> None:
    asked: list[str] = []
    first = delete(platform.runtime(), "e")
    assert len(pending(platform)) == 1
    platform.clock.ms += QUIET_MS - 1
    sweep(platform, asked)
    assert asked == []
    platform.clock.ms += 1
    sweep(platform, asked)
    assert (asked, pending(platform)) == (["delete e"], [])
    sweep(platform, asked)
    assert asked == ["delete e"]
    assert delete(platform.runtime(), "e").deleted_ms == first.deleted_ms, "a person may still ask"


def test_request_of_a_person_ends_it_as_well(platform: Platform) -> None:
    asked: list[str] = []
    delete(platform.runtime(), "e")
    platform.clock.ms += QUIET_MS
    delete(platform.runtime(), "e")
    sweep(platform, asked)
    assert (asked, pending(platform)) == ([], [])


def test_error_leaves_a_deletion_to_the_next_sweep_and_keeps_no_other(platform: Platform) -> None:
    asked: list[str] = []
    platform.run("f", 1)
    for name in ("e", "f"):
        delete(platform.runtime(), name)
    platform.clock.ms += QUIET_MS
    sweep(platform, asked, fails=True)
    assert asked == ["delete e", "delete f"]
    assert ("deleted again", {"execution": "e", "reason": "no answer"}) in platform.logged
    sweep(platform, asked)
    assert (asked[2:], pending(platform)) == (["delete e", "delete f"], [])
    assert platform.logged.count(("deleted again", {"execution": "f"})) == 1


def test_deletion_of_a_young_execution_waits_for_a_later_sweep(platform: Platform) -> None:
    asked: list[str] = []
    delete(platform.runtime(), "e")
    platform.clock.ms += QUIET_MS
    sweep(platform, asked, silent_ms=HOUR_MS)
    assert asked == []
    platform.clock.ms += HOUR_MS
    sweep(platform, asked, silent_ms=HOUR_MS)
    assert asked == ["delete e"]


def test_answer_says_if_sweeps_make_the_second_request(platform: Platform) -> None:
    assert not has_sweeps(platform.runtime())
    sweep(platform, [])
    assert has_sweeps(platform.runtime())
    (later,) = [each for each in delete(platform.runtime(), "e").remains if "results of deliveries" in each.what]
    assert later.what == "results of deliveries that ran when it was deleted: the next sweep deletes them"
    platform.clock.ms += DAY_MS
    assert not has_sweeps(platform.runtime())


def test_second_request_that_comes_early_leaves_the_rest_to_a_sweep(platform: Platform) -> None:
    asked: list[str] = []
    for _ in range(2):
        delete(platform.runtime(), "e")
    platform.clock.ms += QUIET_MS
    sweep(platform, asked)
    assert (asked, pending(platform)) == (["delete e"], [])


def test_last_request_leaves_nothing_of_the_entry_in_the_mark(platform: Platform) -> None:
    for _ in range(2):
        delete(platform.runtime(), "e")
        platform.clock.ms += QUIET_MS
    (mark,) = (item for item, _ in platform.memory._items.values() if CLOSED in item)
    assert mark.keys().isdisjoint(LISTED)


def test_rest_of_a_sweep_asks_for_no_deletion_before_its_place(platform: Platform) -> None:
    asked: list[str] = []
    delete(platform.runtime(), "e")
    platform.clock.ms += QUIET_MS
    (before,) = pending(platform)
    sweep(platform, asked, after=before)
    assert asked == []
    sweep(platform, asked)
    assert asked == ["delete e"]
