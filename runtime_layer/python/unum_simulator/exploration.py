"""Two explorations of possible runs: exhaustive within bounds, random by seeds; and violations that they find."""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from unum_runtime.model.checkpoint import Ending, Status
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import Control
from unum_simulator.faults import NO_FAULTS
from unum_simulator.invariants import Broken, Invariant, check_end
from unum_simulator.moves import Move, make, moves
from unum_simulator.scenario import Scenario
from unum_simulator.simulated_deliveries import begin
from unum_simulator.surroundings.calling_programs import LAST_IDS as LAST_CALLS
from unum_simulator.surroundings.calling_programs import MOST_CALLS, Caller, check_repeated
from unum_simulator.surroundings.responders import RESULT, response
from unum_simulator.surroundings.signal_senders import LAST_IDS, check_no_signal_lost, signal_event
from unum_simulator.surroundings.told_statuses import check_announced
from unum_simulator.world import Event, World

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


_FAULT_CHANCE = 0.15
"""Probability of a fault at each possible place in a random run, as long as the budget lasts."""

_STOP_CHANCE = 0.3
"""Probability that a random run ends once only further duplicates are possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Size of an exploration.

    Attributes:
        states: distinct worlds; for random runs, all worlds.
        moves: steps between worlds.
        ends: worlds without pending events; for random runs, the number of runs.
        seconds: duration.
        is_complete: the exploration covered everything within its bounds.
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
        trace: the run's moves and log.
        ending: the execution's ending.
        now_ms: virtual time at the end, in milliseconds since 1970.
    """

    trace: Trace
    ending: Ending
    now_ms: int


MOST_SWEEPS = 24
"""Maximum number of sweeps until a stalled execution counts as lost."""

MOST_ANSWERS = 4
"""Maximum number of further answers to each task token until an execution counts as lost."""

CALLS_MS = 61_000
"""Time between two calls of a program that gets no result, in milliseconds."""

SILENT_MS = 3_600_000
"""Interval between sweeps, and delay after which a sweep finds an overdue event, in milliseconds."""


def explore(scenario: Scenario, *, max_states: int | None = None) -> Figures:
    """Explore all possible runs of `scenario`, each distinct world once.

    Args:
        scenario: the simulated scenario; functions must be deterministic in their event and `Context.run`.
        max_states: limit on worlds; None for no limit.

    Raises:
        Violation: the protocol broke an invariant.
    """
    return _Search(scenario, max_states).run()


@dataclass
class _Search:
    """Depth-first search with a set of visited worlds."""

    scenario: Scenario
    max_states: int | None
    seen: set[int] = field(default_factory=set)
    path: list[Move] = field(default_factory=list)
    made: int = 0
    ends: int = 0

    def run(self) -> Figures:
        begun_s = time.monotonic()
        stack = [self._unseen_successors(World.of(self.scenario))]
        limit = self.max_states
        while stack and (limit is None or len(self.seen) < limit):
            found = next(stack[-1], None)
            if found is not None:
                stack.append(self._unseen_successors(found))
                continue
            stack.pop()
            if self.path:
                self.path.pop()
        seconds = time.monotonic() - begun_s
        return Figures(states=len(self.seen), moves=self.made, ends=self.ends, seconds=seconds, is_complete=not stack)

    def _unseen_successors(self, world: World) -> Iterator[World]:
        """Yield each new world one move after `world`; `path` leads to the last one."""
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
            # Different orders of independent moves lead to equal worlds; without this check the search
            # would be exponential.
            digest = after.digest()
            if digest not in self.seen:
                self.seen.add(digest)
                self.ends += after.is_over()
                yield after
            else:
                self.path.pop()


def search(scenario: Scenario, seeds: Iterable[int], *, seconds: float | None = None) -> Figures:
    """Execute one random run per seed.

    Args:
        scenario: the simulated scenario.
        seeds: the runs' seeds.
        seconds: time limit for starting further runs; None for no limit.

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
    """Execute one run with random choices from `seed`.

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
    """Repeat the moves of `trace`.

    Raises:
        Violation: the same violation as in the original run.
    """
    log: list[str] = []
    world = World.of(trace.scenario, log=log)
    try:
        for move in trace.moves:
            make(world, move)
            if world.is_over():
                settle(world)
    except Broken as broken:
        raise Violation(broken, replace(trace, lines=tuple(log))) from None


def settle(world: World) -> Ending:
    """Return the execution's ending in a world without pending events.

    First resend events from the dead-letter queue, and run sweeps to find vanished events.

    Raises:
        Broken: the execution does not end.
    """
    left, faults = world.left, world.scenario.faults
    is_whole = (left.losses, left.vanishes) == (faults.losses, faults.vanishes) and not world.tokens
    is_whole = is_whole and not world.scenario.signals and not world.scenario.calls
    if faults.give_ups and world.dead:
        is_whole = False
    if is_whole or (world.has_ended and not world.scenario.calls):
        return _check_ends(world)
    # Settle a copy without fault budgets: the search continues from the original world.
    again = world.copy()
    again.left = NO_FAULTS
    if left.losses < faults.losses:
        again.waiting += [
            Event.started(name, payload, again.clock.ms) for name, payload in world.scenario.start_events()
        ]
    again.waiting += [replace(event, sent_ms=again.clock.ms, returned=0) for event in again.dead]
    again.dead.clear()
    _run_to_end(again)
    for which in range(len(again.scenario.calls)):  # before a sweep: who calls again needs none
        _call_until_done(Caller(again, which))
    for _ in range(MOST_SWEEPS if left.vanishes < faults.vanishes else 0):
        if not again.has_ended:
            again.clock.ms += SILENT_MS
            for execution in [each.execution for each in again.observed.values() if each.ending is None]:
                begin(again, again.request(Control.NUDGE, execution.name, silent_ms=SILENT_MS), is_copy=True)
                _run_to_end(again)
    for _ in range(MOST_ANSWERS):
        for token in [] if again.has_ended else [*again.tokens]:
            begin(again, response(again, token, RESULT), is_copy=False)
            _run_to_end(again)
    _send_signals(again)
    return _check_ends(again)


def _call_until_done(caller: Caller) -> None:
    """Call, and ask for the run, until it ends; whoever calls after that must get its result."""
    for number in range(LAST_CALLS, LAST_CALLS + MOST_CALLS):
        reply = _ask(caller, caller.call(number))
        if reply["Status"] != Status.RUNNING:
            return
        reply = _ask(caller, caller.question(str(reply["Run"]), number))
        if reply["Status"] != Status.RUNNING:
            check_repeated(caller.world, reply, _ask(caller, caller.call(number + MOST_CALLS)))
            _run_to_end(caller.world)
            return
        caller.world.clock.ms += CALLS_MS
    raise Broken(Invariant.NO_LOST_WORK, f"no run of call {caller.which} ends, however often a program calls again")


def _ask(caller: Caller, asked: Event) -> dict[str, Json]:
    """Send a request of `caller`, run all consequences, return the answer."""
    begin(caller.world, asked, is_copy=True)
    _run_to_end(caller.world)
    return caller.answer_to(asked)


def _send_signals(world: World) -> None:
    """Send signals until the executions end; what was sent before must have reached its wait by then."""
    for number in range(MOST_ANSWERS * len(world.scenario.signals)):
        check_no_signal_lost(world)
        if not world.has_ended:
            begin(world, signal_event(world, number % len(world.scenario.signals), LAST_IDS + number), is_copy=False)
            _run_to_end(world)


def _check_ends(world: World) -> Ending:
    """Return the first execution's ending; raise Broken if any has not ended."""
    world.focus = None
    endings = []
    for execution, seen in world.observed.items():
        world.focus = execution
        if seen.ending is not None or not seen.is_dead:
            endings.append(check_end(world))
    check_announced(world)
    return endings[0] if endings else check_end(world)


def _run_to_end(world: World) -> None:
    """Make moves until none is left, always the first."""
    while following := moves(world):
        make(world, following[0])


def _logged_violation(broken: Broken, trace: Trace) -> Violation:
    """Return the violation with a log, which only a replay writes."""
    try:
        replay(trace)
    except Violation as violation:
        return violation
    return Violation(broken, trace)


def _scheduler(chance: random.Random) -> Callable[[list[Move]], Move]:
    """Return one run's choice function: newest first, oldest first, or random.

    Each order finds bugs that the others rarely find.
    """
    order = chance.choice([-1, 0, None])

    def pick(choices: list[Move]) -> Move:
        faults = [move for move in choices if move.is_fault]
        rest = [move for move in choices if not move.is_fault]
        if faults and (not rest or chance.random() < _FAULT_CHANCE):
            return chance.choice(faults)
        return chance.choice(rest) if order is None or chance.random() < _FAULT_CHANCE else rest[order]

    return pick
