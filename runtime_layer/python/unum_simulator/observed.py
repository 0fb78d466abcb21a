"""What a simulation has observed of each execution, and its committed history as input for the reference run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from unum_runtime.model.checkpoint import Checkpoint, Ending
from unum_runtime.model.naming import Execution, Name
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.forks.fork import ForkRequest

Place: TypeAlias = tuple[int, tuple[tuple[str, int, int], ...], int]
"""Position of an invocation in a fan-out, independent of the fan-out's iteration and attempt: branch index; state,
iteration and index of each nested fan-out; step."""


class Preserved(NamedTuple):
    """Successful invocations of a fan-out before its first redrive.

    Attributes:
        iteration: the fan-out's iteration.
        again: the fan-out's iteration after the redrive.
        places: positions of the successful invocations.
    """

    iteration: int = 0
    again: int = 0
    places: frozenset[Place] = frozenset()


NOTHING_PRESERVED = Preserved()


@dataclass(frozen=True, slots=True)
class Observed:
    """One execution.

    Attributes:
        execution: its identity.
        value: its input.
        ending: the observed ending, reset by a redrive.
        preserved: successes that redrives of the last failed fan-out must preserve.
        origin: the execution that it is a fork of; None if it was started.
        fork: the request that forked it; None if it was started.
        is_dead: an unfinished fork whose origin was collected meanwhile: requests, and so sweeps, report it.
        entry: name of the commit that begins a fork's own steps; None before that commit, and without a fork.
        digest: hash of all of it.
    """

    execution: Execution
    value: Json
    ending: Ending | None = None
    preserved: Preserved = NOTHING_PRESERVED
    origin: Execution | None = None
    fork: ForkRequest | None = None
    entry: Name | None = None
    is_dead: bool = False
    digest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Computed once: a search asks at every move, and moves seldom change it.
        object.__setattr__(self, "digest", hash(repr(self)))


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
