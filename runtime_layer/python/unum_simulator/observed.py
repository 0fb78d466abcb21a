"""What a simulation has observed of each execution."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from unum_runtime.model.checkpoint import Ending
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
