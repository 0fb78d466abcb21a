"""Records of executions and steps for users: immutable, with times in UTC."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

from unum_client.deliveries import Delivery, to_datetime
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Collected, Failure, Phase, Status, Success
from unum_runtime.model.start_facts import attributes_in
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.timeline import failed_with


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """Result of a start: an execution, new or found.

    Attributes:
        name: execution name.
        started_at: time of its first start.
        is_new: True if this call created it.
    """

    name: str
    started_at: datetime
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkedFrom:
    """Origin of a fork.

    Attributes:
        execution: name of the original execution.
        node: state that the fork began with.
        visit: number of its visit in the original, from 1.
        is_finished: False while results of the original are being copied; the node has not been entered then.
    """

    execution: str
    node: str
    visit: int
    is_finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Execution with its current status.

    Attributes:
        name: execution name.
        status: running, or final status.
        input: input; None if it was too large to be stored, which failed the execution.
        output: result; None unless the execution succeeded.
        error: error name; None unless it failed, and for a Fail state without Error.
        cause: error text for humans; None as for `error`.
        started_at: start time.
        stopped_at: end time; None while it runs.
        forked_from: origin of a fork; None for other executions, and for forks made before this was recorded.
        attributes: attributes by name.
    """

    name: str
    status: Status
    input: Json
    output: Json
    error: str | None
    cause: str | None
    started_at: datetime
    stopped_at: datetime | None
    forked_from: ForkedFrom | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, start: Checkpoint, last: Checkpoint | None) -> Self:
        """Build the description from start record `start` and the last step `last` at the top level."""
        ending = last.ending if last else None
        # A neutral success gives a running execution neither output nor error.
        outcome = ending.outcome if ending else Success(None)
        failure = outcome if isinstance(outcome, Failure) else Failure(None, None)
        return cls(
            name=start.name.execution.name,
            status=ending.status if ending else Status.RUNNING,
            input=_value(start),
            output=outcome.value if isinstance(outcome, Success) else None,
            error=failure.error,
            cause=failure.cause,
            started_at=to_datetime(start.committed_ms),
            stopped_at=to_datetime(last.committed_ms) if last and last.ending else None,
            forked_from=_forked_from(start, last),
            attributes=attributes_in(start.about),
        )


class StepStatus(StrEnum):
    """Status of a committed step."""

    ENTERED = "ENTERED"
    """Entered fan-out; no branch has run yet."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"

    CAUGHT = "CAUGHT"
    """Failed step whose catcher continued the execution."""

    RETRIED = "RETRIED"
    """Failed fan-out that begins again; a Task's retries are in the step of its last attempt."""

    COLLECTED = "COLLECTED"
    """Committed step with a collected value: no later state could need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Committed step.

    Attributes:
        state: state name.
        index: branch index in each enclosing fan-out, outermost first, from 0; empty at the top level.
        attempt: number of retries before the attempt that committed the step.
        duration_ms: run time of user code in the delivery that committed; see `lasted_ms`.
        bytes: size of the committed value as JSON text; 0 without a value.
        status: status of the step.
        committed_at: commit time.
        error: error name, also of a caught or retried failure; None without an error.
        checkpoint: complete stored commit.
        delivery: delivery that committed the step, and its earlier attempts; None for fan-outs, which their
            branches commit.
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
    delivery: Delivery | None = None

    @property
    def lasted_ms(self) -> int:
        """Duration of the last attempt in milliseconds: of user code, or of waiting for an answer or a job."""
        return max(self.duration_ms, 0 if self.delivery is None else self.delivery.waited_ms)

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Self:
        """Build the step from its `checkpoint`."""
        outcome, failure = checkpoint.outcome, failed_with(checkpoint)
        return cls(
            state=checkpoint.state,
            index=tuple(frame.index for frame in checkpoint.name.frames),
            attempt=checkpoint.attempt,
            duration_ms=checkpoint.duration_ms,
            bytes=len(to_text(outcome.value).encode()) if isinstance(outcome, Success) else 0,
            status=_status(checkpoint),
            committed_at=to_datetime(checkpoint.committed_ms),
            error=failure.error if failure else None,
            checkpoint=checkpoint,
            delivery=Delivery.of(checkpoint),
        )


def _forked_from(start: Checkpoint, last: Checkpoint | None) -> ForkedFrom | None:
    origin = start.fork
    if origin is None:
        return None
    # Steps follow each other without gaps, so the last one tells; a stop record may be in place of the fork's own step.
    step = 0 if last is None else last.name.step - last.is_stop
    return ForkedFrom(
        execution=origin.execution.name, node=origin.node, visit=origin.visit, is_finished=step >= origin.step
    )


def _value(start: Checkpoint) -> Json:
    return start.outcome.value if isinstance(start.outcome, Success) else None


def _status(checkpoint: Checkpoint) -> StepStatus:
    match checkpoint.outcome:
        case Failure():
            return StepStatus.FAILED
        case Collected():
            return StepStatus.COLLECTED
    if checkpoint.continuation.caught is not None:
        return StepStatus.RETRIED if checkpoint.phase is Phase.RETRIED else StepStatus.CAUGHT
    return StepStatus.ENTERED if checkpoint.phase is Phase.ENTERED else StepStatus.SUCCEEDED
