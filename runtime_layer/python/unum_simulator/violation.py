"""A broken invariant together with the trace that reproduces it."""

from dataclasses import dataclass

from unum_simulator.invariants import Broken, Invariant
from unum_simulator.moves import Move
from unum_simulator.scenario import Scenario

SHOWN = 200
"""Number of printed log lines, counted from the end."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Record of one simulated execution.

    Attributes:
        scenario: the simulated scenario.
        moves: all moves, in order.
        seed: seed of the random search; None for an exhaustive search.
        lines: readable log of the moves: virtual time, delivery and invocation, call, effect or fault.
    """

    scenario: Scenario
    moves: tuple[Move, ...]
    seed: int | None
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        source = "exhaustive search" if self.seed is None else f"seed {self.seed}"
        cut = len(self.lines) - SHOWN
        skipped = [f"({cut} earlier log lines omitted; see trace.lines)"] if cut > 0 else []
        return "\n".join([f"trace of {source}, {len(self.moves)} moves:", *skipped, *self.lines[-SHOWN:]])


class Violation(AssertionError):
    """A guarantee that the protocol broke.

    Attributes:
        invariant: the broken invariant.
        detail: observed contradiction.
        trace: the execution's moves; `replay` repeats them.
    """

    def __init__(self, broken: Broken, trace: Trace) -> None:
        self.invariant: Invariant = broken.invariant
        self.detail = broken.detail
        self.trace = trace
        super().__init__(f"{self.invariant} is broken: {self.detail}\n{trace}")
