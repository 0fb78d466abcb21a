"""Every error of the runtime, classed by its consequence.

UnumError
├── DefinitionError       the definition cannot become a workflow; carries every problem found
├── StatesError           fails the state that raised it; becomes its committed outcome
├── RefusedDelivery       the event is dropped and not delivered again: nothing can come of it
├── NotOurEvent           the event does not come from this version of this workflow; the delivery fails loudly
├── InconsistentHistory   what is stored contradicts the event; the delivery fails loudly
├── StoreError            the store did not answer as it must; raised so that Lambda delivers the event again
├── InvokeError           a next function could not be invoked; raised for the same reason
├── LeaseHeldError        somebody else is at this work just now; raised so that Lambda delivers the event again, later
│   └── LeaseStolenError  somebody else has taken over the start of this execution
└── ClientError           the caller of the client can mend it
    ├── InvalidExecutionInput
    ├── InvalidName
    ├── ExecutionAlreadyExists
    ├── ExecutionDoesNotExist
    ├── ExecutionNotRedrivable
    ├── NodeNotForkable
    ├── InvalidToken
    ├── InvalidOutput
    ├── TaskTimedOut
    ├── ActivityDoesNotExist
    └── WaitTimedOut
"""

from unum_runtime.cold_start.records import dataclass


class UnumError(Exception):
    """Base of all errors that this project raises on purpose."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a definition.

    Attributes:
        path: JSON path of the place, for example ``$.States.Resize.Next``.
        message: what was found there, what is allowed, and what to do.
        feature: the name of an ASL feature that is valid but not supported; None for a mistake.
    """

    path: str
    message: str
    feature: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class DefinitionError(UnumError):
    """A definition cannot be compiled.

    Attributes:
        problems: all that was found, in the order of the definition; never empty.
    """

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


class StatesError(UnumError):
    """A state failed in a way that the Amazon States Language names.

    Attributes:
        error: the error name, for example ``States.Runtime``.
        cause: text for humans.
    """

    def __init__(self, error: str, cause: str) -> None:
        self.error = error
        self.cause = cause
        super().__init__(f"{error}: {cause}")


class RefusedDelivery(UnumError):
    """The event must not be worked on, and another delivery would not change that."""


class OutcomeCollected(RefusedDelivery):
    """What the event leads to was collected, because all that follows from it is committed."""


class NotOurEvent(UnumError):
    """The event is not an envelope of a workflow that this function hosts, in the version that it has."""


class InconsistentHistory(UnumError):
    """Stored checkpoints and an event contradict each other; no result may be built on them."""


class StoreError(UnumError):
    """The store failed, throttled to the end, or did not return what was committed."""


class NoIndex(StoreError):
    """The table has no index by which executions could be listed."""


class InvokeError(UnumError):
    """A function could not be invoked."""


class NoRoute(InvokeError):
    """The function knows no way to send an event there, or then."""


class LeaseHeldError(UnumError):
    """The work that the event asks for is being done under a lease that somebody else holds."""


class LeaseStolenError(LeaseHeldError):
    """The execution is being started by another client than the one that sent the event: the last one wins."""


class ClientError(UnumError):
    """A call of the client that its caller can mend."""


class InvalidExecutionInput(ClientError):
    """The input of an execution is not JSON."""


class InvalidName(ClientError):
    """A name of an execution is not 1 to 80 characters from ``A-Z a-z 0-9 - _``."""


class ExecutionAlreadyExists(ClientError):
    """The name was started before, with another input."""


class ExecutionDoesNotExist(ClientError):
    """No execution of that name is stored; it never was, or its retention has passed."""


class ExecutionNotRedrivable(ClientError):
    """The execution has not failed, or nothing of it could run again with another result."""


class NodeNotForkable(ClientError):
    """No other execution can go on from there: the execution did not come to it, or it is inside a fan-out."""


class InvalidToken(ClientError):
    """The task token is none that a Task of the workflow gave out."""


class InvalidOutput(ClientError):
    """The output that is handed in for a Task is not JSON text, or too large."""


class TaskTimedOut(ClientError):
    """The Task does not wait any more: its result was handed in before, or its time is over."""


class ActivityDoesNotExist(ClientError):
    """The workflow has no activity of that name, as far as this client knows."""


class WaitTimedOut(ClientError):
    """The execution was still running when the time to wait for it was over."""
