"""Everything that a delivery touches, injected: the simulator and the tests put their own parts in."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass, field
from unum_runtime.errors import NoRoute
from unum_runtime.model.envelope import START, Envelope
from unum_runtime.model.ir import MOST_BEGUN, Collection, Json, Pattern, Task, Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import LargeItems

EVENT_LIFE_S = 8 * 3600
"""How long an event may be delivered: Lambda keeps one for 6 hours at most, retries and clocks' differences included.
Source: AWS Lambda Developer Guide, "Configuring error handling settings for asynchronous invocations"."""

DEFAULT_RETENTION_S = 7 * 24 * 3600
"""How long items are kept; an execution must end within it."""

MAX_DELIVERY_MS = 900_000
"""How long a delivery may last. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

DEADLINE_MARGIN_S = 3600
"""By how much the last delivery of an execution's last event precedes the first expiry of its items: a delivery may run
for 15 minutes, and clocks differ."""


class Invoker(Protocol):
    """Hands events to functions, asynchronously."""

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Invoke (address, payload) each; returns when all were accepted.

        Raises:
            InvokeError: some event was not accepted; others may have been.
        """
        ...


class Timer(Protocol):
    """Hands events to functions when their time has come."""

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """Deliver (address, payload) each at a time in milliseconds since 1970, not before; returns when all are kept.

        Raises:
            InvokeError: some event was not accepted; others may have been.
        """
        ...


class NoTimer:
    """The timer of a deployment that has none."""

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """See `Timer.schedule`."""
        raise NoRoute(f"no timer: {len(events)} events have to wait, and this function has nothing to keep them")


@dataclass(frozen=True)
class Call:
    """What user code may know of its invocation, beside its input.

    Attributes:
        execution: name of the execution.
        invocation: the invocation's unique name.
        state: name of the Task.
        function: key of the function.
        idempotency_key: the same on every delivery of this invocation; for side effects of user code.
        resource: of a service, what is called; None for a Lambda function.
        pattern: when the Task is done.
        attempt: how often the Task was retried before.
        timeout_s: how long it may take, in seconds; None for no limit of its own.
        token: what whoever hands in the result has to show; empty where nobody does.
        job: what the service that works on it has to be asked by; None before it has begun.
        start_aliases: of a service, the workflows that it may start executions of: the ARN of each one's start alias,
            by what stands for it in parameters.
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


@dataclass(frozen=True)
class JobPending:
    """What user code returns that has to be asked again: the Task goes on with `job` in `delay_ms` milliseconds."""

    job: Json
    delay_ms: int


@dataclass(frozen=True)
class CallbackPending:
    """What user code returns whose result somebody else hands back, by the Task's token."""


class Log(Protocol):
    """Writes one structured line."""

    def __call__(self, message: str, /, **fields: Json) -> None:
        """Write `message` and `fields`."""
        ...


def silent(_message: str, /, **_fields: Json) -> None:
    """A log that keeps nothing."""


def sends_all(_address: str, _event: Envelope, _task: Task) -> bool:
    """What a delivery may go on with itself: nothing; it sends every event."""
    return False


def _new_delivery() -> str:
    return os.urandom(16).hex()


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """A workflow's runtime in one function.

    Attributes:
        workflow: the compiled workflow.
        store: shared state of all functions.
        invoker: reaches other functions.
        clock: tells the time.
        call: runs user code for a Task with its effective input and returns what it returned; `JobPending` and
            `CallbackPending` say that there is no result yet.
        hosts: keys of the workflow's functions that this function is.
        routes: addresses of functions by key.
        carried: keys of the functions whose addresses a start puts into the envelopes.
        retention_s: how long items are kept, in seconds; more than `EVENT_LIFE_S` and `DEADLINE_MARGIN_S`.
        result_retention_s: how long an execution's start record and the commit that ended it are kept, in seconds; None
            for as long as the rest, and never shorter.
        collection: when stored outcomes go.
        log: one structured line for each thing that happened.
        remaining_ms: how much time is left to this delivery, in milliseconds.
        delivery: names this delivery; no other has the same, not even of the same event.
        code: changes whenever user code, or anything that it is configured with, does.
        maintain_leases: whether threads renew the leases of this delivery.
        timer: delivers events later.
        own_address: of this function.
        fuses: whether the delivery may go on itself with what would be an event to (address, event, its Task), which
            is then not sent; see `fusion`. Only where outcomes expire, for what is collected has to be followed by one.
        most_begun: how many branches a delivery begins by itself, 2 or more; where there are more, it has deliveries of
            their own begin parts of them.
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
    code: str = ""
    maintain_leases: bool = False
    timer: Timer = field(default_factory=NoTimer)
    own_address: str = ""
    fuses: Callable[[str, Envelope, Task], bool] = sends_all
    most_begun: int = MOST_BEGUN

    def in_delivery(self, **own: Any) -> "Runtime":
        """The runtime of another delivery to the same function version.

        Args:
            own: the attributes that are that delivery's own.
        """
        store = self.store if self.large is None else self.large.in_delivery()
        made = object.__new__(Runtime)  # all is there already, so that no `__init__` has to find out what is missing
        vars(made).update(vars(self), **{"store": store, "delivery": _new_delivery(), **own})
        return made

    @property
    def large(self) -> LargeItems | None:
        """The store, if it takes texts of any size."""
        return self.store if isinstance(self.store, LargeItems) else None

    def address(self, function: str, carried: Mapping[str, str]) -> str:
        """Where to invoke `function`.

        Raises:
            NoRoute: neither this function's environment nor the envelope knows it.
        """
        address = carried.get(function) or self.routes.get(function)
        if address is None:
            raise NoRoute(f"no route to function {function!r}: neither in the environment nor in the envelope")
        return address

    def start_aliases(self, carried: Mapping[str, str]) -> Mapping[str, str]:
        """The start aliases of workflows that Tasks start, by what stands for them in parameters.

        That is the ARN in the context object for the workflow itself, and a placeholder for any other.
        """
        own = self.workflow.home.arn(f"stateMachine:{self.workflow.name}")
        known = {**self.routes, **carried}
        return {key.removeprefix(START) or own: known[key] for key in known if key.startswith(START)}

    def not_after_s(self, execution: Execution, due_ms: int | None = None) -> int:
        """Until when an event of `execution` that is sent now, or at `due_ms`, may be delivered, in seconds since 1970.

        However often events are repeated late and send their successors anew, none is delivered after the first item of
        the execution may have expired.
        """
        sent_ms = self.clock.now_ms() if due_ms is None else max(due_ms, self.clock.now_ms())
        return min(sent_ms // 1000 + EVENT_LIFE_S, self.last_s(execution))

    def last_s(self, execution: Execution) -> int:
        """When the last event of `execution` may be delivered, in seconds since 1970."""
        return execution.started_ms // 1000 + self.retention_s - DEADLINE_MARGIN_S

    def expires_at_s(self) -> int:
        """When an item that is written now expires, in seconds since 1970."""
        return self.clock.now_ms() // 1000 + self.retention_s

    def result_expires_at_s(self) -> int:
        """When it expires if it is a part of an execution's result, in seconds since 1970."""
        return self.clock.now_ms() // 1000 + (self.result_retention_s or self.retention_s)
