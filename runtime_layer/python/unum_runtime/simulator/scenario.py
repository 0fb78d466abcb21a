"""What is simulated: a workflow with its functions and input, and what the platform may do to it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from unum_runtime.clock import Clock
from unum_runtime.model.envelope import named_start, start_request
from unum_runtime.model.identity import event_name
from unum_runtime.model.ir import MOST_BEGUN, Collection, Json, Task, Workflow
from unum_runtime.model.naming import Key, start_key
from unum_runtime.protocol.delivery.start import resume, start
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, Call, Runtime
from unum_runtime.simulator.faults import RUN_S, Faults
from unum_runtime.simulator.simulated_store import SimulatedStore
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import DAY_S, LargeItems, object_lifetime_days
from unum_runtime.store.objects import Objects

BEGUN_MS = 1_800_000_000_000
"""When every simulation begins, in milliseconds since 1970."""

REQUEST_ID = "execution"
"""The start event's own id, the same on every delivery of it."""


@dataclass
class VirtualClock:
    """A clock that only the simulation moves.

    Attributes:
        ms: the time, in milliseconds since 1970.
    """

    ms: int = BEGUN_MS

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return self.ms

    def sleep(self, seconds: float) -> None:
        """Let time pass, as user code does that takes its time."""
        self.ms += round(seconds * 1000)


@dataclass(frozen=True, slots=True)
class Context:
    """What a simulated function gets as its context; the part of Lambda's that makes sense here.

    Attributes:
        unum: the invocation, as on Lambda.
        run: how often user code ran for this invocation before; lets a mock return something else every time.
        clock: the simulation's clock.
        function_name: key of the function.
        aws_request_id: the event's id, the same on every delivery of it.
    """

    unum: Call
    run: int
    clock: VirtualClock
    function_name: str
    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """No delivery has less time than this in a simulation; running out of it is a crash."""
        return 60_000


Function: TypeAlias = Callable[[Json, Any], Any]
"""A Lambda handler: (event, context) to result."""

Entry: TypeAlias = Callable[[Runtime, str, Json], None]
"""What a function does with an event from outside: (runtime, the event's id, the event)."""


def begin(rt: Runtime, request_id: str, event: Json) -> None:
    """Begin the execution that a client named, or else one named for the event."""
    name = named_start(event)
    if name is None:
        start(rt, event_name(event) or request_id, event)
    else:
        resume(rt, name)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario:
    """What is simulated; nothing in it changes.

    Attributes:
        workflow: the compiled workflow.
        functions: a handler for each function key, or for a single Task under the Task's name, which takes precedence.
        input: what the execution is started with.
        faults: what the platform may do.
        retention_s: how long items are kept, in seconds.
        result_retention_s: how long start record and end are kept; None for as long as the rest.
        collection: when stored outcomes go.
        by_client: a client writes the start record and names it in the start event.
        fusion: whether deliveries go on with what follows in the same function.
        timeout_s: of every function, in seconds; a delivery whose user code goes on for longer is killed.
        tick_ms: how much time passes between two calls.
        entry: what a function does with a start event.
        store: makes the store.
        least_bytes: from how many bytes on texts are stored as objects, and events have a reference in place of their
            input; None for no objects.
        most_begun: how many branches a delivery begins by itself.
    """

    workflow: Workflow
    functions: Mapping[str, Function]
    input: Json = None
    faults: Faults = field(default_factory=Faults)
    retention_s: int = DEFAULT_RETENTION_S
    result_retention_s: int | None = None
    collection: Collection = Collection.TTL
    by_client: bool = False
    fusion: bool = True
    timeout_s: int = RUN_S
    tick_ms: int = 0
    entry: Entry = begin
    store: Callable[[Clock], SimulatedStore] = SimulatedStore
    least_bytes: int | None = None
    most_begun: int = MOST_BEGUN

    def __post_init__(self) -> None:
        missing = sorted(task.name for task in self.workflow.tasks if self._handler(task) is None)
        if missing:
            raise KeyError(
                f"functions: nothing for the Tasks {missing}, neither by their names nor by their functions' keys; "
                f"given are {sorted(self.functions)}"
            )

    def new_store(self, clock: Clock) -> SimulatedStore:
        """The store of a simulation; objects last as long as the constructs have a bucket keep them."""
        store = self.store(clock)
        store.lasting_s = object_lifetime_days(max(self.retention_s, self.result_retention_s or 0)) * DAY_S
        return store

    def protocol_store(self, store: Store, objects: Objects) -> Store:
        """The store as the protocol sees it."""
        if self.least_bytes is None:
            return store
        return LargeItems(store, objects, self.workflow.name, self.least_bytes, event_bytes=self.least_bytes)

    def handler(self, state: str) -> Function:
        """What runs for the Task `state`."""
        handler = self._handler(self.workflow.task(state))
        assert handler is not None  # noqa: S101 - checked when the scenario was made
        return handler

    @cached_property
    def execution_name(self) -> str:
        """The name that the execution has to get."""
        return event_name(self.input) or REQUEST_ID

    @cached_property
    def start_key(self) -> Key:
        """Where the execution's start record is."""
        return start_key(self.workflow.name, self.execution_name)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The functions that there are."""
        return frozenset(task.function for task in self.workflow.tasks)

    @cached_property
    def routes(self) -> Mapping[str, str]:
        """Their addresses: here every function has its key for one."""
        return {function: function for function in self.hosts}

    @property
    def start_expires_at_s(self) -> int:
        """When a start record expires that a client writes as everything begins, in seconds since 1970."""
        return BEGUN_MS // 1000 + (self.result_retention_s or self.retention_s)

    def start_event(self) -> bytes:
        """The event that starts the execution."""
        return json.dumps(start_request(self.execution_name) if self.by_client else self.input).encode()

    def _handler(self, task: Task) -> Function | None:
        return self.functions.get(task.name) or self.functions.get(task.function)
