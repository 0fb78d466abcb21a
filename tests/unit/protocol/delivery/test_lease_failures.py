"""No failure of a lease changes a result: leases that fail, expire, are lost or stolen at any call, among all else that
may happen to deliveries (crashes, duplicates, one inside another), in workflows with every guard."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.unit.protocol.platform import MovableClock, Platform
from unum_client.reading import stored_steps
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import InvokeError, LeaseHeldError, RefusedDelivery, StoreError
from unum_runtime.model.checkpoint import Ending, Item, Status, Success, start_record
from unum_runtime.model.envelope import Envelope, Writer
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Key, lease_key, start_key
from unum_runtime.model.states import Guard, Json
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.runtime import Call, Runtime
from unum_simulator.memory_store import MemoryStore

LEASE = FunctionOptions(guard=Guard.LEASE)
BOTH = FunctionOptions(guard=Guard.LEASE, memoize=True)
MEMOIZE = FunctionOptions(memoize=True)
WITHOUT = FunctionOptions(checkpoint=False)


def task(function: str, **fields: Any) -> dict[str, Any]:
    return {"Type": "Task", "Resource": function, **({} if "Next" in fields else {"End": True}), **fields}


BRANCH = {"StartAt": "U", "States": {"U": task("U", Next="D"), "D": task("D")}}
DEFINITION = {
    "StartAt": "A",
    "States": {
        "A": task("A", Next="B"),
        "B": task("B", Next="M"),
        "M": {"Type": "Map", "ItemProcessor": BRANCH, "Next": "J"},
        "J": task("J", Next="V"),
        "V": task("V", Next="E"),
        "E": task("E"),
    },
}
OPTIONS = {"A": LEASE, "B": BOTH, "U": WITHOUT, "D": LEASE, "J": BOTH, "V": WITHOUT, "E": MEMOIZE}
FUNCTIONS: dict[str, Any] = {
    "A": list,
    "B": lambda v: [n + 1 for n in v],
    "U": abs,
    "D": abs,
    "J": sum,
    "V": abs,
    "E": abs,
}
RESULT = Ending(Status.SUCCEEDED, Success(9))
INPUT = [1, 2, 3]


class Crash(BaseException):
    """The sandbox is gone."""


@dataclass(frozen=True)
class Start:
    """A start event in the name of a writer."""

    writer: Writer


@dataclass
class World:
    """Events, and what is decided at every call."""

    data: st.DataObject
    collection: Collection
    functions: dict[str, Any]
    clock: MovableClock = field(default_factory=MovableClock)
    waiting: list[Envelope | Start] = field(default_factory=list)
    done: list[Envelope | Start] = field(default_factory=list)
    sent_back: Counter[int] = field(default_factory=Counter)
    faults_left: int = 12
    depth: int = 0
    endings: list[Ending] = field(default_factory=list)
    deliveries: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock)
        self.workflow = Platform.of(DEFINITION, OPTIONS, **FUNCTIONS).workflow
        record = start_record(Execution("e", self.clock.ms), INPUT)
        expires_at_s = self.clock.ms // 1000 + 86_400 * 7
        self.store.create(start_key("w", "e"), record.to_item(), expires_at_s=expires_at_s)
        self.execution = record.name.execution
        for writer in ("first", "second"):
            self.waiting.append(Start(Writer(writer, self.clock.ms)))

    def fault(self, *faults: str) -> str:
        """Return the fault at this call; mostly none."""
        if self.faults_left == 0 or self.data.draw(st.integers(0, 7)):
            return "nothing"
        self.faults_left -= 1
        chosen = self.data.draw(st.sampled_from(faults))
        event(chosen)
        return chosen

    def deliver(self, what: Envelope | Start) -> None:
        self.depth += 1
        port = Port(self)
        try:
            self._protocol(port, what)
        except LeaseHeldError:
            self.sent_back[id(what)] += 1
            assert self.sent_back[id(what)] <= 2, "the platform would give the event up"
            self._again(what, pause_s=60 * self.sent_back[id(what)])
        except (Crash, StoreError, InvokeError):
            self._again(what, pause_s=60)
        except RefusedDelivery:
            self.done.append(what)
        else:
            self.done.append(what)
        finally:
            self.depth -= 1
        self._note_ending()

    def deliver_all(self) -> None:
        for _ in range(2_000):
            if not self.waiting:
                return
            self.deliver(self.waiting.pop(0))
        raise AssertionError("it never ends")

    def deliver_another(self) -> None:
        """Deliver another event meanwhile, or the same event again."""
        if self.depth > 2:
            return
        if self.waiting and self.data.draw(st.booleans()):  # type: ignore[arg-type]  # a wrapper
            self.deliver(self.waiting.pop(self.data.draw(st.integers(0, len(self.waiting) - 1))))
        elif self.done:
            self.deliver(self.done[self.data.draw(st.integers(0, len(self.done) - 1))])

    def _again(self, what: Envelope | Start, pause_s: int) -> None:
        self.clock.pass_seconds(pause_s)
        self.waiting.append(what)

    def _protocol(self, port: "Port", what: Envelope | Start) -> None:
        if isinstance(what, Envelope):
            step(self._runtime(port), what)
            return
        self.store.acquire(lease_key(start_key("w", "e")), what.writer.name, expires_at_ms=self.clock.ms + 60_000)
        resume(self._runtime(port), "e", what.writer)

    def _runtime(self, port: "Port") -> Runtime:
        return Runtime(
            workflow=self.workflow,
            store=port,  # type: ignore[arg-type]  # a wrapper
            invoker=port,
            timer=port,
            clock=self.clock,
            call=self._call,
            hosts=frozenset(FUNCTIONS),
            routes={function: function for function in FUNCTIONS},
            collection=self.collection,
            delivery=f"{next(self.deliveries):032x}",  # their names spread what waits; at random, no run is repeatable
        )

    def _call(self, call: Call, value: Json) -> Any:
        if self.fault("another") == "another":
            self.deliver_another()
        return self.functions[call.function](value)

    def _note_ending(self) -> None:
        ending = stored_steps.ending(self.store, "w", self.execution)
        if ending is not None:
            self.endings.append(ending)
            assert ending == self.endings[0], "a result never changes"


@dataclass
class Port:
    """Store and invoker of one delivery."""

    world: World
    is_dead: bool = False

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        return self._shared("create", key, item, expires_at_s=expires_at_s)

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        return self._shared("read", list(keys))

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        return self._shared("query", partition, newest=newest)

    def add(self, key: Key, *members: int, expires_at_s: int) -> frozenset[int]:
        return self._shared("add", key, *members, expires_at_s=expires_at_s)

    def collect(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._shared("collect", [key])

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        return self._lease("acquire", key, owner, expires_at_ms=expires_at_ms)

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        return self._lease("renew", key, owner, expires_at_ms=expires_at_ms)

    def release(self, key: Key, owner: str) -> None:
        self._lease("release", key, owner)

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        for _, payload in events:
            self._meanwhile()
            self.world.waiting.append(Envelope.from_json(json.loads(payload)))

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        self.invoke([(address, payload) for address, payload, _ in events])
        self.world.clock.ms = max(self.world.clock.ms, *(due_ms for _, _, due_ms in events))

    def _shared(self, primitive: str, *args: Any, **named: Any) -> Any:
        self._meanwhile()
        answer = getattr(self.world.store, primitive)(*args, **named)
        self._crash_if(crashes=self.world.fault("crash") == "crash")
        return answer

    def _lease(self, primitive: str, key: Key, owner: str, **named: Any) -> Any:
        self._meanwhile()
        fault = self.world.fault("refused", "unanswered", "lost", "stolen", "late")
        if fault == "refused":
            raise StoreError("refused")
        if fault in ("lost", "stolen"):
            self.world.store._leases.pop(key, None)
        if fault == "stolen":
            self.world.store.acquire(key, "thief", expires_at_ms=self.world.clock.ms + 900_000)
        if fault == "late":
            self.world.clock.pass_seconds(50)
        answer = getattr(self.world.store, primitive)(key, owner, **named)
        if fault == "unanswered":
            raise StoreError("unanswered")
        return answer

    def _meanwhile(self) -> None:
        fault = self.world.fault("crash", "another", "another")
        if fault == "another" and not self.is_dead:
            self.world.deliver_another()
        self._crash_if(crashes=fault == "crash")

    def _crash_if(self, *, crashes: bool) -> None:
        self.is_dead = self.is_dead or crashes
        if self.is_dead:
            raise Crash


SEARCH = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


@given(st.data(), st.sampled_from(Collection))
@SEARCH
def test_no_failure_of_a_lease_changes_a_result(data: st.DataObject, collection: Collection) -> None:
    world = World(data, collection, FUNCTIONS)
    world.deliver_all()
    assert world.endings[-1:] == [RESULT]


@pytest.mark.slow("it searches orders of deliveries and failures in worlds of two waves")
@given(st.data(), st.sampled_from(Collection))
@SEARCH
def test_nor_does_it_mix_the_values_of_two_waves(data: st.DataObject, collection: Collection) -> None:
    """Each output is made once in all executions; so the result tells which outputs it was made of."""
    runs = count(1)
    made: dict[int, tuple[str, Any]] = {}

    def make(function: str) -> Any:
        def run(value: Any) -> Any:
            number = next(runs)
            made[number] = (function, value)
            return [number] * 2 if function in ("A", "B") else number

        return run

    world = World(data, collection, {function: make(function) for function in FUNCTIONS})
    world.deliver_all()
    ending = world.endings[-1]
    assert isinstance(ending.outcome, Success)
    number = ending.outcome.value
    for function in ("E", "V", "J"):
        made_by, number = made[number]
        assert made_by == function
    sources = [made[made[end][1]] for end in number]
    assert [made[end][0] for end in number] == ["D", "D"]
    assert {source for source, _ in sources} == {"U"}
    assert len({value for _, value in sources}) == 1, "both branches come from one outcome of B"
