"""An execution's committed history, as input for the reference run."""

from collections.abc import Callable
from dataclasses import dataclass

from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.naming import Name


@dataclass(frozen=True, slots=True)
class Author:
    """Origin of a checkpoint: the delivery that wrote it.

    Attributes:
        name: the invocation; None for the start record and stop records.
        retries: uses of each retrier before this delivery.
        state: the event's state; None for a start event.
    """

    name: Name | None
    retries: tuple[int, ...]
    state: str | None


@dataclass(frozen=True, slots=True)
class Past:
    """Everything that an execution committed.

    Attributes:
        committed: returns an invocation's checkpoint, or None.
        stopped: returns the stop record stored under the invocation's name, or None.
        author: returns the checkpoint's author.
        retention_s: retention of items, in seconds.
        tolerance_ms: largest difference between two clocks.
        is_fork: True for a fork, which begins with copies of another execution's commits.
        is_given: True if the request for the fork gave another input.
        entry: name of the commit that begins the fork's own steps; None before that commit, and without a fork.
        secret: secret in the start record; empty without one.
    """

    committed: Callable[[Name], Checkpoint | None]
    stopped: Callable[[Name], Checkpoint | None]
    author: Callable[[Name], Author]
    retention_s: int
    tolerance_ms: int = 0
    is_fork: bool = False
    is_given: bool = False
    entry: Name | None = None
    secret: str = ""
