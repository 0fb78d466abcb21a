"""Exact resource usage of an execution: store operations, capacity units, bytes and events.

The runtime is the real one. `store.dynamodb` determines the requests behind each store operation, and
`simulator.capacity` their size in capacity units.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unum_runtime.aws.invoker import PARALLEL_CALLS
from unum_runtime.clock import SkippingClock
from unum_runtime.model.checkpoint import Ending, Item
from unum_runtime.model.delays import EARLY_S, LONGEST_IN_QUEUE_S, MAX_DELAY_S
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.runtime import Call, Runtime
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import BATCH_SIZE, EXPIRY, OWNER, UNTIL_MS
from unum_runtime.store.large_items import LargeItems
from unum_simulator.capacity import PAGE_BYTES, item_size, read_units, set_size, write_units
from unum_simulator.local import Function, LocalWorkflow, Queue
from unum_simulator.memory_store import MemoryObjects, MemoryStore


@dataclass(slots=True)
class Usage:
    """Resources that an execution used.

    Attributes:
        writes: PutItem and UpdateItem requests.
        reads: GetItem, BatchGetItem and Query requests; each page of a Query counts.
        write_units: capacity units of 1 KB.
        read_units: capacity units of 4 KB, for strongly consistent reads.
        moved_bytes: bytes of items and set members in requests and responses.
        runs: runs of user code, or of services in its place.
        invocations: function invocations, including the start of the execution.
        rounds: sequential rounds of parallel Invoke calls, each as long as one call.
        waits: deliveries into the timer queue; a long wait passes through it several times.
        schedules: schedules for events that are due after the queue's longest wait.
        waited_ms: idle time of the execution, in milliseconds.
        payload_bytes: bytes of sent events.
        object_writes: PutObject requests.
        object_reads: GetObject requests.
        object_bytes: bytes of written and read objects.
        items: items left after the execution.
        stored_bytes: bytes of those items.
        stored_object_bytes: bytes of objects left after the execution.
    """

    writes: int = 0
    reads: int = 0
    write_units: int = 0
    read_units: int = 0
    moved_bytes: int = 0
    runs: int = 0
    invocations: int = 0
    rounds: int = 0
    waits: int = 0
    schedules: int = 0
    waited_ms: int = 0
    payload_bytes: int = 0
    object_writes: int = 0
    object_reads: int = 0
    object_bytes: int = 0
    items: int = 0
    stored_bytes: int = 0
    stored_object_bytes: int = 0

    @property
    def calls(self) -> int:
        """Number of store operations."""
        return self.writes + self.reads

    @property
    def units(self) -> int:
        """Capacity units of writes and reads."""
        return self.write_units + self.read_units

    def count_write(self, size: int, moved: int) -> None:
        """Count a write of an item of `size` bytes that moved `moved` bytes in request and response."""
        self.writes += 1
        self.write_units += write_units(size)
        self.moved_bytes += moved

    def count_read(self, requests: int, units: int, moved: int) -> None:
        """Count reads that returned `moved` bytes."""
        self.reads += requests
        self.read_units += units
        self.moved_bytes += moved


@dataclass
class MeteredStore(MemoryStore):
    """A memory store that counts DynamoDB requests.

    Expired items cost nothing here: DynamoDB may or may not have deleted them.
    """

    usage: Usage = field(default_factory=Usage)

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        found = super().create(key, item, expires_at_s=expires_at_s)
        sent = item_size(key, item | {EXPIRY: expires_at_s})
        returned = 0 if found is None else self._size(key, found)
        # A failed condition consumes the units of the existing item. Source: DynamoDB Developer Guide,
        # "DynamoDB read and write operations".
        self.usage.count_write(max(sent, returned), sent + returned)
        return found

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """See `Store.read`."""
        wanted = list(dict.fromkeys(keys))
        found = super().read(wanted)
        # BatchGetItem rounds each item up to 4 KB on its own, and charges one unit for an absent item.
        sizes = [self._kept_size(key) if key in found else 0 for key in wanted]
        self.usage.count_read(-(-len(wanted) // BATCH_SIZE), sum(map(read_units, sizes)), sum(sizes))
        return found

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """See `Store.query`."""
        found = super().query(partition, newest=newest)
        # A Query rounds up the sum of all items, not each item.
        size = sum(self._size(key, item) for key, item in found.items())
        self.usage.count_read(size // PAGE_BYTES + 1, read_units(size), size)
        return found

    def replace(self, key: Key, item: Item, *, expires_at_s: int) -> None:
        """See `ErasableStore.replace`."""
        super().replace(key, item, expires_at_s=expires_at_s)
        self.usage.count_write(item_size(key, item | {EXPIRY: expires_at_s}), 0)

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`."""
        listed = list(keys)
        # Tombstones cost a write each: collection updates the items instead of deleting them.
        for key in listed:
            self.usage.count_write(self._kept_size(key), 0)
        super().collect(listed)

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """See `Store.extend`."""
        is_set, found = super().extend(key, item, unless=unless, expires_at_s=expires_at_s)
        size = self._size(key, found)
        self.usage.count_write(size, item_size(key, item | {EXPIRY: expires_at_s}) + size)
        return is_set, found

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        grown = super().add(key, *members, expires_at_s=expires_at_s)
        size = set_size(key, grown, expires_at_s)
        self.usage.count_write(size, set_size(key, members, expires_at_s) + size)
        return grown

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """See `Store.acquire`."""
        self._count_claim(key, owner, expires_at_ms)
        return super().acquire(key, owner, expires_at_ms=expires_at_ms)

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """See `Store.renew`."""
        self._count_claim(key, owner, expires_at_ms)
        return super().renew(key, owner, expires_at_ms=expires_at_ms)

    def release(self, key: Key, owner: str) -> None:
        """See `Store.release`."""
        self._count_claim(key, owner, self.clock.now_ms())
        super().release(key, owner)

    def count_left(self) -> None:
        """Count the stored items; released claims are expired and do not count."""
        sizes = [self._kept_size(key) for key in (*self._items, *self._sets)]
        self.usage.items, self.usage.stored_bytes = len(sizes), sum(sizes)

    def _count_claim(self, key: Key, owner: str, until_ms: int) -> None:
        size = item_size(key, {OWNER: owner, UNTIL_MS: until_ms, EXPIRY: -(-until_ms // 1000)})
        self.usage.count_write(size, size)

    def _size(self, key: Key, item: Item) -> int:
        return item_size(key, item | {EXPIRY: self._items[key][1]})

    def _kept_size(self, key: Key) -> int:
        if key in self._sets:
            return set_size(key, *self._sets[key])
        return self._size(key, self._items[key][0]) if key in self._items else 0


@dataclass
class MeteredObjects(MemoryObjects):
    """A memory object store that counts S3 requests."""

    usage: Usage = field(default_factory=Usage)

    def put(self, name: str, content: bytes) -> None:
        """See `Objects.put`."""
        self.usage.object_writes += 1
        self.usage.object_bytes += len(content)
        super().put(name, content)

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Objects.get`."""
        found = super().get(names)
        self.usage.object_reads += len(found)
        self.usage.object_bytes += sum(map(len, found.values()))
        return found

    def count_left(self) -> None:
        """Count the bytes of stored objects."""
        self.usage.stored_object_bytes = sum(map(len, self._contents.values()))


@dataclass
class _MeteredQueue:
    """An event queue that counts its events."""

    queue: Queue
    usage: Usage

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """See `Invoker.invoke`."""
        self.usage.invocations += len(events)
        # The invoker calls Lambda in parallel, at most PARALLEL_CALLS at once.
        self.usage.rounds += -(-len(events) // PARALLEL_CALLS)
        self.usage.payload_bytes += sum(len(payload) for _, payload in events)
        self.queue.invoke(events)

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """See `Timer.schedule`."""
        self.usage.invocations += len(events)
        now_ms = self.queue.clock.now_ms()
        for *_, due_ms in events:
            turns, schedules = _turns_and_schedules(due_ms - now_ms)
            self.usage.waits += turns
            self.usage.schedules += schedules
        self.usage.payload_bytes += sum(len(payload) for _, payload, _ in events)
        self.queue.schedule(events)


def _turns_and_schedules(wait_ms: int) -> tuple[int, int]:
    """Return the number of queue deliveries and of schedules for an event due in `wait_ms` milliseconds."""
    if wait_ms > LONGEST_IN_QUEUE_S * 1000:
        return 2 + _turns(EARLY_S * 1000), 1  # into the queue once before the schedule, and once from it
    return _turns(wait_ms), 0


def _turns(wait_ms: int) -> int:
    return max(1, -(-wait_ms // (MAX_DELAY_S * 1000)))


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Simulated durations, which limit fusion.

    Attributes:
        took_ms: returns the duration of a delivery with the given usage, in milliseconds.
        timeout_ms: returns the timeout of the function with the given key, in milliseconds.
    """

    took_ms: Callable[[Usage], float]
    timeout_ms: Callable[[str], int]


@dataclass(frozen=True)
class _MeteredWorkflow(LocalWorkflow):
    usage: Usage = field(default_factory=Usage)
    pace: Pace | None = None
    arrival: Arrival | None = None

    def _call(self, call: Call, value: Json) -> Any:
        self.usage.runs += 1
        return super()._call(call, value)

    def _in_function(self, runtime: Runtime, state: str) -> Runtime:
        """Return `runtime` with the function's remaining time under `pace`; without a pace, time is unlimited."""
        inside, pace = super()._in_function(runtime, state), self.pace
        if pace is None or not isinstance(inside.fuses, Fusion):
            return inside
        timeout_ms, began_ms = pace.timeout_ms(inside.fuses.address), pace.took_ms(self.usage)

        def remaining_ms() -> int:  # deliveries are sequential, so new usage belongs to this one
            return int(timeout_ms - (pace.took_ms(self.usage) - began_ms))

        return replace(inside, fuses=Fusion(inside.fuses.address, remaining_ms, timeout_ms))

    def _runtime(self, queue: Queue) -> Runtime:
        metered, store = _MeteredQueue(queue, self.usage), self.store
        if isinstance(store, LargeItems):
            store = store.in_delivery()
        return replace(super()._runtime(queue), invoker=metered, timer=metered, store=store, arrival=self.arrival)


BEGUN_MS = 1_812_345_678_901
"""Start time of metered executions, in milliseconds since 1970; like most times, without trailing zeros."""


class StillClock(SkippingClock):
    """A clock that advances only through waits, so that equal executions have items of equal size."""

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        return BEGUN_MS + self._skipped_ms


@dataclass(frozen=True, slots=True)
class Metered:
    """A completed execution.

    Attributes:
        usage: used resources.
        ending: the execution's ending.
        store: the store after the execution.
        name: execution name.
    """

    usage: Usage
    ending: Ending
    store: Store
    name: str


def meter(  # noqa: PLR0913 - one option per property of an execution
    workflow: Workflow,
    functions: Mapping[str, Function],
    value: Json,
    *,
    name: str = "execution",
    collection: Collection | None = None,
    fusion: bool = True,
    by_reference: bool = False,
    pace: Pace | None = None,
    arrival: Arrival | None = None,
) -> Metered:
    """Execute `workflow` once in this process, without faults, and count its resources.

    Args:
        workflow: the compiled workflow.
        functions: a handler (event, context) per function key or Task name, as in `LocalWorkflow`.
        value: the execution's input.
        name: execution name, which is part of keys and events.
        collection: when to collect stored outcomes; by default the workflow's setting.
        fusion: deliveries may continue with the next invocation in the same function.
        by_reference: the workflow has a bucket for large values.
        pace: simulated durations; by default deliveries take no time.
        arrival: what commits say of each delivery; None leaves these records out, which need no further write unit.

    Raises:
        KeyError: a Task has no handler.
        InconsistentHistory: the execution has not ended, although no event is left.
    """
    usage = Usage(invocations=1)
    clock = StillClock()
    store = MeteredStore(clock, usage=usage)
    objects = MeteredObjects(usage=usage)
    seen: Store = LargeItems(store, objects, workflow.name) if by_reference else store
    collected = collection or workflow.collection
    local = _MeteredWorkflow(workflow, functions, seen, clock, collected, fusion, usage, pace, arrival)
    local.deliver(name, value)
    store.count_left()
    objects.count_left()
    used = replace(usage, waited_ms=clock.now_ms() - BEGUN_MS)  # copied before `ending` reads the store
    return Metered(used, local.ending(name), seen, name)
