"""A broken invariant, with everything needed to see it again."""

from dataclasses import dataclass
from typing import Self

from unum_runtime.simulator.invariants import Broken, Invariant
from unum_runtime.simulator.moves import Move
from unum_runtime.simulator.scenario import Scenario

SHOWN = 200
"""How many lines of a log are printed, the last ones."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened in one simulated execution.

    Attributes:
        scenario: what was simulated.
        moves: every choice that was made.
        seed: of the random search that made them; None for an exhaustive one.
        lines: the same for humans: virtual time, delivery and invocation, call, effect or fault.
    """

    scenario: Scenario
    moves: tuple[Move, ...]
    seed: int | None
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        source = "exhaustive search" if self.seed is None else f"seed {self.seed}"
        cut = len(self.lines) - SHOWN
        skipped = [f"({cut} lines of log before; all are in trace.lines)"] if cut > 0 else []
        return "\n".join([f"trace of {source}, {len(self.moves)} moves:", *skipped, *self.lines[-SHOWN:]])


class Violation(AssertionError):
    """The protocol broke an invariant.

    Attributes:
        invariant: which.
        detail: how it shows.
        trace: how it came to it; `replay` runs it again.
    """

    def __init__(self, invariant: Invariant, detail: str, trace: Trace) -> None:
        self.invariant = invariant
        self.detail = detail
        self.trace = trace
        super().__init__(f"{invariant} is broken: {detail}\n{trace}")

    @classmethod
    def of(cls, broken: Broken, trace: Trace) -> Self:
        """The violation that `broken` is after `trace`."""
        return cls(broken.invariant, broken.detail, trace)
