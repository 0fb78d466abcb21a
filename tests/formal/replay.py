"""Replay a run of the formal model in the simulator, on the runtime's own code.

Each process of the model has a delivery here, which is advanced to the call that the model's line names. The workflow
is the model's: A, a Map with two branches B, a join C. The simulator makes its own moves, so it checks its invariants.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.simulation.definitions import Graph, machine, map_, task
from tests.simulation.executions import fork_at, stamped
from unum_runtime.clock import Clock
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import Control
from unum_simulator import Context, Faults, Function, Scenario
from unum_simulator.exploration import settle
from unum_simulator.faults import Fault
from unum_simulator.moves import REQUESTS, Kind, Move, make, moves
from unum_simulator.recorded_calls import Primitive
from unum_simulator.scenario import REQUEST_ID
from unum_simulator.simulated_store import SimulatedStore
from unum_simulator.world import Delivery, Event, World

LINE = re.compile(r"^\s*@ (\d+) (\w+) ?(\d+)?\s*$", re.MULTILINE)
FORK = "fork"
EXECUTIONS = (REQUEST_ID, FORK)
EVENTS_OF_EXECUTION = 7
"""Events of one execution in the model: A's, two branches and their join, and the same again for a redrive."""

MANY = Faults(crashes=9, duplicates=9, vanishes=9, stops=9, nudges=99, redrives=9, forks=9, concurrency=9)
"""The model has counted the faults."""

VERBS = {
    Primitive.READ: "look",
    Primitive.CREATE: "create",
    Primitive.ADD: "add",
    Primitive.INVOKE: "send",
    Primitive.SCHEDULE: "send",
}
WRITES = ("create", "add")
"""Lines of the model that stand for one call each."""


class NotFollowed(AssertionError):
    """Difference between runtime and model."""


@dataclass(frozen=True)
class Line:
    """One line of a run of the model.

    Attributes:
        process: number of the process.
        verb: what it does, e.g. "takes", "look", "create", "dies".
        number: the event that it takes, or the execution that a request is about.
    """

    process: int
    verb: str
    number: int = 0


def lines(text: str) -> list[Line]:
    """Return the lines of the model in the output of `spin -t`."""
    return [Line(int(process), verb, int(number or 0)) for process, verb, number in LINE.findall(text)]


@dataclass
class Replay:
    """A replay.

    Attributes:
        lines: the model's run.
        is_strict: raise NotFollowed if the runtime makes other writes than the model; else such lines are skipped.
        store: the simulated store.
        at: number of the current line; that of all lines after the last one.
        world: the simulated world.
    """

    lines: Sequence[Line]
    is_strict: bool = True
    store: Callable[[Clock], SimulatedStore] = SimulatedStore
    at: int = 0
    world: World = field(init=False)
    _failing: set[tuple[str, int]] = field(default_factory=set)
    _numbers: dict[int, int] = field(default_factory=dict)  # of deliveries, by process
    _begins: dict[int, Callable[[], Move | None]] = field(default_factory=dict)
    _sent: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.world = World.of(_scenario(self._branch, self.store))

    def run(self) -> None:
        """Follow all lines, then deliver what is left; every execution must end.

        Raises:
            Broken: an invariant is broken; `at` says where.
            NotFollowed: see `is_strict`.
        """
        for at, line in enumerate(self.lines):
            self.at = at
            self._follow(line)
        self.at = len(self.lines)
        while following := [move for move in moves(self.world) if not _is_choice(move)]:
            make(self.world, following[0])
        settle(self.world)

    def _follow(self, line: Line) -> None:
        match line.verb:
            case "takes" | "repeats" | "nudge" | "stop" | "redrive" | "fork":
                self._end(line.process)
                self._begins[line.process] = lambda: self._beginning(line)
            case "look" | "read":
                self._begin(line.process)
                self._read(line)
            case "create" | "add":
                self._call(line)
            case "send":
                self._send(line)
            case "dies":
                self._die(line.process)
            case "lost":
                self._lose(line.process)
            case "ends":
                self._end(line.process)

    def _beginning(self, line: Line) -> Move | None:
        """Return the move that begins a delivery; None if the runtime has no such event."""
        match line.verb:
            case "takes":
                return self._delivery(line.number, Kind.DELIVER, Kind.DUPLICATE)
            case "repeats":
                return self._delivery(line.number, Kind.DUPLICATE, Kind.DELIVER)
            case "stop":
                return Move(Kind.STOP, 0)
            case "fork":
                return Move(Kind.REQUEST, REQUESTS.index(Control.FORK), sent=0)
        which = [execution.name for execution in self.world.observed].index(EXECUTIONS[line.number])
        return Move(Kind.REQUEST, REQUESTS.index(Control(line.verb)), sent=which)

    def _delivery(self, number: int, *kinds: Kind) -> Move | None:
        """Return the first possible delivery of an event; of two equal events either may be the duplicate."""
        running = [delivery.event for delivery in self.world.running if not delivery.is_copy]
        events = {Kind.DELIVER: self.world.waiting, Kind.DUPLICATE: [*running, *self.world.done]}
        for kind in kinds:
            for index, event in enumerate(events[kind]):
                if _number(event) == number:
                    return Move(kind, index)
        self._miss(f"no event {number} among {events}")
        return None

    def _begin(self, process: int) -> None:
        begin = self._begins.pop(process, None)
        move = begin() if begin else None
        if move is not None:
            self._numbers[process] = self.world.delivered + 1
            self._make(move)

    def _read(self, line: Line) -> None:
        """Answer the next reads of a delivery; user code that follows fails if the model says so."""
        delivery = self._running(line.process)
        if delivery is None:
            return
        envelope = delivery.event.envelope
        if envelope is not None and self._next(line.process) == "fails":
            self._failing.add((str(envelope.name), self._runs(delivery)))
        while delivery is not None and _verb(delivery) == line.verb:
            self._proceed(delivery)
            delivery = self._running(line.process)
        self._send_pending(line.process)

    def _runs(self, delivery: Delivery) -> int:
        name = self.world.own_name(delivery.hop.event)
        return sum(count for (own, _), count in self.world.runs.items() if own == name)

    def _call(self, line: Line) -> None:
        """Advance a delivery over the next call that the model names."""
        self._begin(line.process)
        while (delivery := self._running(line.process)) is not None:
            made = _verb(delivery)
            if made == line.verb:
                self._write(line.process, delivery)
                return
            if made in WRITES:
                self._miss(f"{delivery} would {made}")
                return
            self._proceed(delivery)
        self._miss(f"process {line.process} has no delivery")

    def _write(self, process: int, delivery: Delivery) -> None:
        """Make the pending write; the delivery dies at it if the model lets it die later, and nothing is left to do."""
        after = self.world.copy()
        make(after, Move(Kind.PROCEED, self.world.running.index(delivery)))
        is_last = all(each.number != delivery.number for each in after.running)
        if is_last and self._next(process) == "dies":
            self._proceed(delivery, Fault.CRASH_AFTER)
            return
        self._proceed(delivery)
        self._send_pending(process)

    def _send_pending(self, process: int) -> None:
        """Send at once, for events may arrive late; as many as the model sends before the delivery dies."""
        while (delivery := self._running(process)) is not None and _verb(delivery) == "send":
            size = len(delivery.pending.positional[0])
            ahead = self._ahead(process)
            sent = next((count for count, verb in enumerate(ahead) if verb != "send"), len(ahead))
            if ahead[sent : sent + 1] == ["dies"] and sent <= size:
                self._proceed(delivery, Fault.CRASH_AFTER, sent)
            else:
                self._proceed(delivery)
            self._sent[process] += size

    def _send(self, line: Line) -> None:
        if self._sent[line.process]:
            self._sent[line.process] -= 1
            return
        delivery = self._running(line.process)
        while delivery is not None and _verb(delivery) != "send":
            if _verb(delivery) in WRITES:
                self._miss(f"{delivery} would {_verb(delivery)}")
                return
            self._proceed(delivery)
            delivery = self._running(line.process)
        self._send_pending(line.process)

    def _die(self, process: int) -> None:
        self._begin(process)
        delivery = self._running(process)
        if delivery is not None:
            is_sending = _verb(delivery) == "send"
            self._proceed(delivery, Fault.CRASH_AFTER if is_sending else Fault.CRASH_BEFORE)
        self._numbers.pop(process, None)

    def _lose(self, process: int) -> None:
        begin = self._begins.pop(process, None)
        move = begin() if begin else None
        if move is not None:
            self._make(replace(move, kind=Kind.VANISH))

    def _end(self, process: int) -> None:
        """Let the rest of a delivery run."""
        while (delivery := self._running(process)) is not None:
            if _verb(delivery) in WRITES:
                self._miss(f"{delivery} would {_verb(delivery)}")
            self._proceed(delivery)
        self._numbers.pop(process, None)
        self._begins.pop(process, None)
        self._sent[process] = 0

    def _running(self, process: int) -> Delivery | None:
        number = self._numbers.get(process)
        return next((delivery for delivery in self.world.running if delivery.number == number), None)

    def _ahead(self, process: int) -> list[str]:
        """Return what the process does after the current line, until it ends."""
        rest = [line.verb for line in self.lines[self.at + 1 :] if line.process == process]
        return rest[: rest.index("ends")] if "ends" in rest else rest

    def _next(self, process: int) -> str:
        return (self._ahead(process) or [""])[0]

    def _proceed(self, delivery: Delivery, fault: Fault = Fault.NONE, sent: int = 0) -> None:
        self._make(Move(Kind.PROCEED, self.world.running.index(delivery), fault, sent))

    def _make(self, move: Move) -> None:
        assert move in moves(self.world), f"line {self.at}: {move} is no move of the simulator"
        make(self.world, move)

    def _miss(self, what: str) -> None:
        if self.is_strict:
            raise NotFollowed(f"line {self.at}, {self.lines[self.at]}: {what}")

    def _branch(self, event: Json, context: Context) -> Json:
        if (context.unum.invocation, context.run) in self._failing:
            raise RuntimeError("as in the model")
        return stamped(event, context)


def _scenario(branch: Function, store: Callable[[Clock], SimulatedStore]) -> Scenario:
    def two(event: Json, context: Context) -> Json:
        return [stamped(event, context), stamped(event, context)]

    definition = machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c"))
    graph = Graph(definition, {"a": two, "b": branch, "c": stamped})
    return Scenario(
        workflow=graph.workflow(),
        functions=graph.functions,
        input=graph.input,
        faults=MANY,
        forks=(fork_at("M", name=FORK),),
        fusion=False,
        by_client=True,  # the model's execution has a start record at its beginning
        store=store,
    )


def _number(event: Event) -> int:
    """Return the model's number of an event, -1 for a request."""
    envelope = event.envelope
    if envelope is None:
        return -1 if event.is_request else EVENTS_OF_EXECUTION * EXECUTIONS.index(event.execution)
    first = EVENTS_OF_EXECUTION * EXECUTIONS.index(envelope.name.execution.name)
    if envelope.state == "A":
        return first
    if envelope.state == "C":
        return first + (3 if envelope.name.step <= FIRST_JOIN or first else 6)
    frame = envelope.name.frames[0]
    return first + 1 + frame.index + (0 if frame.iteration <= FIRST_JOIN or first else 3)


FIRST_JOIN = 2
"""Step of C in an execution without a redrive; its scope has the same number."""


def _verb(delivery: Delivery) -> str:
    """Return the model's word for the pending call."""
    operation = delivery.pending
    if operation.primitive is Primitive.CREATE and _is_beside(operation.positional[0]):
        return "look"
    if operation.primitive is Primitive.QUERY:
        return "read" if delivery.event.envelope else "look"
    return VERBS.get(operation.primitive, "")


def _is_beside(key: Key) -> bool:
    """Return True for start records and the pins of redrives, which are no steps of the model."""
    return key.sort == "start" or key.partition.endswith("/redrives")


def _is_choice(move: Move) -> bool:
    """Return True for a fault or a request, which the model's run does not have."""
    return move.is_fault or move.kind in (Kind.REQUEST, Kind.RESEND, Kind.RESPOND)
