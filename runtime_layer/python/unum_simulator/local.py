"""Local execution of a workflow in one process: the real protocol on a memory store and an event queue."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from unum_client.reading import stored_steps
from unum_runtime.asl.deployed_workflow import with_numbers
from unum_runtime.clock import SkippingClock
from unum_runtime.errors import InconsistentHistory, RefusedDelivery
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Ending
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, Call, Runtime
from unum_runtime.store.base import Store
from unum_simulator.memory_store import MemoryStore
from unum_simulator.stand_ins.called_handlers import handler_names, run_handler
from unum_simulator.stand_ins.lambda_context import LambdaContext

Function: TypeAlias = Callable[[Json, Any], Any]
"""A Lambda handler: (event, context) to result."""


@dataclass
class Queue:
    """An invoker and timer that queue events by time."""

    clock: SkippingClock
    _events: list[tuple[int, int, bytes]] = field(default_factory=list)
    _kept: int = 0

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """See `Invoker.invoke`."""
        for _, payload in events:
            self._keep(0, payload)

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """See `Timer.schedule`."""
        for _, payload, due_ms in events:
            self._keep(due_ms, payload)

    def __bool__(self) -> bool:
        return bool(self._events)

    def take(self) -> bytes:
        """Remove and return the next event; skip the clock to its due time."""
        due_ms, _, payload = heapq.heappop(self._events)
        self.clock.skip_to(due_ms)
        return payload

    def _keep(self, due_ms: int, payload: bytes) -> None:
        self._kept += 1  # keeps the order of events that are due at the same time
        heapq.heappush(self._events, (due_ms, self._kept, payload))


@dataclass(frozen=True)
class LocalWorkflow:
    """A local runner of a workflow's executions: one delivery after another, without real waits.

    Attributes:
        workflow: the compiled workflow.
        functions: a handler per function key, or per Task name, which takes precedence, with a `LambdaContext`. A
            service Task needs a handler under its own name, from parameters to response; an invoked function, its key.
        store: store of all commits.
        clock: the local clock.
        collection: when to collect stored outcomes.
        fusion: deliveries may continue with the next invocation in the same function.
    """

    workflow: Workflow
    functions: Mapping[str, Function]
    store: Store = field(default_factory=MemoryStore)
    clock: SkippingClock = field(default_factory=SkippingClock)
    collection: Collection = Collection.TTL
    fusion: bool = True

    def run(self, execution_name: str, value: Json) -> Ending:
        """Start an execution, deliver all its events, and return its ending.

        Raises:
            KeyError: `functions` lacks a required function.
            DefinitionError: only the deployment knows a number of a retrier, or the time limit of executions.
            InconsistentHistory: the execution has not ended, although no event is left.
        """
        self.deliver(execution_name, value)
        return self.ending(execution_name)

    def deliver(self, execution_name: str, value: Json) -> None:
        """Start an execution and deliver all its events.

        Raises:
            KeyError: `functions` lacks a required function.
            DefinitionError: only the deployment knows a number of a retrier, or the time limit of executions.
        """
        with_numbers(self.workflow)
        known = self.functions.keys()
        missing = sorted({task.function for task in self.workflow.tasks if known.isdisjoint(handler_names(task))})
        if missing:
            raise KeyError(f"functions: no handler for {missing}; there are handlers for {sorted(self.functions)}")
        queue = Queue(self.clock)
        start(self._in_function(self._runtime(queue), self.workflow.start_at), execution_name, value)
        while queue:
            envelope = Envelope.from_json(parse_json(queue.take()))
            with suppress(RefusedDelivery):  # as on Lambda, which does not redeliver a refused event
                step(self._in_function(self._runtime(queue), envelope.state), envelope)

    def ending(self, execution_name: str) -> Ending:
        """Return the ending of an execution after its last event.

        Raises:
            InconsistentHistory: the execution has not ended.
        """
        record = stored_steps.start_record(self.store, self.workflow.name, execution_name)
        ending = stored_steps.ending(self.store, self.workflow.name, record.name.execution)
        if ending is None:
            raise InconsistentHistory(f"{execution_name}: the execution has not ended, although no event is left")
        return ending

    def _call(self, call: Call, value: Json) -> Any:
        return run_handler(self.workflow.task(call.state), self.functions, value, LambdaContext(call))

    def _in_function(self, runtime: Runtime, state: str) -> Runtime:
        """Return `runtime` with fusion in the function of `state`, without a time limit."""
        task = self.workflow.states[state]
        if not self.fusion or not isinstance(task, Task):
            return runtime
        return replace(runtime, fuses=Fusion(task.function, lambda: MAX_DELIVERY_MS, MAX_DELIVERY_MS))

    def _runtime(self, queue: Queue) -> Runtime:
        functions = frozenset(task.function for task in self.workflow.tasks)
        return Runtime(
            workflow=self.workflow,
            store=self.store,
            invoker=queue,
            timer=queue,
            clock=self.clock,
            collection=self.collection,
            call=self._call,
            hosts=functions,
            routes={function: function for function in functions},
            arrival=Arrival(self.clock.now_ms()),
        )
