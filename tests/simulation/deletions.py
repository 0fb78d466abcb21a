"""A platform on which executions are deleted: it keeps every event, to deliver it again, and can cut every call."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.definitions import Graph
from tests.unit.protocol.platform import Platform
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionAlreadyExists, RefusedDelivery, StoreError, TimeIsShort
from unum_runtime.json_text import to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Execution, Key, execution_partition_prefix, start_key, sweep_partition
from unum_runtime.protocol.control.deletions import delete
from unum_runtime.protocol.control.deletions.delete import QUIET_MS
from unum_runtime.protocol.history.start_records import last_step, start_record
from unum_runtime.protocol.planning.existing_start import DELETED
from unum_runtime.protocol.runtime import Call
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects
from unum_simulator.scenario import Context

NAME = "e"


class Cut(StoreError):
    """The sandbox died at this call."""


@dataclass
class CuttingStore:
    """Passes calls on, up to a number of them; every second cut happens after the call."""

    inner: Any
    left: int | None = None
    made: int = 0

    def __getattr__(self, name: str) -> Any:
        called = getattr(self.inner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self.made += 1
            if self.left is None:
                return called(*arguments, **options)
            self.left -= 1
            if self.left < 0:
                if self.left == -1:
                    called(*arguments, **options)
                raise Cut(f"cut at {name}")
            return called(*arguments, **options)

        return call


@dataclass
class Deleting(Platform):
    """Keeps all events that were ever sent, and runs functions of the simulator's graphs."""

    ever: list[Envelope] = field(default_factory=list)
    objects: MemoryObjects = field(default_factory=MemoryObjects)
    meanwhile: Callable[[], object] | None = None
    items: Any = None

    @classmethod
    def of_graph(cls, graph: Graph) -> "Deleting":
        made = cls(replace(graph.workflow(), name="w"), dict(graph.functions))  # type: ignore[arg-type]
        made.items, made.options = CuttingStore(made.memory), {"own_address": "F:1"}
        made.store = LargeItems(made.items, made.objects, "w", least_bytes=20)
        return made

    def deliver(self, event: Envelope) -> None:
        """Deliver `event`, with a store that knows no objects of other deliveries."""
        self.store = self.store.in_delivery()
        super().deliver(event)

    def invoke(self, events: Any) -> None:
        super().invoke(events)
        self.ever += self.sent[len(self.sent) - len(events) :]

    def delete(
        self, calls: int | None = None, remaining_ms: Callable[[], int] | None = None, name: str = NAME
    ) -> delete.Deletion:
        """Delete the execution; with `calls`, the sandbox dies after so many store operations."""
        self.items.left = calls
        try:
            rt = self.runtime()
            return delete.delete(replace(rt, remaining_ms=remaining_ms) if remaining_ms else rt, name)
        finally:
            self.items.left = None

    def delete_for_good(self, name: str = NAME) -> None:
        """Delete it now, and again when nothing runs any more; repeat what was left."""
        for _ in range(2):
            with suppress(TimeIsShort):
                self.delete(name=name)
            self.clock.ms += QUIET_MS
        assert self.delete(name=name).again_ms is None

    def deliver_late(self) -> None:
        """Deliver the start event and every other event once more, and all that follows."""
        for event in [*self.ever]:
            self._deliver_again(event)
        with suppress(RefusedDelivery, ExecutionAlreadyExists):
            self.start(NAME, "late")
        while self.sent:
            self._deliver_again(self.sent.pop(0))

    def _deliver_again(self, event: Envelope) -> None:
        with suppress(RefusedDelivery):
            self.deliver(event)

    def is_running(self) -> bool:
        last = last_step(self.store, "w", self.execution())
        return last is None or last.ending is None

    def execution(self) -> Execution:
        return start_record(self.store, "w", NAME).name.execution

    def rest(self) -> Iterator[tuple[Key, Any]]:
        """Yield all that is stored, apart from markers and the start record that a deletion leaves."""
        for key, (item, _) in self.memory._items.items():
            # An empty item was made to expire.
            if (
                self.is_of_execution(key)
                and item
                and not (item.get("error") == to_text(DELETED) and "opens" not in item)
            ):
                yield key, item
        yield from (pair for pair in self.memory._sets.items() if self.is_of_execution(pair[0]))
        yield from ((Key("object", name), content) for name, content in self.objects._contents.items())

    def is_of_execution(self, key: Key) -> bool:
        if key.partition == sweep_partition("w"):  # names alone
            return False
        top = execution_partition_prefix("w")
        return key == start_key("w", NAME) or key.partition.startswith((top, "token:w/"))

    def _call(self, call: Call, event: Any) -> Any:
        self.calls[call.state] += 1
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        context = Context(call, 0, self.clock, call.function, "request")  # type: ignore[arg-type]  # a clock is enough
        return self.functions[call.function](event, context)  # type: ignore[call-arg]  # functions of the simulator
