"""Requests of responders: what each form does, that a repeated one gets the same answer, and what is refused."""

from typing import Any

import pytest

from tests.unit.protocol.callback_platform import Asking, asking
from unum_runtime.json_text import MAX_DEPTH
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import MARK
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.protocol.requests.respond import answer, is_request, request

OVER = {"error": "TaskTimedOut", "message": "the Task does not wait any more: it has a result, or its time is over"}
ALLOWED = f"output: expected JSON text of at most {MAX_OUTCOME_BYTES} bytes, got "


def not_taken(why: str) -> dict[str, str]:
    return {"error": "InvalidOutput", "message": f"{ALLOWED}{why}"}


@pytest.fixture
def waiting() -> Asking:
    return asking(HeartbeatSeconds=60)


def said(waiting: Asking, **event: Any) -> Any:
    return answer(waiting.platform.runtime(), {MARK: 1, **event})


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        ({"output": '{"a": 1}'}, Success({"a": 1})),
        ({"output": "null"}, Success(None)),
        ({"error": "No", "cause": "because"}, Failure("No", "because")),
        ({"error": None, "cause": None}, Failure(None, None)),
    ],
)
def test_an_answer_is_the_outcome_of_the_task_and_may_be_repeated(
    waiting: Asking, content: dict[str, Any], outcome: Any
) -> None:
    token = waiting.begun()
    for _ in range(2):
        assert said(waiting, token=token, request="one", **content) == {}
    assert said(waiting, token=token, request="two", **content) == OVER
    waiting.platform.deliver_all()
    assert waiting.outcome == outcome
    assert said(waiting, token=token, request="two", **content) == OVER


def test_a_heartbeat_keeps_the_task_waiting(waiting: Asking) -> None:
    token = waiting.begun()
    for _ in range(3):
        waiting.pass_time(50)
        assert said(waiting, token=token, heartbeat=True) == {}
    assert waiting.outcome is None
    waiting.pass_time(130)
    assert waiting.outcome == Failure("States.HeartbeatTimeout", None)
    assert said(waiting, token=token, heartbeat=True) == OVER


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("NaN", "NaN is not JSON; use a finite number, a text or null"),
        ("[-Infinity]", "-Infinity is not JSON; use a finite number, a text or null"),
        ("[" * 100_000, f"nested too deeply; at most {MAX_DEPTH} levels of arrays and objects are allowed"),
        ("1e999", "the number 1e999 is beyond the range of a double, ±1.8e308; write it as a text"),
        ('{"amount": -1e999}', "the number -1e999 is beyond the range of a double, ±1.8e308; write it as a text"),
        ('["\\ud800"]', "a text contains a lone surrogate, which is not Unicode; send whole characters"),
    ],
)
def test_output_that_is_no_json_is_refused_and_token_stays_answerable(waiting: Asking, output: str, why: str) -> None:
    token = waiting.begun()
    assert said(waiting, token=token, output=output) == not_taken(why)
    assert waiting.outcome is None
    assert said(waiting, token=token, output="[1]") == {}
    waiting.platform.deliver_all()
    assert waiting.outcome == Success([1])


@pytest.mark.parametrize(("size", "is_taken"), [(MAX_OUTCOME_BYTES, True), (MAX_OUTCOME_BYTES + 1, False)])
def test_an_output_is_as_large_as_an_outcome_may_be(waiting: Asking, size: int, *, is_taken: bool) -> None:
    token = waiting.begun()
    assert said(waiting, token=token, output=f'"{"x" * (size - 2)}"') == (
        {} if is_taken else not_taken(f"{size} bytes")
    )


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"token": "t", "request": 5}, "request: expected a text, or nothing, got 5"),
        *(
            (
                {"token": "t", "output": "1", name: "\ud800"},
                f"{name}: expected a text without lone surrogates, got '\\ud800'",
            )
            for name in ("request", "worker", "token")
        ),
        ({MARK: 2, "token": "t"}, f"event.{MARK}: expected wire version 1, got 2"),
    ],
)
def test_a_malformed_request_is_refused_by_its_field(waiting: Asking, event: dict[str, Any], message: str) -> None:
    refused = said(waiting, **event)
    assert refused == {"error": "ValidationException", "message": message}


@pytest.mark.parametrize(
    "event", [{"token": "t"}, {"token": 5, "output": "1"}, {"token": "t", "output": 1}, {"token": "t", "heartbeat": 1}]
)
def test_a_request_of_no_known_form_is_refused_with_its_fields(waiting: Asking, event: dict[str, Any]) -> None:
    refused = said(waiting, **event)
    assert refused["message"].startswith('expected "token" and one of ')
    assert refused["message"].endswith(f"; got {sorted([MARK, *event])}")


@pytest.mark.parametrize(
    ("event", "is_one"),
    [
        ({MARK: 1, "token": "t"}, True),
        ({MARK: 1, "describe": "e"}, False),
        ({MARK: 1, "register": "e"}, False),
        ({MARK: 1, "workflow": "w"}, False),
        ({"token": "t"}, False),
        (["token"], False),
    ],
)
def test_a_request_has_the_mark_and_a_kind(event: Any, *, is_one: bool) -> None:
    assert is_request(event) is is_one


def test_a_request_that_will_not_be_repeated_has_no_name() -> None:
    assert request("t", heartbeat=True) == {MARK: 1, "token": "t", "heartbeat": True}
    assert request("t", heartbeat=True, request_id="r")["request"] == "r"
