"""Ports of a delivery: store, invoker, timer, clock, log and user code. The simulator and tests inject their own."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.errors import NoRoute, RouteGone
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import START, Envelope
from unum_runtime.model.ir import MOST_BEGUN, Collection, Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json, Pattern, Task
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import LargeItems

if TYPE_CHECKING:
    from unum_runtime.model.take_over_request import TakeOver

DEFAULT_RETENTION_S = 7 * 24 * 3600
"""Default lifetime of items; an execution must end within it."""

MAX_DELIVERY_MS = 900_000
"""Maximum duration of a delivery. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

DEADLINE_MARGIN_S = 3600
"""Margin between an execution's last delivery and the first expiry of its items: a delivery may run for 15 minutes, and
clocks differ."""


class Invoker(Protocol):
    """Asynchronous invocation of functions."""

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Send each (address, payload); return after all were accepted.

        Raises:
            InvokeError: some event was not accepted; others may have been.
        """
        ...


class Timer(Protocol):
    """Delayed invocation of functions."""

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """Store each (address, payload, time) for delivery at or after the time, in milliseconds since 1970.

        Raises:
            InvokeError: some event was not accepted; others may have been.
        """
        ...


class NoTimer:
    """Timer of a deployment without delayed events."""

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """Raise NoRoute; see `Timer.schedule`."""
        raise NoRoute(f"no timer: {len(events)} events are delayed, and this function has no timer to keep them")


@dataclass(frozen=True)
class Call:
    """Facts about an invocation that user code gets beside its input.

    Attributes:
        execution: name of the execution.
        invocation: the invocation's unique name.
        state: name of the Task.
        function: key of the function.
        idempotency_key: key for side effects of user code, equal on every delivery of this invocation.
        resource: resource of a service Task; None for a Lambda function.
        pattern: condition that completes the Task.
        attempt: number of earlier retries of the Task.
        timeout_s: time limit of the Task in seconds; None for no limit.
        token: task token that a responder shows with the result; empty for other patterns.
        job: handle that polls the service job; None before the job starts.
        start_aliases: for a service Task that starts executions, the ARN of each workflow's start alias by the text
            that stands for the workflow in parameters.
        handler: key of the user's handler in a function that has several; None in a function that has one.
    """

    execution: str
    invocation: str
    state: str
    function: str
    idempotency_key: str
    resource: str | None = None
    pattern: Pattern = Pattern.RESPONSE
    attempt: int = 0
    timeout_s: float | None = None
    token: str = field(default="", repr=False)
    job: Json = None
    start_aliases: Mapping[str, str] = field(default_factory=dict, repr=False)
    handler: str | None = None


@dataclass(frozen=True)
class JobPending:
    """Result of user code that started or polled `job`: poll it again in `delay_ms` milliseconds."""

    job: Json
    delay_ms: int


@dataclass(frozen=True)
class CallbackPending:
    """Result of user code whose outcome a responder sends with the task token."""


class Log(Protocol):
    """Writer of structured log lines."""

    def __call__(self, message: str, /, **fields: Json) -> None:
        """Write one line with `message` and `fields`."""
        ...


def silent(_message: str, /, **_fields: Json) -> None:
    """Discard the line."""


def one_by_one(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Call `work` for each item in turn; return the results."""
    return [work(item) for item in items]


def not_paused() -> None:
    """Return None: this workflow starts executions, or this function starts none."""


def _new_delivery() -> str:
    return os.urandom(16).hex()


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """A workflow's runtime in one function.

    Attributes:
        workflow: the compiled workflow.
        store: shared state of all functions.
        invoker: asynchronous invocation of other functions.
        clock: current time.
        call: runner of user code for a Task with its effective input; `JobPending` and `CallbackPending` as its result
            mean that the outcome arrives later.
        hosts: keys of the workflow's functions that this function implements.
        routes: addresses of functions by key.
        carried: keys of the functions whose addresses a start copies into envelopes.
        retention_s: lifetime of items in seconds; more than `DEADLINE_MARGIN_S`.
        result_retention_s: lifetime in seconds of start records and of the commits that end executions, at least
            `retention_s`; None for `retention_s`.
        collection: time at which stored outcomes are deleted.
        log: writer of structured log lines.
        remaining_ms: remaining time of this delivery, in milliseconds.
        delivery: unique name of this delivery; another delivery of the same event has another name.
        arrival: what commits say of this delivery; None if they say nothing.
        new_secret: function that returns a text that nobody can guess.
        code: text that changes with user code and its configuration.
        maintain_leases: True if threads renew the leases of this delivery.
        timer: delayed invocation of functions.
        own_address: address of this function.
        continued_at: for the control function, addresses that continue states without user code, by state; elsewhere
            the function that arrives at such a state continues it.
        fuses: predicate of (address, event, Task): True if this delivery may run the event's invocation itself instead
            of sending the event; see `fusion`. None if it sends every event.
        hand_over: sender of requests to the intake, for a function whose role may not continue; None without an intake.
        gone: for the failure handler, the failure of an invocation whose function or queue has left the deployment;
            it returns None if the refusal may pass. None in all other functions.
        most_begun: maximum number of branches that one delivery starts, 2 or more; more branches are started in parts,
            each by a delivery of its own.
        read_pause: returns the `pause.Pause` of new starts, as it was at most 10 seconds ago; None without one.
        statuses: the `delivery.status_events.StatusEvents` of starts and ends; None without events.
        concurrently: calls a function for each of many items, several at once, and returns the results in order; it
            raises an error after the other calls have ended.
    """

    workflow: Workflow
    store: Store
    invoker: Invoker
    clock: Clock
    call: Callable[[Call, Json], Any]
    hosts: frozenset[str]
    routes: Mapping[str, str]
    carried: tuple[str, ...] = ()
    retention_s: int = DEFAULT_RETENTION_S
    result_retention_s: int | None = None
    collection: Collection = Collection.TTL
    log: Log = field(default=silent)
    remaining_ms: Callable[[], int] = lambda: MAX_DELIVERY_MS
    delivery: str = field(default_factory=_new_delivery)
    arrival: Arrival | None = None
    new_secret: Callable[[], str] = _new_delivery
    code: str = ""
    maintain_leases: bool = False
    timer: Timer = field(default_factory=NoTimer)
    own_address: str = ""
    continued_at: Mapping[str, str] = field(default_factory=dict)
    fuses: Callable[[str, Envelope, Task], bool] | None = None
    most_begun: int = MOST_BEGUN
    hand_over: "Callable[[TakeOver], None] | None" = None
    gone: Callable[[RouteGone], Failure | None] | None = None
    read_pause: Callable[[], Any] = not_paused
    statuses: Any = None
    concurrently: Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]] = one_by_one

    def in_delivery(self, **own: Any) -> "Runtime":
        """Return the runtime of another delivery to the same function version.

        Args:
            own: attributes that differ in that delivery.
        """
        store = self.store if self.large is None else self.large.in_delivery()
        # No `__init__`: every attribute is set below, and a warm delivery saves the time for defaults.
        made = object.__new__(Runtime)
        vars(made).update(vars(self), **{"store": store, "delivery": _new_delivery(), **own})
        return made

    @property
    def large(self) -> LargeItems | None:
        """The store, if it accepts texts of any size; else None."""
        return self.store if isinstance(self.store, LargeItems) else None

    def address(self, function: str, carried: Mapping[str, str]) -> str:
        """Return the address of `function`.

        Raises:
            NoRoute: neither this function's environment nor the envelope's routes contain it.
        """
        # The envelope wins: it pins the versions that the execution started with.
        address = carried.get(function) or self.routes.get(function)
        if address is None:
            raise NoRoute(f"no route to function {function!r}: neither in the environment nor in the envelope")
        return address

    def start_aliases(self, carried: Mapping[str, str]) -> Mapping[str, str]:
        """Return the start aliases of workflows that Tasks start, by the text that stands for each in parameters.

        The workflow itself has the ARN of the context object; every other workflow has a placeholder.
        """
        # The context object knows the workflow itself by its Step Functions ARN, so parameters contain that.
        own = self.workflow.home.arn(f"stateMachine:{self.workflow.name}")
        known = {**self.routes, **carried}
        return {key.removeprefix(START) or own: known[key] for key in known if key.startswith(START)}

    def sent_s(self, due_ms: int | None = None) -> int:
        """Return the sending time, in seconds since 1970, of an event that is sent now or waits until `due_ms`."""
        # A delayed event counts from its due time: after a long Wait it is as young as any other.
        return (self.clock.now_ms() if due_ms is None else max(due_ms, self.clock.now_ms())) // 1000

    def last_s(self, execution: Execution) -> int:
        """Return the last delivery time of all events of `execution`, in seconds since 1970.

        No item of the execution has expired by then, so no delivery mistakes an expired outcome for a missing one,
        however late the event is and however often its predecessors were repeated. No event may be refused before:
        Lambda keeps an event for up to 6 hours, its failure record for as long again, and a queue for up to 14 days.
        """
        return execution.started_ms // 1000 + self.retention_s - DEADLINE_MARGIN_S

    def expires_at_s(self) -> int:
        """Return the expiry of an item that is written now, in seconds since 1970."""
        return self.clock.now_ms() // 1000 + self.retention_s

    def result_expires_at_s(self) -> int:
        """Return the expiry of a start record or final commit that is written now, in seconds since 1970."""
        return self.clock.now_ms() // 1000 + (self.result_retention_s or self.retention_s)
