"""What a delivery is given for store, invoker, clock and user code, so that it can be stopped and copied at every call.

A delivery is a pure function of the answers that its calls got. So it needs no thread: to let it do its next call, the
real protocol code is run again from its beginning, with the recorded answers, until it asks for something new. A
delivery that is stopped is data, and copying the world copies it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, TypeAlias

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Json, Task
from unum_runtime.model.naming import Key
from unum_runtime.protocol.runtime import Call
from unum_runtime.store.base import Store


class Primitive(StrEnum):
    """What a delivery may call."""

    CREATE = "create"
    READ = "read"
    QUERY = "query"
    EXTEND = "extend"
    ADD = "add"
    COLLECT = "collect"
    ACQUIRE = "acquire"
    RENEW = "renew"
    RELEASE = "release"
    PUT = "put"
    GET = "get"
    INVOKE = "invoke"
    SCHEDULE = "schedule"
    CLOCK = "clock"
    FUSE = "fuse"
    USER_CODE = "user code"


READS = frozenset({Primitive.READ, Primitive.QUERY, Primitive.GET})
"""Calls without an effect."""

SENDS = frozenset({Primitive.INVOKE, Primitive.SCHEDULE})
"""Calls that send events."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A call on what all deliveries share: a point where the scheduler decides what happens next."""

    primitive: Primitive
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def on(self, store: Store) -> Any:
        """Call it on `store`."""
        return getattr(store, self.primitive)(*self.positional, **self.named)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to: a value, or an error with the frames that it had."""

    primitive: Primitive
    value: Any = None
    error: Exception | None = None
    frames: TracebackType | None = None

    def give(self) -> Any:
        """Return the value or raise the error, every time alike."""
        if self.error is not None:
            raise self.error.with_traceback(self.frames)
        return self.value

    def __repr__(self) -> str:
        return f"{self.primitive}: {self.value!r}, {self.error!r}"


History: TypeAlias = tuple[Answer, ...]


class Suspended(BaseException):
    """The delivery asks for something that has no answer yet."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation


class Diverged(Exception):
    """With the same answers the code asked for something else than before, so it depends on more than its ports."""


@dataclass
class Ports:
    """Store, objects, invoker, timer and clock of one delivery.

    Attributes:
        history: the answers so far; grows by those that need no decision: the time and user code's results.
        now_ms_here: tells the time.
        user_code: runs a user's function.
        fuses_here: what the delivery is at if it goes on with an event itself; None if it does not.
        part: what the delivery is at.
    """

    history: list[Answer]
    now_ms_here: Callable[[], int]
    user_code: Callable[[Call, Json], Any]
    fuses_here: Callable[[str, Envelope, Task], Any]
    part: Any
    _position: int = 0
    _stopped: BaseException | None = None

    def create(self, key: Key, item: Item, *, expires_at_s: int) -> Item | None:
        """See `Store.create`."""
        found: Item | None = self._shared(Primitive.CREATE, key, item, expires_at_s=expires_at_s)
        return found

    def read(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """See `Store.read`."""
        items: dict[Key, Item] = self._shared(Primitive.READ, tuple(keys))
        return items

    def query(self, partition: str, *, newest: int | None = None) -> dict[Key, Item]:
        """See `Store.query`."""
        items: dict[Key, Item] = self._shared(Primitive.QUERY, partition, newest=newest)
        return items

    def extend(self, key: Key, item: Item, *, unless: str, expires_at_s: int) -> tuple[bool, Item]:
        """See `Store.extend`."""
        found: tuple[bool, Item] = self._shared(Primitive.EXTEND, key, item, unless=unless, expires_at_s=expires_at_s)
        return found

    def add(self, key: Key, member: int, *, expires_at_s: int) -> frozenset[int]:
        """See `Store.add`."""
        members: frozenset[int] = self._shared(Primitive.ADD, key, member, expires_at_s=expires_at_s)
        return members

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`; one call for each key, because a crash may come between any two."""
        for key in keys:
            self._shared(Primitive.COLLECT, (key,))

    def acquire(self, key: Key, owner: str, *, expires_at_ms: int) -> str:
        """See `Store.acquire`."""
        holder: str = self._shared(Primitive.ACQUIRE, key, owner, expires_at_ms=expires_at_ms)
        return holder

    def renew(self, key: Key, owner: str, *, expires_at_ms: int) -> bool:
        """See `Store.renew`."""
        is_renewed: bool = self._shared(Primitive.RENEW, key, owner, expires_at_ms=expires_at_ms)
        return is_renewed

    def release(self, key: Key, owner: str) -> None:
        """See `Store.release`."""
        self._shared(Primitive.RELEASE, key, owner)

    def put(self, name: str, content: bytes) -> None:
        """See `Objects.put`."""
        self._shared(Primitive.PUT, name, content)

    def get(self, names: Iterable[str]) -> dict[str, bytes]:
        """See `Objects.get`."""
        contents: dict[str, bytes] = self._shared(Primitive.GET, tuple(names))
        return contents

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        """See `Invoker.invoke`."""
        self._shared(Primitive.INVOKE, tuple(events))

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        """See `Timer.schedule`."""
        self._shared(Primitive.SCHEDULE, tuple(events))

    def now_ms(self) -> int:
        """See `Clock.now_ms`."""
        now_ms: int = self._own(Primitive.CLOCK, self.now_ms_here)
        return now_ms

    def call(self, call: Call, event: Json) -> Any:
        """See `Runtime.call`."""
        return self._own(Primitive.USER_CODE, lambda: self.user_code(call, event))

    def fuses(self, address: str, event: Envelope, task: Task) -> bool:
        """See `Runtime.fuses`."""
        part = self._own(Primitive.FUSE, lambda: self.fuses_here(address, event, task))
        self.part = part or self.part
        return part is not None

    def _shared(self, primitive: Primitive, *positional: Any, **named: Any) -> Any:
        if self._position == len(self.history):
            # Once stopped, always: blocks that are left by it may ask for more, for example to release something.
            self._stopped = self._stopped or Suspended(Operation(primitive, positional, named))
            raise self._stopped
        return self._next(primitive).give()

    def _own(self, primitive: Primitive, compute: Callable[[], Any]) -> Any:
        if self._position == len(self.history):
            try:
                self.history.append(_answer(primitive, compute))
            except BaseException as stopped:
                self._stopped = stopped
                raise
        return self._next(primitive).give()

    def _next(self, primitive: Primitive) -> Answer:
        answer = self.history[self._position]
        if answer.primitive is not primitive:
            raise Diverged(f"call {self._position}: expected {answer.primitive} as before, got {primitive}")
        self._position += 1
        return answer


def _answer(primitive: Primitive, compute: Callable[[], Any]) -> Answer:
    try:
        return Answer(primitive, compute())
    except Exception as error:  # noqa: BLE001 - whatever user code raises is what the protocol has to see
        return Answer(primitive, error=error, frames=error.__traceback__)
