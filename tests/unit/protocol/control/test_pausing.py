"""Pauses and resumptions, as requests ask for them, and what they leave in the table."""

from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain, exactly
from unum_runtime.errors import UnumError
from unum_runtime.model.envelope import MARK
from unum_runtime.protocol.control import pausing
from unum_runtime.protocol.control.pausing import KEPT_S, MAX_REASON, resumed_ms
from unum_runtime.protocol.delivery.pause import read_pause


def platform() -> Platform:
    return Platform.of(chain("A"), A=lambda event: event)


def ask(on: Platform, control: str, **fields: Any) -> Any:
    return pausing.answer(on.runtime(), pausing.request(control, **fields))


def resumed(on: Platform) -> int:
    return resumed_ms(on.memory, "w")


@pytest.mark.parametrize("control", ["pause", "resume", "stop"])
def test_requests_to_pause_and_to_resume_are_recognized(control: str) -> None:
    assert pausing.is_request(pausing.request(control)) is (control != "stop")
    assert not pausing.is_request({"control": control})


def test_late_resumption_ends_the_pause_that_it_finds() -> None:
    """Between its look and its write, another one resumes and pauses again."""
    paused = platform()
    ask(paused, "pause", reason="first")
    record, done = pausing._record, list[int]()

    def late(rt: Any, number: int, item: Any) -> bool:
        if not done:
            done.append(number)
            ask(paused, "resume")
            ask(paused, "pause", reason="second")
        return record(rt, number, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pausing, "_record", late)
        ask(paused, "resume")
    assert read_pause(paused.memory, "w") is None


def test_a_workflow_tells_since_when_it_is_resumed() -> None:
    paused = platform()
    assert resumed(paused) == 0
    ask(paused, "pause", reason="why")
    assert resumed(paused) == 0
    paused.clock.pass_seconds(5)
    ask(paused, "resume")
    assert resumed(paused) == paused.clock.ms
    ask(paused, "pause", reason="again")
    assert resumed(paused) == 0


def test_records_are_numbered_in_a_row_and_kept_for_ten_years() -> None:
    paused = platform()
    for control in ("pause", "resume", "pause", "resume"):
        ask(paused, control, **({"reason": "why"} if control == "pause" else {}))
    assert [key.sort for key in paused.memory._items] == [f"{number:09d}" for number in (1, 2, 3, 4)]
    expiries = {expires_at for _, expires_at in paused.memory._items.values()}
    assert expiries == {paused.clock.ms // 1000 + KEPT_S}
    assert (KEPT_S, MAX_REASON) == (10 * 365 * 24 * 3600, 1_000)


@pytest.mark.parametrize("reason", ["x", "x" * 1_000])
def test_a_reason_of_any_allowed_length_is_taken(reason: str) -> None:
    assert ask(platform(), "pause", reason=reason)["pause"]["reason"] == reason


@pytest.mark.parametrize("reason", ["", "x" * 1_001, "\ud800", 5, None])
def test_another_reason_is_refused(reason: Any) -> None:
    with pytest.raises(UnumError, match="reason: expected a text of 1 to 1000 characters"):
        ask(platform(), "pause", reason=reason)


@pytest.mark.parametrize(
    ("control", "fields", "expected"),
    [("pause", {}, ["control", "reason", MARK]), ("resume", {"x": 1}, ["control", MARK])],
)
def test_other_fields_are_named(control: str, fields: dict[str, Any], expected: list[str]) -> None:
    found = sorted({MARK, "control", *fields})
    with pytest.raises(UnumError, match=exactly(f"{control}: expected the fields {sorted(expected)}, got {found}")):
        ask(platform(), control, **fields)


@pytest.mark.parametrize("control", ["pause", "resume"])
def test_request_of_another_wire_version_is_refused(control: str) -> None:
    with pytest.raises(UnumError, match="wire version"):
        pausing.answer(platform().runtime(), {**pausing.request(control, reason="why"), MARK: 7})


def test_resumption_of_what_is_not_paused_writes_nothing() -> None:
    running = platform()
    assert ask(running, "resume") == {"pause": None}
    assert (resumed(running), running.memory._items) == (0, {})


def test_of_two_pauses_at_once_the_first_reason_stays() -> None:
    paused, record = platform(), pausing._record

    def late(rt: Any, number: int, item: Any) -> bool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pausing, "_record", record)
            ask(paused, "pause", reason="first")
        return record(rt, number, item)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pausing, "_record", late)
        assert ask(paused, "pause", reason="second")["pause"]["reason"] == "first"
