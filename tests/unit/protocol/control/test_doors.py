"""Requests at doors are told apart by one field, and an event without it is none of them."""

from typing import Any

import pytest

from unum_runtime.model.envelope import MARK
from unum_runtime.protocol.control import signal
from unum_runtime.protocol.control.doors import PAUSE, RESUME, Door, door_for
from unum_runtime.protocol.control.sharing import calling, remembered

KINDS: dict[Any, list[Any]] = {
    signal: [signal.request("e", "s", 1, id="i"), signal.request("e", "s", 1, id="i", key="k")],
    calling: [calling.request("A", 1), calling.question("A", "run")],
    remembered: [remembered.request(each) for each in ("list_remembered", "show_remembered", "forget_remembered")],
}
NONE: list[Any] = [
    None,
    5,
    [],
    {},
    {"control": "signal"},
    {MARK: 1},
    {MARK: 1, "control": "stop"},
    {MARK: 1, "describe": "e"},
]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_takes_its_own_requests_alone(kind: Any) -> None:
    for other, events in KINDS.items():
        assert [kind.is_request(event) for event in events] == [other is kind] * len(events)
    assert [kind.is_request(event) for event in NONE] == [False] * len(NONE)


@pytest.mark.parametrize("control", [PAUSE, RESUME])
def test_one_alias_takes_requests_to_pause_and_to_resume(control: str) -> None:
    assert door_for(control) is Door.PAUSE
