"""One field identifies requests at the control function's aliases."""

from typing import Any

import pytest

from unum_runtime.features.memo import calling, remembered
from unum_runtime.features.signals import signal
from unum_runtime.model.envelope import MARK
from unum_runtime.model.naming import control_alias_name
from unum_runtime.protocol.control.control_aliases import ControlAlias, alias_for, find_alias, has_ambiguous_aliases

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
    ControlAlias.STOP: ["stop"],
    ControlAlias.REDRIVE: ["redrive"],
    ControlAlias.FORK: ["fork"],
    ControlAlias.NUDGE: ["nudge", "why", "definition"],
    ControlAlias.DELETE: ["delete"],
    ControlAlias.PAUSE: ["pause", "resume"],
    ControlAlias.MEMO: ["list_remembered", "show_remembered", "forget_remembered"],
    ControlAlias.SIGNAL: ["signal"],
    ControlAlias.SWEEP: ["sweep"],
}


@pytest.mark.parametrize(("alias", "control"), [(alias, each) for alias, taken in TAKEN.items() for each in taken])
def test_each_alias_takes_its_own_requests(alias: ControlAlias, control: str) -> None:
    assert alias_for(control) is alias
    assert find_alias(control_alias_name(alias, "w"), ["v", "w"]) == (alias, "w")


def test_no_alias_takes_calls_and_unknown_requests() -> None:
    assert {*TAKEN} == {*ControlAlias} - {ControlAlias.OPERATE}, "which takes all"
    assert alias_for("call") is alias_for("x") is alias_for(None) is None
    assert find_alias("x-w", ["w"]) is None


@pytest.mark.parametrize(
    ("workflow", "other", "are_ambiguous"),
    [("x", "events-x", True), ("events-x", "x", True), ("intake-x", "x", True), ("a-x", "x", False), ("x", "y", False)],
)
def test_names_that_make_aliases_ambiguous_are_found(workflow: str, other: str, *, are_ambiguous: bool) -> None:
    assert has_ambiguous_aliases(workflow, ["z", other]) is are_ambiguous
