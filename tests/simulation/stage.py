"""One execution, directed by a test: which event arrives when, and what goes wrong with it."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from unum_runtime.model.checkpoint import Ending, Success
from unum_runtime.model.states import Json
from unum_simulator import Faults, Scenario
from unum_simulator.exploration import settle
from unum_simulator.faults import Fault
from unum_simulator.moves import Kind, Move, make, moves
from unum_simulator.recorded_calls import Primitive
from unum_simulator.world import Delivery, Event, World

HOURS_S, DAYS_S = 5 * 3600, 8 * 24 * 3600
PLENTY = Faults(
    crashes=9, duplicates=9, throttles=9, losses=9, jumps=9, jump_s=(HOURS_S, DAYS_S), stops=9, concurrency=9
)


class Order(Enum):
    """Rule that chooses the next of the waiting events."""

    OLDEST_FIRST = 0
    NEWEST_FIRST = -1


@dataclass
class Stage:
    """A world that a test moves.

    Attributes:
        scenario: what is simulated, under `PLENTY`.
        log: what happened.
    """

    scenario: Scenario
    log: list[str] = field(default_factory=list)
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = World.of(self.scenario, log=self.log)

    def run(self, order: Order = Order.OLDEST_FIRST) -> Ending:
        """Deliver everything without a fault."""
        while following := [move for move in moves(self.world) if not move.is_fault]:
            make(self.world, following[order.value])
        return settle(self.world)

    def result(self, order: Order = Order.OLDEST_FIRST) -> Json:
        """Deliver everything without a fault; what the execution came to."""
        outcome = self.run(order).outcome
        assert isinstance(outcome, Success)
        return outcome.value

    def run_until(self, state: str) -> None:
        """Deliver everything but events for `state`, oldest first, until nothing else is left."""
        while others := [event for event in self.world.waiting if not _is(event, state)]:
            self.deliver(str(others[0]))
            self.finish()

    def deliver(self, event: str) -> None:
        """Begin a delivery of the first waiting event that `event` names: by its state, or its whole text."""
        make(self.world, Move(Kind.DELIVER, _find(self.world.waiting, event)))

    def repeat(self, event: str) -> None:
        """Begin one more delivery of an event already delivered or running."""
        running = (delivery.event for delivery in self.world.running if not delivery.is_copy)
        make(self.world, Move(Kind.DUPLICATE, _find([*running, *self.world.done], event)))

    def lose(self, event: str) -> None:
        """Let the platform give up a waiting event."""
        make(self.world, Move(Kind.LOSE, _find(self.world.waiting, event)))

    def jump(self, which: int) -> None:
        """Let hours (0) or days (1) pass."""
        make(self.world, Move(Kind.JUMP, which))

    def proceed_to(self, primitive: Primitive) -> Delivery:
        """Let the newest delivery go on to its next call of `primitive`, which is not done yet."""
        while self.world.running[-1].pending.primitive is not primitive:
            self._proceed(Fault.NONE, 0)
        return self.world.running[-1]

    def finish(self) -> None:
        """Let the newest delivery go on to its end."""
        number = self.world.running[-1].number
        while any(delivery.number == number for delivery in self.world.running):
            self._proceed(Fault.NONE, 0)

    def fail(self, fault: Fault, sent: int = 0) -> None:
        """Let `fault` happen to the pending call of the newest delivery."""
        self._proceed(fault, sent)

    def runs_of(self, state: str) -> list[int]:
        """Return the runs of user code for each invocation of `state`."""
        names = [line.split(" of ")[1].split(": ")[0] for line in self.log if f": user code of {state} with" in line]
        return list(Counter(names).values())

    def _proceed(self, fault: Fault, sent: int) -> None:
        make(self.world, Move(Kind.PROCEED, len(self.world.running) - 1, fault, sent))


def _find(events: list[Event], meant: str) -> int:
    return next(index for index, event in enumerate(events) if _is(event, meant))


def _is(event: Event, meant: str) -> bool:
    text = str(event)
    return text == meant or text.endswith(f" {meant}")
