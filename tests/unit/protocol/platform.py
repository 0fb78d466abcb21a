"""A platform of which a test decides everything: what is delivered when, and how much time passes."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

from tests.unit.protocol.log_lines import check_line
from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import RefusedDelivery
from unum_runtime.model.checkpoint import Checkpoint, Ending
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.runtime import Call, Runtime
from unum_simulator.memory_store import MemoryStore

Function = Callable[[Any], Any]


@dataclass
class MovableClock:
    ms: int = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def pass_seconds(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


@dataclass
class Platform:
    """Keeps every event that was sent; delivers one when it is told to."""

    workflow: Workflow
    functions: dict[str, Function]
    clock: MovableClock = field(default_factory=MovableClock)
    collection: Collection = Collection.TTL
    sent: list[Envelope] = field(default_factory=list)
    waiting: list[tuple[int, Envelope]] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    logged: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    deliveries: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.memory = MemoryStore(self.clock)
        self.store: Any = self.memory

    @classmethod
    def of(
        cls, definition: dict[str, Any], options: dict[str, FunctionOptions] | None = None, **functions: Function
    ) -> Self:
        compiled = compile_workflow(definition, name="w", functions=functions, options=options or {})
        return cls(compiled, functions)

    def runtime(self) -> Runtime:
        hosts = frozenset(self.functions)
        return Runtime(
            workflow=self.workflow,
            store=self.store,
            invoker=self,
            clock=self.clock,
            call=self._call,
            hosts=hosts,
            routes={function: function for function in hosts},
            collection=self.collection,
            log=self._log,
            # Names of deliveries spread the looks of waiters; at random, so would be what a test sees.
            **{"timer": self, "delivery": f"{next(self.deliveries):032x}", **self.options},
        )

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        assert all(isinstance(address, str) for address, _ in events)
        self.sent += [Envelope.from_json(json.loads(payload)) for _, payload in events]

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        self.waiting += [(due_ms, Envelope.from_json(json.loads(payload))) for _, payload, due_ms in events]

    def start(self, name: str = "e", value: Any = None) -> None:
        start(self.runtime(), name, value)

    def deliver(self, event: Envelope) -> None:
        step(self.runtime(), event)

    def deliver_all(self) -> None:
        """Deliver every event that was sent and all that follow, each once; as Lambda, take no offence at a refusal."""
        while self.sent:
            with suppress(RefusedDelivery):
                self.deliver(self.sent.pop(0))

    def pass_to_next(self) -> Envelope:
        """Let time pass until the first event that waits is due, and take it."""
        self.waiting.sort(key=lambda each: each[0])
        due_ms, event = self.waiting.pop(0)
        self.clock.ms = max(self.clock.ms, due_ms)
        return event

    def run(self, name: str = "e", value: Any = None) -> Ending | None:
        self.start(name, value)
        self.deliver_all()
        return self.ending(name)

    def ending(self, name: str = "e") -> Ending | None:
        record = stored_steps.start_record(self.memory, "w", name)
        return stored_steps.ending(self.memory, "w", record.name.execution)

    def steps(self, name: str = "e") -> list[Checkpoint]:
        record = stored_steps.start_record(self.memory, "w", name)
        return list(stored_steps.steps(self.memory, "w", record.name.execution))

    def messages(self) -> list[str]:
        return [message for message, _ in self.logged]

    def _log(self, message: str, /, **fields: Any) -> None:
        check_line(message, fields)
        self.logged.append((message, fields))

    def _call(self, call: Call, event: Any) -> Any:
        self.calls[call.state] += 1
        return self.functions[call.function](event)


def chain(*states: str, **fields: Any) -> dict[str, Any]:
    """Tasks in a row; `F/A` is Task A of function F, and a name alone is Task and function in one."""
    names = [state.rpartition("/")[2] for state in states]
    table: dict[str, Any] = {}
    for state, name, after in zip(states, names, [*names[1:], None], strict=True):
        continuation = {"End": True} if after is None else {"Next": after}
        table[name] = {"Type": "Task", "Resource": state.partition("/")[0], **continuation, **fields.get(name, {})}
    return {"StartAt": names[0], "States": table}


def exactly(text: str) -> str:
    """A pattern for an error whose whole text is this, as its reader gets it."""
    return f"^{re.escape(text)}$"
