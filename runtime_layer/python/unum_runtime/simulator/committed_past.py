"""What happened in an execution, as far as it was written down."""

from collections.abc import Callable
from dataclasses import dataclass

from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.naming import Name


@dataclass(frozen=True, slots=True)
class Author:
    """Whose delivery wrote a checkpoint.

    Attributes:
        name: the invocation; None for the start record and a stop record.
        retries: how often each of its retriers had been used.
        state: the state that the event was for; None where the execution was started by it.
    """

    name: Name | None
    retries: tuple[int, ...]
    state: str | None


@dataclass(frozen=True, slots=True)
class Past:
    """What happened.

    Attributes:
        committed: the checkpoint of an invocation; None where there is none.
        stopped: the stop record in the place of one; None where there is none.
        author: who wrote the checkpoint.
        retention_s: how long items are kept, in seconds.
    """

    committed: Callable[[Name], Checkpoint | None]
    stopped: Callable[[Name], Checkpoint | None]
    author: Callable[[Name], Author]
    retention_s: int
