"""Two ways through what may happen: every way, within bounds, and random ways by seeds."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from unum_runtime.model.checkpoint import Ending
from unum_runtime.protocol.control.operator_requests import Control
from unum_runtime.simulator.engine import begin
from unum_runtime.simulator.faults import NO_FAULTS
from unum_runtime.simulator.invariants import Broken, check_end
from unum_runtime.simulator.moves import Move, make, moves
from unum_runtime.simulator.scenario import Scenario
from unum_runtime.simulator.violation import Trace, Violation
from unum_runtime.simulator.world import Event, World

_FAULT_CHANCE = 0.15
"""How often a random run takes a fault where it could; at most as often as the budgets allow."""

_STOP_CHANCE = 0.3
"""How often a random run ends where nothing is left to deliver, although an event could be delivered once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How much was explored.

    Attributes:
        states: different worlds; for random runs, all worlds.
        moves: steps from one world to another.
        ends: worlds in which nothing was left to deliver; for random runs, the runs.
        seconds: how long it took.
        is_complete: nothing within the bounds was left out.
    """

    states: int
    moves: int
    ends: int
    seconds: float
    is_complete: bool

    def __str__(self) -> str:
        kind = "complete" if self.is_complete else "incomplete"
        return f"{self.states} states, {self.moves} moves, {self.ends} ends in {self.seconds:.1f} s, {kind}"


@dataclass(frozen=True, slots=True)
class Run:
    """One random run.

    Attributes:
        trace: what happened.
        ending: how the execution ended.
        now_ms: the virtual time at its end, in milliseconds since 1970.
    """

    trace: Trace
    ending: Ending
    now_ms: int


MOST_SWEEPS = 24
"""Sweeps after which an execution that was not found is lost."""

SILENT_MS = 3_600_000
"""How long ago something should have happened that a sweep finds, in milliseconds; as long is between two sweeps."""


def explore(scenario: Scenario, *, max_states: int | None = None) -> Figures:
    """Everything that may happen in `scenario`, each different world once.

    Args:
        scenario: what to simulate; functions have to be deterministic in their event and `Context.run`.
        max_states: stop after so many worlds; None goes on to the end.

    Raises:
        Violation: the protocol broke an invariant.
    """
    search = _Search(scenario, max_states)
    return search.run()


@dataclass
class _Search:
    """Depth first, remembering which worlds were seen."""

    scenario: Scenario
    max_states: int | None
    seen: set[int] = field(default_factory=set)
    path: list[Move] = field(default_factory=list)
    made: int = 0
    ends: int = 0

    def run(self) -> Figures:
        begun_s = time.monotonic()
        stack = [self._unseen_successors(World.of(self.scenario))]
        while stack and not self._is_full():
            found = next(stack[-1], None)
            if found is not None:
                stack.append(self._unseen_successors(found))
                continue
            stack.pop()
            if self.path:
                self.path.pop()
        seconds = time.monotonic() - begun_s
        return Figures(states=len(self.seen), moves=self.made, ends=self.ends, seconds=seconds, is_complete=not stack)

    def _is_full(self) -> bool:
        return self.max_states is not None and len(self.seen) >= self.max_states

    def _unseen_successors(self, world: World) -> Iterator[World]:
        """The worlds right after `world` that were not seen before; the path leads to the last one given."""
        for move in moves(world):
            after = world.copy()
            self.path.append(move)
            self.made += 1
            try:
                make(after, move)
                if after.is_over():
                    settle(after)
            except Broken as broken:
                raise _logged_violation(broken, Trace(self.scenario, tuple(self.path), seed=None)) from None
            digest = after.digest()
            if digest not in self.seen:
                self.seen.add(digest)
                self.ends += after.is_over()
                yield after
            else:
                self.path.pop()


def search(scenario: Scenario, seeds: Iterable[int], *, seconds: float | None = None) -> Figures:
    """Random runs, one for each seed.

    Args:
        scenario: what to simulate.
        seeds: of the runs.
        seconds: begin no further run after so long; None runs all.

    Raises:
        Violation: the protocol broke an invariant.
    """
    begun_s = time.monotonic()
    runs = made = 0
    is_complete = True
    for seed in seeds:
        if seconds is not None and time.monotonic() - begun_s > seconds:
            is_complete = False
            break
        made += len(random_run(scenario, seed).trace.moves)
        runs += 1
    return Figures(
        states=made + runs, moves=made, ends=runs, seconds=time.monotonic() - begun_s, is_complete=is_complete
    )


def random_run(scenario: Scenario, seed: int, *, is_logged: bool = False) -> Run:
    """One run whose choices come from `seed`.

    Raises:
        Violation: the protocol broke an invariant.
    """
    chance = random.Random(seed)  # noqa: S311 - nothing is secret here
    pick = _scheduler(chance)
    log: list[str] | None = [] if is_logged else None
    world = World.of(scenario, log=log)
    made: list[Move] = []
    try:
        while choices := moves(world):
            if world.is_over() and chance.random() < _STOP_CHANCE:
                break
            made.append(pick(choices))
            make(world, made[-1])
        ending = settle(world)
    except Broken as broken:
        raise _logged_violation(broken, Trace(scenario, tuple(made), seed)) from None
    return Run(Trace(scenario, tuple(made), seed, tuple(log or ())), ending, world.clock.ms)


def replay(trace: Trace) -> None:
    """Make the moves of `trace` again.

    Raises:
        Violation: as the first time.
    """
    log: list[str] = []
    world = World.of(trace.scenario, log=log)
    try:
        for move in trace.moves:
            make(world, move)
            if world.is_over():
                settle(world)
    except Broken as broken:
        raise Violation.of(broken, replace(trace, lines=tuple(log))) from None


def settle(world: World) -> Ending:
    """How the execution ended, when nothing is left to deliver.

    Events that the platform gave up are sent again; what vanished is found by sweeps.

    Raises:
        Broken: the execution does not end.
    """
    left, faults = world.left, world.scenario.faults
    if world.ending is not None or (left.losses, left.vanishes) == (faults.losses, faults.vanishes):
        return check_end(world)
    again = world.copy()
    again.left = NO_FAULTS
    if left.losses < faults.losses:
        again.waiting += [Event.of(world.scenario.start_event(), again.clock.ms), *again.dead]
        again.dead.clear()
    _run_to_end(again)
    for _ in range(MOST_SWEEPS if left.vanishes < faults.vanishes else 0):
        if again.ending is None:
            again.clock.ms += SILENT_MS
            begin(again, again.request(Control.NUDGE, silent_ms=SILENT_MS), is_copy=True)
            _run_to_end(again)
    return check_end(again)


def _run_to_end(world: World) -> None:
    """Let everything happen that is left, one after the other."""
    while following := moves(world):
        make(world, following[0])


def _logged_violation(broken: Broken, trace: Trace) -> Violation:
    """The violation with its log, which is written while it is replayed."""
    try:
        replay(trace)
    except Violation as violation:
        return violation
    return Violation.of(broken, trace)


def _scheduler(chance: random.Random) -> Callable[[list[Move]], Move]:
    """How one run chooses: the newest first, the oldest first, or anything; each finds what the others rarely do."""
    order = chance.choice([-1, 0, None])

    def pick(choices: list[Move]) -> Move:
        faults = [move for move in choices if move.is_fault]
        rest = [move for move in choices if not move.is_fault]
        if faults and (not rest or chance.random() < _FAULT_CHANCE):
            return chance.choice(faults)
        return chance.choice(rest) if order is None or chance.random() < _FAULT_CHANCE else rest[order]

    return pick
