"""Questions at the describe alias, when the function that answers fails."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from unum_client.past_reader import ATTEMPTS, AskedDescriptions
from unum_runtime.errors import ExecutionDoesNotExist, InvokeError, RouteGone
from unum_runtime.model.checkpoint import Status

UNKNOWN = {"error": "ExecutionDoesNotExist", "message": "no execution"}


@dataclass
class Answers:
    """A function that answers or fails, as it is told to."""

    given: Iterator[Any]
    asked: int = 0

    def call(self, address: str, payload: bytes) -> Any:  # noqa: ARG002 - the interface
        self.asked += 1
        answer = next(self.given)
        if isinstance(answer, Exception):
            raise answer
        return answer


def asking(*answers: Any) -> tuple[AskedDescriptions, Answers]:
    caller = Answers(iter(answers))
    return AskedDescriptions(caller=caller, describe_alias="describe-Flow"), caller


def test_a_question_is_asked_again_when_the_function_dies() -> None:
    descriptions, caller = asking(*[InvokeError("killed")] * (ATTEMPTS - 1), {"Status": "RUNNING"})
    assert descriptions.status("e") is Status.RUNNING
    assert caller.asked == ATTEMPTS


def test_a_function_that_never_answers_is_an_error() -> None:
    descriptions, caller = asking(*[InvokeError("killed")] * ATTEMPTS)
    with pytest.raises(InvokeError, match="killed"):
        descriptions.status("e")
    assert caller.asked == ATTEMPTS


@pytest.mark.parametrize(
    ("answer", "error"),
    [(UNKNOWN, ExecutionDoesNotExist), (RouteGone("describe-Flow", OSError("no right"), is_deleted=False), RouteGone)],
)
def test_an_answer_is_an_answer(answer: Any, error: type[Exception]) -> None:
    descriptions, caller = asking(answer)
    with pytest.raises(error):
        descriptions.describe("e")
    assert caller.asked == 1
