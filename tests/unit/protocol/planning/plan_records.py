"""Checkpoints of one execution, as its deliveries commit them."""

from typing import Any

from unum_runtime.model.checkpoint import Checkpoint, Collected, Continuation, Failure, Outcome, Phase, Success
from unum_runtime.model.envelope import Value
from unum_runtime.model.naming import Execution, Frame, Name
from unum_runtime.model.states import Json

STARTED, NOW = 100_000, 103_000
"""Milliseconds since 1970: the start of the execution, and the commit of each checkpoint but the start record."""

E = Execution("e", STARTED)
BOOM = Failure("Boom", "why")


def at(step: int, *frames: Frame) -> Name:
    return Name(E, frames, step)


FIRST = at(1)


def left(state: str, outcome: Outcome | Collected, *, name: Name = FIRST, **continuation: Any) -> Checkpoint:
    """An outcome that `state` came to, which a continuation follows where any is given."""
    return committed(state, Phase.LEFT, outcome, name, **continuation)


def entered(state: str, value: Json, *, name: Name = FIRST, **continuation: Any) -> Checkpoint:
    """The input of `state`."""
    return committed(state, Phase.ENTERED, Success(value), name, **continuation)


def retried(state: str, value: Json, **continuation: Any) -> Checkpoint:
    """The input of a fan-out that failed and is retried."""
    return committed(state, Phase.RETRIED, Success(value), at(1), **continuation)


def committed(state: str, phase: Phase, outcome: Outcome | Collected, name: Name, **continuation: Any) -> Checkpoint:
    return Checkpoint(
        name=name,
        state=state,
        phase=phase,
        outcome=outcome,
        digest="",
        committed_ms=NOW,
        continuation=Continuation(**continuation),
    )


def value(content: Json, entered_ms: int = NOW, **variables: Json) -> Value:
    return Value(Success(content), entered_ms, variables)


def frame(index: int, size: int, iteration: int = 2) -> Frame:
    return Frame("M", iteration, 0, index, size)
