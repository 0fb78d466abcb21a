"""A workflow in one process: the real ingress, step, plan and perform on a memory store and a queue of events."""

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from unum_runtime.client import history
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import Ending
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection, Json, Workflow
from unum_runtime.protocol.runtime import Call, Runtime
from unum_runtime.protocol.start import start
from unum_runtime.protocol.step import step
from unum_runtime.store.base import Store
from unum_runtime.store.memory import MemoryStore

Function: TypeAlias = Callable[[Json, Any], Any]
"""A Lambda handler: (event, context) to result."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler gets as its context: of Lambda's, only what the runtime adds to it.

    Attributes:
        unum: the invocation.
    """

    unum: Call


@dataclass(frozen=True)
class Queue:
    """An invoker that keeps events until they are taken, first in, first out."""

    events: deque[bytes] = field(default_factory=deque)

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """See `Invoker.invoke`."""
        self.events.extend(payload for _, payload in events)


@dataclass(frozen=True)
class LocalWorkflow:
    """Runs a workflow's executions one delivery after the other.

    Attributes:
        workflow: the compiled workflow.
        functions: a handler for each function key of the workflow; its context is a `Context`.
        store: keeps what the executions commit.
        clock: tells the time.
        collection: when stored outcomes go.
    """

    workflow: Workflow
    functions: Mapping[str, Function]
    store: Store = field(default_factory=MemoryStore)
    clock: Clock = field(default_factory=SystemClock)
    collection: Collection = Collection.TTL

    def run(self, execution_name: str, value: Json) -> Ending:
        """Start an execution and deliver every event that comes of it.

        Raises:
            KeyError: the workflow needs a function that `functions` lacks.
            InconsistentHistory: no event is left, but the execution has not ended.
        """
        missing = sorted({task.function for task in self.workflow.tasks} - self.functions.keys())
        if missing:
            raise KeyError(f"functions {missing}: the workflow needs them; given are {sorted(self.functions)}")
        queue = Queue()
        runtime = self._runtime(queue)
        start(runtime, execution_name, value)
        while queue.events:
            step(runtime, Envelope.from_json(json.loads(queue.events.popleft())))
        record = history.start_record(self.store, self.workflow.name, execution_name)
        ending = history.ending(self.store, self.workflow.name, record.name.execution)
        if ending is None:
            raise InconsistentHistory(f"{execution_name}: no event is left, but the execution has not ended")
        return ending

    def _runtime(self, queue: Queue) -> Runtime:
        functions = frozenset(self.functions)
        return Runtime(
            workflow=self.workflow,
            store=self.store,
            invoker=queue,
            clock=self.clock,
            collection=self.collection,
            call=lambda call, value: self.functions[call.function](value, Context(call)),
            hosts=functions,
            routes={function: function for function in functions},
        )
