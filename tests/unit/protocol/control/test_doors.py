"""One field identifies requests at the control function's aliases."""

from typing import Any

import pytest

from unum_runtime.features.memo import calling, remembered
from unum_runtime.features.signals import signal
from unum_runtime.model.envelope import MARK
from unum_runtime.model.naming import door_alias
from unum_runtime.protocol.control.doors import Door, door_for, door_of

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


TAKEN = {
    Door.STOP: ["stop"],
    Door.REDRIVE: ["redrive"],
    Door.FORK: ["fork"],
    Door.NUDGE: ["nudge", "why", "definition"],
    Door.DELETE: ["delete"],
    Door.PAUSE: ["pause", "resume"],
    Door.MEMO: ["list_remembered", "show_remembered", "forget_remembered"],
    Door.SIGNAL: ["signal"],
    Door.SWEEP: ["sweep"],
}


@pytest.mark.parametrize(("door", "control"), [(door, each) for door, taken in TAKEN.items() for each in taken])
def test_each_alias_takes_its_own_requests(door: Door, control: str) -> None:
    assert door_for(control) is door
    assert door_of(door_alias(door, "w"), "w") is door


def test_no_alias_takes_calls_and_unknown_requests() -> None:
    assert {*TAKEN} == {*Door}
    assert door_for("call") is door_for("x") is door_for(None) is door_of("x", "w") is None
