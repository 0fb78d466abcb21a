"""What a client tells of executions: frozen records, times in UTC."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase, Status, Success, to_text
from unum_runtime.model.ir import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """An execution that exists because `start` was called, now or before.

    Attributes:
        name: its name.
        started_at: when it was first started.
        is_new: whether this call created it.
    """

    name: str
    started_at: datetime
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """An execution as it is now.

    Attributes:
        name: its name.
        status: running, or how it ended.
        input: what it was started with; None where it was too large to be stored, which failed the execution.
        output: its result; None unless it succeeded.
        error: name of the error; None unless it failed, or where a Fail state names none.
        cause: the error's text for humans; None as `error` is.
        started_at: when it was started.
        stopped_at: when it ended; None while it runs.
    """

    name: str
    status: Status
    input: Json
    output: Json
    error: str | None
    cause: str | None
    started_at: datetime
    stopped_at: datetime | None

    @classmethod
    def of(cls, start: Checkpoint, last: Checkpoint | None) -> Self:
        """The execution that began with the record `start`, and whose last step at the top level is `last`."""
        ending = last.ending if last else None
        outcome = ending.outcome if ending else Success(None)
        failure = outcome if isinstance(outcome, Failure) else Failure(None, None)
        return cls(
            name=start.name.execution.name,
            status=ending.status if ending else Status.RUNNING,
            input=_value(start),
            output=outcome.value if isinstance(outcome, Success) else None,
            error=failure.error,
            cause=failure.cause,
            started_at=moment(start.committed_ms),
            stopped_at=moment(last.committed_ms) if last and last.ending else None,
        )


class StepStatus(StrEnum):
    """What a committed step says."""

    ENTERED = "ENTERED"
    """A fan-out was entered; nothing has run yet."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    COLLECTED = "COLLECTED"
    """It committed, and its value was collected when nobody could need it any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A committed step.

    Attributes:
        state: name of the state.
        index: which branch of each fan-out around it, outermost first, from 0; empty at the top level.
        attempt: which delivery of its event committed it, from 0, as far as that is known.
        duration_ms: how long user code ran.
        bytes: size of the committed value as JSON text; 0 where there is none.
        status: what it came to.
        committed_at: when.
        error: name of the error; None where there is none.
        checkpoint: everything that was committed.
    """

    state: str
    index: tuple[int, ...]
    attempt: int
    duration_ms: int
    bytes: int
    status: StepStatus
    committed_at: datetime
    error: str | None
    checkpoint: Checkpoint = field(repr=False)

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Self:
        """The step that committed `checkpoint`."""
        outcome = checkpoint.outcome
        return cls(
            state=checkpoint.state,
            index=tuple(frame.index for frame in checkpoint.name.frames),
            attempt=checkpoint.attempt,
            duration_ms=checkpoint.duration_ms,
            bytes=len(to_text(outcome.value).encode()) if isinstance(outcome, Success) else 0,
            status=_status(checkpoint),
            committed_at=moment(checkpoint.committed_ms),
            error=outcome.error if isinstance(outcome, Failure) else None,
            checkpoint=checkpoint,
        )


def moment(ms: int) -> datetime:
    """The time `ms` milliseconds after 1970 began."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def _value(start: Checkpoint) -> Json:
    return start.outcome.value if isinstance(start.outcome, Success) else None


def _status(checkpoint: Checkpoint) -> StepStatus:
    match checkpoint.outcome:
        case Failure():
            return StepStatus.FAILED
        case Collected():
            return StepStatus.COLLECTED
    return StepStatus.ENTERED if checkpoint.phase is Phase.ENTERED else StepStatus.SUCCEEDED
