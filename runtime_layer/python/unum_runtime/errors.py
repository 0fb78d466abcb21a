"""Errors of the runtime, classed by their consequence.

UnumError
├── DefinitionError       invalid definition, with all its problems
├── StatesError           failure of the state that raised it; becomes its committed outcome
├── RefusedDelivery       stale event; dropped and not delivered again
│   ├── StartRefused
│   ├── ExecutionDeleted
│   └── OutcomeCollected
├── NotOurEvent           event of another workflow or version; the delivery fails loudly
├── InconsistentHistory   stored items contradict the event; the delivery fails loudly
├── StoreError            failed store operation; raised so that Lambda delivers the event again
├── InvokeError           failed invocation of the next function; raised for the same reason
├── LeaseHeldError        work under another delivery's lease; the delivery schedules its event for later
│   └── LeaseStolenError  start taken over by another client; raised where no timer can keep the event
└── ClientError           error that the caller of the client can correct
    ├── ValidationException
    ├── InvalidExecutionInput
    ├── InvalidName
    ├── ExecutionAlreadyExists
    ├── ExecutionDoesNotExist
    ├── StartsPaused
    ├── ExecutionNotRedrivable
    ├── NodeNotForkable
    ├── DefinitionNotStored
    ├── InvalidToken
    ├── InvalidOutput
    ├── TaskTimedOut
    ├── ActivityDoesNotExist
    ├── CallFailed
    └── WaitTimedOut
"""

from unum_runtime.cold_start.records import dataclass


class UnumError(Exception):
    """Base class of this project's errors."""


@dataclass(frozen=True)
class Problem:
    """Problem of a definition.

    Attributes:
        path: JSON path of the problem, for example ``$.States.Resize.Next``.
        message: found value, allowed values, and a remedy.
        feature: name of a valid ASL feature without support; None for a mistake.
    """

    path: str
    message: str
    feature: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class DefinitionError(UnumError):
    """Definition that does not compile.

    Attributes:
        problems: all problems in the order of the definition; never empty.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


class StatesError(UnumError):
    """Failure of a state with an error name of the Amazon States Language.

    Attributes:
        error: error name, for example ``States.Runtime``.
        cause: explanation for humans.
    """

    def __init__(self, error: str, cause: str) -> None:
        self.error = error
        self.cause = cause
        super().__init__(f"{error}: {cause}")


class RefusedDelivery(UnumError):
    """Event without effect, refused on every delivery."""


class OtherDefinition(UnumError):
    """Start of an execution that runs on another definition than this function's own.

    Attributes:
        digest: digest of that definition.
    """

    def __init__(self, execution_name: str, digest: str) -> None:
        self.digest = digest
        super().__init__(f"execution {execution_name!r}: expected the runtime of IR {digest}")


class StartRefused(RefusedDelivery):
    """Start request without input, and without a stored execution that could answer it; nothing is lost."""


class ExecutionDeleted(RefusedDelivery):
    """Event of an execution that was deleted: it has no effect, and its content is kept nowhere."""


class OutcomeCollected(RefusedDelivery):
    """Event with a collected outcome: all following outcomes are committed."""


class NotOurEvent(UnumError):
    """Event other than an envelope for this function's workflows and version."""


class InconsistentHistory(UnumError):
    """Contradiction between stored checkpoints and an event, which forbids further results."""


class StoreError(UnumError):
    """Failed or throttled store operation, or lost item."""


class StoreDenied(StoreError):
    """Call of the store for which a deployment removed the role's permission."""


class NoIndex(StoreError):
    """Missing index of executions in the table."""


class InvokeError(UnumError):
    """Failed invocation of a function."""


class NoRoute(InvokeError):
    """Missing route to a function, or missing timer for a delayed event."""


class RouteGone(InvokeError):
    """Route that a deployment removed: the role lost its permission, or the function or queue is deleted.

    Attributes:
        place: address of the function, or URL of the queue.
        is_deleted: True if nothing exists at `place`.
    """

    def __init__(self, place: str, error: Exception, *, is_deleted: bool) -> None:
        self.place, self.is_deleted = place, is_deleted
        super().__init__(f"{place}: {error}")


class LeaseHeldError(UnumError):
    """Work under another delivery's lease."""


class LeaseStolenError(LeaseHeldError):
    """Start of an execution under a later client's lease: the last client wins."""


class ClientError(UnumError):
    """Error under the client caller's control."""


class ValidationException(ClientError):
    """Request in none of the forms that an alias takes."""


class InvalidExecutionInput(ClientError):
    """Execution input other than JSON."""


class InvalidName(ClientError):
    """Execution name other than 1 to 80 characters from ``A-Z a-z 0-9 - _``."""


class ExecutionAlreadyExists(ClientError):
    """Execution name of an earlier start with another input."""


class ExecutionDoesNotExist(ClientError):
    """Execution name without a stored execution: unknown, or past its retention."""


class StartsPaused(ClientError):
    """Start of an execution while the workflow is paused; nothing was started."""


class ExecutionNotRedrivable(ClientError):
    """Execution without a failure, or certain to fail again."""


class ExecutionNotDeletable(ClientError):
    """Execution that runs: only what has ended can be deleted."""


class NodeNotForkable(ClientError):
    """Cannot fork here: the execution never reached this state, or the state is inside a Map or Parallel."""


class DefinitionNotStored(ClientError):
    """Definition without a record in the store: none was written, or its retention has passed."""


class InvalidToken(ClientError):
    """Task token without a Task in the workflow."""


class SignalRefused(ClientError):
    """Signal that no wait of the execution can get; the text says why."""


class InvalidOutput(ClientError):
    """Task output over the size limit, or invalid JSON text."""


class TaskTimedOut(ClientError):
    """Task with a result already, or past its time limit."""


class ActivityDoesNotExist(ClientError):
    """Activity name unknown to this client."""


class WaitTimedOut(ClientError):
    """Execution still running after the wait."""


class TimeIsShort(UnumError):
    """Request that needs another delivery to finish; repeat the same request."""


class CallFailed(ClientError):
    """Failed run of a call.

    Attributes:
        status: status of the run.
        error: error name, if any.
        cause: cause, if any.
    """

    def __init__(self, state: str, status: str, error: str | None, cause: str | None) -> None:
        self.status, self.error, self.cause = status, error, cause
        super().__init__(f"call of {state!r}: {status}: {error}: {cause}")
