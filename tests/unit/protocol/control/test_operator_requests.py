"""Requests of operators as they arrive: what is taken for one, what it means, and what is said of a malformed one."""

from typing import Any

import pytest

from tests.unit.protocol.platform import exactly
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import MARK
from unum_runtime.model.naming import NAME_RULE
from unum_runtime.protocol.control.fork import ForkRequest
from unum_runtime.protocol.control.operator_requests import (
    Control,
    On,
    Request,
    ValidationException,
    is_request,
    parse,
    request,
)

FORK = {"node": "A", "name": "f"}
FIELDS = f'"node", the name of a state; "name", that of the new execution, {NAME_RULE}; and "visit", a number from 1 on'


@pytest.mark.parametrize(
    ("control", "content", "expected"),
    [
        (Control.NUDGE, {}, {}),
        (Control.WHY, {"silent_ms": 5}, {"silent_ms": 5}),
        (Control.STOP, {"error": "E", "cause": "c"}, {"failure": Failure("E", "c")}),
        (Control.REDRIVE, {"on": "current"}, {"on": On.CURRENT}),
        (Control.NUDGE, {"handed_on": True}, {"handed_on": True}),
        (Control.NUDGE, {"handed_on": 1}, {"handed_on": False}),
        (Control.FORK, FORK, {"fork": ForkRequest(execution="e", name="f", node="A")}),
        (
            Control.FORK,
            {**FORK, "visit": 2, "input": None},
            {"fork": ForkRequest(execution="e", name="f", node="A", visit=2, value=Success(None))},
        ),
        (Control.NUDGE, FORK, {"fork": None}),
    ],
)
def test_a_request_says_what_its_sender_wrote(control: Control, content: dict[str, Any], expected: Any) -> None:
    common = {"failure": Failure(None, None), "fork": None, "handed_on": False, "silent_ms": 0, "on": None}
    assert parse(request(control, "e", **content)) == Request(control=control, execution="e", **common | expected)


@pytest.mark.parametrize(
    ("event", "is_one"),
    [
        ({MARK: 1, "control": "nudge"}, True),
        ({MARK: 1}, False),
        ({"control": "nudge"}, False),
        ([MARK, "control"], False),
        (None, False),
    ],
)
def test_a_request_has_both_marks(event: Any, *, is_one: bool) -> None:
    assert is_request(event) is is_one


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({MARK: 2}, f"event.{MARK}: expected wire version 1, got 2"),
        ({"control": "jump"}, f"control: expected one of {[*map(str, Control)]}, got 'jump'"),
        ({"execution": 5}, "execution: expected the name of an execution, got 5"),
        ({"execution": None}, "execution: expected the name of an execution, got None"),
        ({"error": 5}, "error, cause: expected texts or nothing, got 5 and None"),
        ({"cause": []}, "error, cause: expected texts or nothing, got None and []"),
        ({"silent_ms": -1}, "silent_ms: expected milliseconds, a whole number from 0 on, got -1"),
        ({"silent_ms": True}, "silent_ms: expected milliseconds, a whole number from 0 on, got True"),
        ({"on": "newest"}, f"on: expected one of {[*map(str, On)]}, or nothing, got 'newest'"),
        ({"control": "fork"}, f"expected {FIELDS}; got ['$unum', 'control', 'execution']"),
        (
            {"control": "fork", **FORK, "name": "a b"},
            f"expected {FIELDS}; got {sorted([*FORK, MARK, 'control', 'execution'])}",
        ),
        ({"control": "fork", "node": "A"}, f"expected {FIELDS}; got {sorted([MARK, 'control', 'execution', 'node'])}"),
    ],
)
def test_a_malformed_request_is_refused_by_its_field(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationException, match=exactly(said)):
        parse({**request(Control.NUDGE, "e"), **change})


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(
        ValidationException, match=exactly(f'expected an object with "{MARK}", "control" and "execution"')
    ):
        parse({"control": "nudge"})
