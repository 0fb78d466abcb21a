"""State of a simulation, as a value with copies and comparison."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Self, TypeAlias, TypeVar

from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Ending, Item, Status, started_execution
from unum_runtime.model.envelope import Envelope, is_envelope, named_start
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key
from unum_runtime.model.pack import unpacked
from unum_runtime.model.states import Json, Pattern, Task
from unum_runtime.protocol.control.forks.fork import ForkRequest
from unum_runtime.protocol.control.operator_requests import Control, is_request, request
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S
from unum_runtime.store.base import Store
from unum_simulator.faults import EVENT_AGE_S, Faults
from unum_simulator.observed import Author, Observed
from unum_simulator.recorded_calls import SENDS, Operation, Progress
from unum_simulator.reference import Reference
from unum_simulator.scenario import BEGUN_MS, Scenario, VirtualClock
from unum_simulator.simulated_store import FirstPart, SimulatedStore

K = TypeVar("K")
V = TypeVar("V")


class Facts(dict[K, V], Generic[K, V]):
    """A dictionary that never changes after creation.

    Attributes:
        digest: hash of all entries, independent of insertion order.
    """

    digest: int = 0

    def plus(self, key: K, value: V) -> Self:
        """Return a copy with `value` at `key`."""
        more = type(self)(self)
        more[key] = value
        # XOR commutes: two worlds with the same facts in another order get the same digest and count as one.
        more.digest = self.digest ^ hash((key, value))
        if key in self:
            more.digest ^= hash((key, self[key]))
        return more


@dataclass(frozen=True, slots=True)
class Event:
    """An event that the platform accepted.

    Attributes:
        payload: JSON text.
        envelope: parsed payload; None for a start event.
        sent_ms: time of acceptance, in milliseconds since 1970.
        ready_ms: earliest delivery, in milliseconds since 1970.
        returned: number of failed deliveries, as far as the platform counts them.
        is_record: the payload is Lambda's failure record of an event, with that event's envelope.
        error: error type of the last failed delivery; of a record, that of the event that it is about; empty for none.
        token: task token that a responder answers; empty for other events.
        signal: id of a signal; empty for other events.
        call: id of a request about a call; empty for other events.
        execution: name of the execution that a start or a request may write; empty for events of functions.
        control: an operator's request; None for events from the platform or a function.
    """

    payload: bytes
    envelope: Envelope | None = field(compare=False)
    sent_ms: int
    ready_ms: int = 0
    returned: int = 0
    control: Control | None = None
    is_record: bool = False
    error: str = ""
    token: str = ""
    execution: str = ""
    signal: str = ""
    call: str = ""

    @classmethod
    def of(cls, payload: bytes, sent_ms: int, due_ms: int = 0) -> Self:
        """Return the event that the platform accepts at `sent_ms`, or that a timer sends at `due_ms`."""
        event = parse_json(payload)
        envelope = Envelope.from_json(event) if is_envelope(event) else None
        started = named_start(event)
        if started is not None:
            return cls.started(started, payload, sent_ms)
        control = Control(event["control"]) if is_request(event) else None
        return cls(payload, envelope, max(sent_ms, due_ms), due_ms, control=control)

    @classmethod
    def started(cls, execution: str, payload: bytes, sent_ms: int) -> Self:
        """Return the event that starts `execution`."""
        return cls(payload, None, sent_ms, execution=execution)

    @property
    def is_request(self) -> bool:
        """True for a request of an operator, a responder, a signal's sender or a caller; the platform keeps none."""
        return self.control is not None or bool(self.token or self.signal or self.call)

    @property
    def retries(self) -> tuple[int, ...]:
        """Earlier uses of the state's retriers."""
        return () if self.envelope is None else self.envelope.retries

    def until_s(self, retention_s: int) -> int:
        """Return the last time at which a delivery can have an effect, in seconds since 1970; 0 for a request.

        A request is a synchronous call, so the platform never stores it.
        """
        if self.is_request:
            return 0
        if self.envelope is None:
            return self.sent_ms // 1000 + EVENT_AGE_S
        return self.envelope.name.execution.started_ms // 1000 + retention_s - DEADLINE_MARGIN_S

    def __str__(self) -> str:
        shown = (
            self.control or self.signal or self.call or ("answer" if self.token else "start")
            if self.envelope is None
            else f"{self.envelope.name} {self.envelope.state}"
        )
        return f"failure record of {shown}" if self.is_record else shown


@dataclass(frozen=True, slots=True)
class Hop:
    """One invocation that a delivery works on: its event's, or a later one after fusion.

    Attributes:
        event: the invocation's event, delivered or fused.
        was_committed: the outcome was already committed at the start of this hop.
        was_stopped: the execution was already stopped at the start of this hop.
        was_polled: a polling event for its job had already been sent at the start of this hop.
    """

    event: Event
    was_committed: bool
    was_stopped: bool
    was_polled: bool = False


class Remembered(NamedTuple):
    """A remembered result of a call.

    Attributes:
        of: what makes calls equal.
        key: place of the result.
    """

    of: str
    key: Key


class Results(NamedTuple):
    """Results of calls that were ever remembered, by their text.

    Attributes:
        known: those that are remembered.
        gone: those that were forgotten or have expired.
    """

    known: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()


NO_RESULTS = Results()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A running delivery, suspended at a call.

    Attributes:
        number: number for logs.
        is_copy: an additional delivery; its failure does not affect the event.
        first_hop: the invocation of the delivered event.
        hop: the current invocation.
        function: the function that runs it; None for events without user code.
        begun_ms: start time, in milliseconds since 1970.
        progress: the calls so far.
        committed: committed keys at the start, for a request.
        skew_ms: difference between the sandbox's clock and the true time.
        part: first part of the pending read, if it is split.
        freezes: the sandbox freezes before the next run of user code.
        results: results of calls that were remembered at the start, and those that were not any more.
    """

    number: int
    is_copy: bool
    first_hop: Hop
    hop: Hop
    function: str | None
    begun_ms: int
    progress: Progress
    committed: frozenset[Key] = frozenset()
    skew_ms: int = 0
    part: FirstPart | None = None
    freezes: bool = False
    results: Results = NO_RESULTS

    def __str__(self) -> str:
        return f"{self.id} of {self.hop.event}"

    @property
    def event(self) -> Event:
        """The delivered event."""
        return self.first_hop.event

    @property
    def pending(self) -> Operation:
        """The unanswered call."""
        assert isinstance(self.progress.pending, Operation)  # noqa: S101 - it has not ended
        return self.progress.pending

    @property
    def id(self) -> str:
        """Unique name of the delivery."""
        return f"delivery {self.number}"

    @property
    def is_independent(self) -> bool:
        """True if the next call commutes with all calls of other deliveries, so the scheduler needs no choice.

        Commuting calls are the first one (the delivery could have started just now) and sends (events may arrive late).
        """
        return self.part is None and (not self.progress.has_begun or self.pending.primitive in SENDS)

    def key(self) -> tuple[object, ...]:
        """Return all fields that affect later moves."""
        own = (self.begun_ms, self.skew_ms, self.progress.digest, repr(self.part), self.freezes, self.results)
        return (self.first_hop, self.is_copy, self.hop, *own)


Work: TypeAlias = tuple[Name, str]
"""Identity of a user code run: invocation and Task; a Task without a checkpoint shares its name with the next one."""


@dataclass(frozen=True, slots=True)
class Record:
    """Item at creation time.

    Attributes:
        author: the delivery that created it.
        item: its content.
    """

    author: Author
    item: Item

    def __hash__(self) -> int:
        return hash((self.author, frozenset(self.item.items())))


class Given(NamedTuple):
    """A try that gave out a task token.

    Attributes:
        name: the invocation.
        state: the Task.
        attempt: number of earlier attempts.
        is_answered: True if the stand-in returned the result itself, in place of a responder.
    """

    name: Name
    state: str
    attempt: int
    is_answered: bool = False


class Try(NamedTuple):
    """An attempt of a Task with a service job.

    Attributes:
        name: the invocation.
        state: the Task.
        attempt: number of earlier attempts.
    """

    name: Name
    state: str
    attempt: int


@dataclass(kw_only=True)
class World:
    """Complete state of a simulation at one time.

    Attributes:
        scenario: the simulated scenario.
        left: remaining fault budget.
        clock: the virtual clock.
        store: the committed content.
        waiting: events without a running or completed delivery.
        done: events with a completed delivery; duplicates of them may arrive.
        dead: events in the dead-letter queue.
        running: suspended deliveries.
        delivered: number of deliveries so far.
        runs: number of runs of user code, by invocation and Task.
        inputs: what user code must see in each attempt of an invocation, as far as commits determine it.
        idempotency_keys: idempotency keys that user code received, by invocation and Task.
        records: all items ever created.
        observed: what was observed of each execution, in the order of their start records.
        focus: the execution that the current delivery works on; None before its start record.
        polled: attempts with a sent polling event.
        tokens: the tries that gave task tokens to user code.
        accepted: accepted responses, by task token.
        signals: payloads of accepted signals, by id.
        called: what identifies the result of each run of a call, by its name.
        remembered: results of calls that were ever remembered, by their text.
        answers: last answer to each call, by its id.
        first_progresses: initial progress of each delivery, shared by all copies of the first world.
        failure_free: reference runs by the digest of their records, shared like `first_progresses`.
        log: readable lines; None for no log.
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
    inputs: Facts[tuple[Work, tuple[int, ...]], str] = field(default_factory=Facts)
    idempotency_keys: Facts[Work, str] = field(default_factory=Facts)
    records: Facts[Key, Record] = field(default_factory=Facts)
    observed: dict[Execution, Observed] = field(default_factory=dict)
    focus: Execution | None = None
    polled: frozenset[Try] = frozenset()
    tokens: Facts[str, Given] = field(default_factory=Facts)
    accepted: Facts[str, str] = field(default_factory=Facts)
    signals: Facts[str, str] = field(default_factory=Facts)
    called: Facts[str, str] = field(default_factory=Facts)
    remembered: Facts[str, Remembered] = field(default_factory=Facts)
    answers: Facts[str, str] = field(default_factory=Facts)
    first_progresses: dict[tuple[int, str, bytes], Progress] = field(default_factory=dict)
    failure_free: dict[int, tuple[Reference, Ending | None]] = field(default_factory=dict)
    log: list[str] | None = None

    @classmethod
    def of(cls, scenario: Scenario, *, log: list[str] | None = None) -> Self:
        """Return the world before the first delivery, with an accepted start event."""
        clock = VirtualClock()
        return cls(
            scenario=scenario,
            left=scenario.faults,
            clock=clock,
            store=scenario.new_store(clock),
            waiting=[Event.started(name, payload, BEGUN_MS) for name, payload in scenario.start_events()],
            log=log,
        )

    def copy(self) -> "World":
        """Return an independent copy."""
        # Shallow: `Facts` and other shared fields are immutable, and only lists and stores need copies.
        other = object.__new__(World)
        other.__dict__.update(self.__dict__)
        other.clock = VirtualClock(self.clock.ms)
        other.store = self.store.copy(other.clock)
        other.waiting, other.done, other.dead = [*self.waiting], [*self.done], [*self.dead]
        other.running = [*self.running]
        other.observed = {**self.observed}
        other.log = None
        return other

    def digest(self) -> int:
        """Return a hash; worlds with equal hashes allow the same moves."""
        # Completed events matter only while a duplicate may arrive; otherwise such worlds are equal.
        again = self.done if self.left.duplicates else []
        deliveries = [delivery.key() for delivery in self.running]
        bags = (_bag(kept) for kept in (self.waiting, again, self.dead, deliveries))
        known = (self.runs.digest, self.records.digest, self.tokens.digest, self.accepted.digest, self.signals.digest)
        observed = frozenset(each.digest for each in self.observed.values())
        facts = (known, self.called.digest, self.remembered.digest, observed, self.polled)
        return hash((self.clock.ms, self.store.digest(), *bags, self.left, facts))

    @property
    def identity(self) -> Execution:
        """The identity of the execution in focus, valid once its start record is stored."""
        assert self.focus is not None  # noqa: S101 - every caller runs after the start record was written
        return self.focus

    @property
    def own(self) -> Observed:
        """What was observed of the execution in focus."""
        return self.observed[self.identity]

    @property
    def ending(self) -> Ending | None:
        """The observed ending of the execution in focus."""
        return None if self.focus is None else self.own.ending

    def note(self, **seen: Any) -> None:
        """Change what was observed of the execution in focus."""
        self.observed[self.identity] = replace(self.own, **seen)

    @property
    def view(self) -> Store:
        """The store with large values resolved."""
        return self.scenario.protocol_store(self.store, self.store)

    def say(self, who: object, what: Callable[[], str]) -> None:
        """Append a line to the log, if any."""
        if self.log is not None:
            self.log.append(f"{(self.clock.ms - BEGUN_MS) / 1000:>10.3f} s  {who}: {what()}")

    def find_execution(self, name: str, item: Item, fork: ForkRequest | None = None) -> None:
        """Take the identity of execution `name` from its start record, which a start or the request `fork` wrote."""
        self.focus = started_execution(name, item)
        if self.focus not in self.observed:
            origin = None if fork is None else self.latest(fork.execution)
            value = self.scenario.started_with(name, item) if origin is None else self.observed[origin].value
            self.observed[self.focus] = Observed(self.focus, value, origin=origin, fork=fork)

    def latest(self, name: str) -> Execution | None:
        """Return the identity of the last execution with `name`; None before its start record."""
        return next((each for each in reversed(self.observed) if each.name == name), None)

    def focus_on(self, event: Event) -> None:
        """Let the checks concern the execution that a delivery of `event` may write."""
        self.focus = self.latest(event.execution) if event.envelope is None else event.envelope.name.execution

    def own_name(self, event: Event) -> Name | None:
        """Return the invocation for which a delivery of `event` may run user code, or None if still unknown."""
        if event.envelope is not None:
            return event.envelope.name
        execution = None if event.is_request else self.latest(event.execution)
        return execution and Name(execution, (), 1)

    def hop_of(self, event: Event) -> Hop:
        """Return the hop of a delivery that starts `event` now."""
        name = self.own_name(event)
        was_committed = False
        if name is not None:
            key = checkpoint_key(self.scenario.workflow.name, name)
            was_committed = key in unpacked(self.store.query(key.partition), name.execution)
        return Hop(event, was_committed, self.is_stopped, self._try_of(event) in self.polled)

    def first_progress(self, number: int, event: Event) -> Progress:
        """Return the progress of delivery `number` before its first call.

        Two deliveries of one world never share it: each runs the code itself, which reveals hidden dependencies on
        other state.
        """
        return self.first_progresses.setdefault((number, event.execution, event.payload), Progress())

    def record_poll(self, event: Event) -> None:
        """Record the attempt of a sent polling event."""
        job = event.envelope and event.envelope.job
        tried = self._try_of(event)
        if job is not None and tried is not None:
            # After the first polling event, another start of the job would be a second job (invariant 4).
            self.polled |= {tried}

    def _try_of(self, event: Event) -> Try | None:
        """Return the attempt of a Task with a service job that `event` belongs to, or None."""
        workflow, name = self.scenario.workflow, self.own_name(event)
        state = workflow.start_at if event.envelope is None else event.envelope.state
        match workflow.states[state]:
            case Task(pattern=Pattern.SYNC) if name is not None:
                return Try(name, state, sum(event.retries))
        return None

    def function_of(self, event: Event) -> str | None:
        """Return the function that handles `event`, or None without user code."""
        workflow = self.scenario.workflow
        if event.is_request or event.is_record:
            return None
        state = workflow.states[workflow.start_at if event.envelope is None else event.envelope.state]
        return state.function if isinstance(state, Task) else None

    def author(self, event: Event) -> Author:
        """Return the author of checkpoints that a delivery of `event` creates."""
        state = None if event.envelope is None else event.envelope.state
        return Author(self.own_name(event), event.retries, state)

    def request(self, asked: Control, execution: str, **content: Json) -> Event:
        """Return the event of an operator's request about `execution`."""
        event = Event.of(to_text(request(asked, execution, **content)).encode(), self.clock.ms)
        return replace(event, execution=content["name"] if asked is Control.FORK else execution)

    @property
    def has_ended(self) -> bool:
        """True if executions were started, and all have ended or are visibly dead."""
        return bool(self.observed) and all(each.ending is not None or each.is_dead for each in self.observed.values())

    @property
    def is_stopped(self) -> bool:
        """True if a stop request ended the execution."""
        return self.ending is not None and self.ending.status is Status.ABORTED

    def is_over(self) -> bool:
        """Return True if the platform has nothing left to deliver."""
        return not self.waiting and not self.running


def _bag(kept: Iterable[object]) -> int:
    """Return a hash of the elements, independent of their order."""
    return hash(tuple(sorted(map(hash, kept))))
