"""The state of a simulation: a value that can be copied and compared."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Self, TypeAlias

from unum_runtime.model.checkpoint import Ending, Item, Status, start_record, started_execution, to_text
from unum_runtime.model.envelope import Envelope, is_envelope
from unum_runtime.model.ir import Json, Pattern, Task
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key
from unum_runtime.model.pack import unpacked
from unum_runtime.protocol.control.operator_requests import Control, is_request, request
from unum_runtime.simulator.committed_past import Author
from unum_runtime.simulator.facts import Facts
from unum_runtime.simulator.faults import EVENT_AGE_S, Faults
from unum_runtime.simulator.recorded_calls import SENDS, Operation, Progress
from unum_runtime.simulator.reference import Reference
from unum_runtime.simulator.scenario import BEGUN_MS, Scenario, VirtualClock
from unum_runtime.simulator.simulated_store import SimulatedStore
from unum_runtime.store.base import Store


@dataclass(frozen=True, slots=True)
class Event:
    """An event that the platform accepted.

    Attributes:
        payload: JSON.
        envelope: what it says; None for the event that starts the execution.
        sent_ms: when it was accepted, in milliseconds since 1970.
        ready_ms: from when on it can be delivered.
        returned: how often a function sent it back.
        control: what somebody asks for with it; None if the platform or a function has sent it.
    """

    payload: bytes
    envelope: Envelope | None = field(compare=False)
    sent_ms: int
    ready_ms: int = 0
    returned: int = 0
    control: Control | None = None

    @classmethod
    def of(cls, payload: bytes, sent_ms: int, due_ms: int = 0) -> Self:
        """The event that the platform accepts at `sent_ms`, or that a timer sends at `due_ms`."""
        event = json.loads(payload)
        envelope = Envelope.from_json(event) if is_envelope(event) else None
        control = Control(event["control"]) if is_request(event) else None
        return cls(payload, envelope, max(sent_ms, due_ms), due_ms, control=control)

    @property
    def retries(self) -> tuple[int, ...]:
        """How often the retriers of its state had been used."""
        return () if self.envelope is None else self.envelope.retries

    @property
    def until_s(self) -> int:
        """The last moment at which a delivery of it can do anything, in seconds since 1970; 0 for a request.

        Nobody keeps a request: whoever makes it waits for the answer.
        """
        if self.control:
            return 0
        return self.sent_ms // 1000 + EVENT_AGE_S if self.envelope is None else self.envelope.not_after_s

    def __str__(self) -> str:
        return self.control or "start" if self.envelope is None else f"{self.envelope.name} {self.envelope.state}"


@dataclass(frozen=True, slots=True)
class Hop:
    """What a delivery works on: what it delivers, or what it has gone on with itself.

    Attributes:
        event: what it delivers, or what would have been.
        was_committed: its outcome was committed when this began.
        was_stopped: the execution was stopped when this began.
        was_polled: a look at its job had been sent when this began.
    """

    event: Event
    was_committed: bool
    was_stopped: bool
    was_polled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A running delivery, stopped at a call.

    Attributes:
        number: which one, for humans.
        is_copy: it is an additional one; the event does not depend on it.
        first_hop: what it began with.
        hop: what it is at.
        function: where it runs; None where that cannot matter.
        begun_ms: when it began, in milliseconds since 1970.
        committed: what was committed then, if somebody asks with it.
        progress: how far it has come.
    """

    number: int
    is_copy: bool
    first_hop: Hop
    hop: Hop
    function: str | None
    begun_ms: int
    progress: Progress
    committed: frozenset[Key] = frozenset()

    def __str__(self) -> str:
        return f"{self.id} of {self.hop.event}"

    @property
    def event(self) -> Event:
        """What it delivers."""
        return self.first_hop.event

    @property
    def pending(self) -> Operation:
        """What it asks for."""
        assert isinstance(self.progress.pending, Operation)  # noqa: S101 - it has not ended
        return self.progress.pending

    @property
    def id(self) -> str:
        """What no other delivery is called."""
        return f"delivery {self.number}"

    @property
    def is_independent(self) -> bool:
        """Whether its next call needs no choice between deliveries, because it commutes with everything others do.

        The first call: the delivery might as well have begun just now. Sending events: they can be delivered late.
        """
        return not self.progress.has_begun or self.pending.primitive in SENDS

    def key(self) -> tuple[object, ...]:
        """What makes a difference to what can follow."""
        return (self.first_hop, self.is_copy, self.hop, self.begun_ms, self.progress.digest)


Work: TypeAlias = tuple[Name, str]
"""What user code runs for: an invocation and a Task; a Task that is not checkpointed shares its name with the next."""


@dataclass(frozen=True, slots=True)
class Record:
    """An item as it was created.

    Attributes:
        author: whose delivery created it.
        item: what was stored.
    """

    author: Author
    item: Item

    def __hash__(self) -> int:
        return hash((self.author, frozenset(self.item.items())))


class Try(NamedTuple):
    """A try of a Task that waits for a job.

    Attributes:
        name: of the invocation.
        state: the Task.
        attempt: how often it was tried before.
    """

    name: Name
    state: str
    attempt: int


Place: TypeAlias = tuple[int, tuple[tuple[str, int, int], ...], int]
"""Where in a fan-out an invocation is, whichever round of it: index of the branch; of each fan-out inside state,
iteration and index, whichever try of that it is; and step."""


class Preserved(NamedTuple):
    """What had succeeded in a fan-out when somebody asked first that it be redriven.

    Attributes:
        iteration: of the fan-out.
        again: its iteration once it is redriven.
        places: of all that had.
    """

    iteration: int = 0
    again: int = 0
    places: frozenset[Place] = frozenset()


@dataclass(kw_only=True)
class World:
    """Everything that can differ between two moments of a simulation.

    Attributes:
        scenario: what is simulated.
        left: the faults that may still happen.
        clock: the time.
        store: what is committed.
        waiting: events that no delivery has finished and none works on.
        done: events that a delivery has finished; they may be delivered again.
        dead: events that the platform gave up.
        running: deliveries.
        delivered: how many deliveries there were.
        runs: how often user code ran, by invocation and Task.
        idempotency_keys: the key that user code saw, by the same.
        records: every item that was created, whatever became of it.
        execution: the identity of the execution, once it is recorded.
        ending: how the execution ended, as first seen; of one that was redriven, since then.
        preserved: what the redrives of the last fan-out that failed have to keep.
        polled: tries whose jobs somebody was sent to look at.
        first_progresses: how deliveries have begun in any world that was gone on with from the same one.
        failure_free: the failure-free run with some records, by their digest, for as many worlds.
        log: a line for each thing that happens; None where nobody reads them.
    """

    scenario: Scenario
    left: Faults
    clock: VirtualClock
    store: SimulatedStore
    waiting: list[Event]
    done: list[Event] = field(default_factory=list)
    dead: list[Event] = field(default_factory=list)
    running: list[Delivery] = field(default_factory=list)
    delivered: int = 0
    runs: Facts[Work, int] = field(default_factory=Facts)
    idempotency_keys: Facts[Work, str] = field(default_factory=Facts)
    records: Facts[Key, Record] = field(default_factory=Facts)
    execution: Execution | None = None
    ending: Ending | None = None
    preserved: Preserved = field(default_factory=Preserved)
    polled: frozenset[Try] = frozenset()
    first_progresses: dict[tuple[int, bytes], Progress] = field(default_factory=dict)
    failure_free: dict[int, tuple[Reference, Ending | None]] = field(default_factory=dict)
    log: list[str] | None = None

    @classmethod
    def of(cls, scenario: Scenario, *, log: list[str] | None = None) -> Self:
        """The world in which the execution's start event was accepted and nothing was delivered."""
        clock = VirtualClock()
        world = cls(
            scenario=scenario,
            left=scenario.faults,
            clock=clock,
            store=scenario.new_store(clock),
            waiting=[Event.of(scenario.start_event(), BEGUN_MS)],
            log=log,
        )
        if scenario.by_client:
            record = start_record(Execution(scenario.execution_name, BEGUN_MS), scenario.input)
            key = world.start_key
            world.view.create(
                key, stored_item(scenario.workflow.name, record), expires_at_s=scenario.start_expires_at_s
            )
            world.find_execution()
        return world

    def copy(self) -> "World":
        """The same world, to go on from in another way."""
        other = object.__new__(World)
        other.__dict__.update(self.__dict__)
        other.clock = VirtualClock(self.clock.ms)
        other.store = self.store.copy(other.clock)
        other.waiting, other.done, other.dead = [*self.waiting], [*self.done], [*self.dead]
        other.running = [*self.running]
        other.log = None
        return other

    def digest(self) -> int:
        """A number that tells whether two worlds can go on in the same ways."""
        again = self.done if self.left.duplicates else []
        deliveries = [delivery.key() for delivery in self.running]
        bags = (_bag(kept) for kept in (self.waiting, again, self.dead, deliveries))
        facts = (self.runs.digest, self.records.digest, repr(self.ending), self.preserved, self.polled)
        return hash((self.clock.ms, self.store.digest(), *bags, self.left, facts))

    @property
    def view(self) -> Store:
        """What is committed, with all that it refers to."""
        return self.scenario.protocol_store(self.store, self.store)

    @property
    def start_key(self) -> Key:
        """Where the execution's start record is."""
        return self.scenario.start_key

    def say(self, who: object, what: Callable[[], str]) -> None:
        """Add a line to the log, if there is one."""
        if self.log is not None:
            self.log.append(f"{(self.clock.ms - BEGUN_MS) / 1000:>10.3f} s  {who}: {what()}")

    def find_execution(self) -> None:
        """Learn the execution's identity from its start record."""
        if self.execution is not None:
            return
        item = self.store.read([self.start_key]).get(self.start_key)
        if item is not None:
            self.execution = started_execution(self.scenario.execution_name, item)

    def own_name(self, event: Event) -> Name | None:
        """The invocation that a delivery of `event` may run user code for; None where that is not settled yet."""
        if event.envelope is not None:
            return event.envelope.name
        if event.control:
            return None
        return self.execution and Name(self.execution, (), 1)

    def hop_of(self, event: Event) -> Hop:
        """What a delivery is at that begins with `event` now."""
        name = self.own_name(event)
        was_committed = False
        if name is not None:
            key = checkpoint_key(self.scenario.workflow.name, name)
            was_committed = key in unpacked(self.store.query(key.partition), name.execution)
        return Hop(event, was_committed, self.is_stopped, self._try_of(event) in self.polled)

    def first_progress(self, number: int, event: Event) -> Progress:
        """The course of delivery `number`, of `event`, before its first call.

        Two deliveries of one world never share a course: each has the code run for itself, so it shows where that
        depends on more than its answers.
        """
        return self.first_progresses.setdefault((number, event.payload), Progress())

    def record_poll(self, event: Event) -> None:
        """Remember of a look at a job that it was sent."""
        job = event.envelope and event.envelope.job
        tried = self._try_of(event)
        if job is not None and tried is not None:
            self.polled |= {tried}

    def _try_of(self, event: Event) -> Try | None:
        """The try of a Task with a job that `event` is for; None for anything else."""
        workflow, name = self.scenario.workflow, self.own_name(event)
        state = workflow.start_at if event.envelope is None else event.envelope.state
        match workflow.states[state]:
            case Task(pattern=Pattern.SYNC) if name is not None:
                return Try(name, state, sum(event.retries))
        return None

    def function_of(self, event: Event) -> str | None:
        """The function that `event` is for; None for one without user code."""
        workflow = self.scenario.workflow
        if event.control:
            return None
        state = workflow.states[workflow.start_at if event.envelope is None else event.envelope.state]
        return state.function if isinstance(state, Task) else None

    def author(self, event: Event) -> Author:
        """Who commits what a delivery of `event` creates."""
        state = None if event.envelope is None else event.envelope.state
        return Author(self.own_name(event), event.retries, state)

    def request(self, asked: Control, **content: Json) -> Event:
        """The event with which somebody asks for something."""
        return Event.of(to_text(request(asked, self.scenario.execution_name, **content)).encode(), self.clock.ms)

    @property
    def is_stopped(self) -> bool:
        """Whether the execution was stopped before it ended."""
        return self.ending is not None and self.ending.status is Status.ABORTED

    def is_over(self) -> bool:
        """Whether nothing is left that the platform owes the execution."""
        return not self.waiting and not self.running


def _bag(kept: Iterable[object]) -> int:
    """A number that tells what is kept apart, in whatever order."""
    return hash(tuple(sorted(map(hash, kept))))
