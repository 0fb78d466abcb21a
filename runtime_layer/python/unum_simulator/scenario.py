"""Input of a simulation: workflow, handlers, execution input, and fault budget."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from unum_runtime.asl.deployed_workflow import with_numbers
from unum_runtime.clock import Clock
from unum_runtime.json_text import parse_json, to_ascii, to_text
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import is_answered, named_start
from unum_runtime.model.identity import event_name
from unum_runtime.model.ir import MOST_BEGUN, Collection, Workflow
from unum_runtime.model.naming import Key, start_key
from unum_runtime.model.requests import INPUT, run_request
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.control.forks.fork import ForkRequest
from unum_runtime.protocol.requests.entry_aliases import run, start_by_event
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, MAX_DELIVERY_MS, Call, Runtime
from unum_runtime.store.base import Objects, Store
from unum_runtime.store.large_items import DAY_S, LargeItems, object_lifetime_days
from unum_simulator.faults import RUN_S, Faults
from unum_simulator.local import Function
from unum_simulator.simulated_store import SimulatedStore
from unum_simulator.stand_ins.lambda_context import LambdaContext

BEGUN_MS = 1_800_000_000_000
"""Start time of every simulation, in milliseconds since 1970."""

REQUEST_ID = "execution"
"""Id of the start event, equal in each of its deliveries."""


@dataclass
class VirtualClock:
    """A clock that only the simulation moves.

    Attributes:
        ms: current time, in milliseconds since 1970.
        skew_ms: difference of the clock of the sandbox that runs; 0 between deliveries.
    """

    ms: int = BEGUN_MS
    skew_ms: int = 0

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return self.ms + self.skew_ms

    @contextmanager
    def skewed(self, skew_ms: int) -> Iterator[None]:
        """Show the time of a sandbox's clock while the block runs."""
        self.skew_ms = skew_ms
        try:
            yield
        finally:
            self.skew_ms = 0

    def sleep(self, seconds: float) -> None:
        """Advance the clock, like user code that takes `seconds`."""
        self.ms += round(seconds * 1000)


class Context(LambdaContext):
    """Lambda's context of a simulated function.

    Attributes:
        run: number of earlier runs of user code for this invocation; a mock may return another value each time.
        clock: the simulation's clock.
    """

    def __init__(
        self,
        unum: Call,
        run: int,
        clock: VirtualClock,
        function_name: str,
        aws_request_id: str,
        until_ms: int | None = None,
    ) -> None:
        self.run, self.clock = run, clock
        end_ms = clock.ms + MAX_DELIVERY_MS if until_ms is None else until_ms
        super().__init__(unum, function_name, aws_request_id, remaining_ms=lambda: end_ms - clock.ms)


Entry: TypeAlias = Callable[[Runtime, str, Json], None]
"""A function's handling of events from outside: (runtime, event id, event)."""


def begin(rt: Runtime, request_id: str, event: Json) -> None:
    """Start an execution at the run alias, if a client asks for it; with any other event, at the start alias."""
    if is_answered(event) or named_start(event) is not None:
        run(rt, event, request_id)
    else:
        start_by_event(rt, event, request_id)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario:
    """An immutable simulation input.

    Attributes:
        workflow: the compiled workflow.
        functions: a handler per function key, or per Task name, which takes precedence.
        input: the execution's input.
        faults: fault budget.
        retention_s: retention of items, in seconds.
        result_retention_s: retention of start record and final outcome, in seconds; None for `retention_s`.
        collection: when to collect stored outcomes.
        by_client: a client asks the run alias for the start, and repeats its request until it is answered.
        fusion: deliveries may continue with the next invocation in the same function.
        timeout_s: timeout of every function, in seconds; longer deliveries are killed.
        tick_ms: virtual time between two calls.
        entry: handling of start events.
        store: factory of the store.
        least_bytes: minimum size of texts that become objects, with references in events; None for no objects.
        most_begun: maximum number of branches that one delivery starts.
        starts: further start events, each a name and an input; a name may be that of another execution.
        signals: name and key of the signals that senders may send; an empty key for none.
        by_key: signals go to all executions.
        announces: starts and ends have status events.
        forks: requests for forks that operators may make, as many as `Faults.forks` allows.
        calls: arguments with which programs may call the only Task of the workflow, a variant for calls. If there are
            any, only the further start events start executions.
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
    starts: tuple[tuple[str, Json], ...] = ()
    forks: tuple[ForkRequest, ...] = ()
    signals: tuple[tuple[str, str], ...] = ()
    calls: tuple[Json, ...] = ()
    by_key: bool = False
    announces: bool = False

    # Fail before the search: in a run, a missing handler would look like a failure of the Task.
    def __post_init__(self) -> None:
        with_numbers(self.workflow)
        missing = sorted(task.name for task in self.workflow.tasks if self._handler(task) is None)
        if missing:
            raise KeyError(
                f"functions: no handler for the Tasks {missing}; add one per Task name or function key; "
                f"there are handlers for {sorted(self.functions)}"
            )

    def new_store(self, clock: Clock) -> SimulatedStore:
        """Return an empty store whose objects live as long as in the constructs' payload bucket."""
        store = self.store(clock)
        store.lasting_s = object_lifetime_days(max(self.retention_s, self.result_retention_s or 0)) * DAY_S
        return store

    def protocol_store(self, store: Store, objects: Objects) -> Store:
        """Return the store for the protocol, with large values as objects if the scenario has them."""
        if self.least_bytes is None:
            return store
        return LargeItems(store, objects, self.workflow.name, self.least_bytes, event_bytes=self.least_bytes)

    def handler(self, state: str) -> Function:
        """Return the handler of Task `state`."""
        handler = self._handler(self.workflow.task(state))
        assert handler is not None  # noqa: S101 - checked when the scenario was made
        return handler

    @cached_property
    def execution_name(self) -> str:
        """The expected execution name."""
        return event_name(self.input) or REQUEST_ID

    @cached_property
    def start_key(self) -> Key:
        """The start record's key."""
        return start_key(self.workflow.name, self.execution_name)

    @cached_property
    def routes(self) -> Mapping[str, str]:
        """Addresses of all functions: each function's key."""
        return {task.function: task.function for task in self.workflow.tasks}

    def start_events(self) -> list[tuple[str, bytes]]:
        """Return name and payload of each start event, that of the first execution first."""
        first = run_request(self.execution_name, {INPUT: self.input}) if self.by_client else self.input
        started = [] if self.calls else [(self.execution_name, first)]
        return [(name, to_ascii(event).encode()) for name, event in (*started, *self.starts)]

    def started_with(self, name: str, record: Item) -> Json:
        """Return the input with which start `record` was written, one of those given for `name`.

        Raises:
            ValueError: the record has another input.
        """
        starts = [(self.execution_name, self.input), *self.starts]
        values = [value for each, value in starts if each == name]
        if not values:  # the run of a call
            return parse_json(str(record["value"]))
        if len(values) < 2 or "value" not in record:  # an input that is too large is not in the record  # noqa: PLR2004
            return values[0]
        return values[[to_text(value) for value in values].index(str(record["value"]))]

    def _handler(self, task: Task) -> Function | None:
        return self.functions.get(task.name) or self.functions.get(task.function)
