"""What a delivery is given for store, invoker, clock and user code, so that it can be stopped and copied at every call.

A delivery is a pure function of the answers that its calls got. So it needs no thread: to learn what it asks for after
others, the real protocol code is run again from its beginning, with the recorded answers, until it asks for something
new. A delivery that is stopped is data, and copying the world copies it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from unum_runtime.model.checkpoint import Item
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Json, Task
from unum_runtime.model.naming import Key
from unum_runtime.protocol.runtime import Call
from unum_runtime.simulator.recorded_calls import Answer, Operation, Primitive, Progress


class Suspended(BaseException):
    """The delivery asks for something that has no answer yet."""


class Diverged(Exception):
    """With the same answers the code asked for something else than before, so it depends on more than its ports."""


class Ports:
    """Store, objects, invoker, timer and clock of one delivery.

    Attributes:
        course: how far the delivery has come; goes on by calls that are its own affair.
    """

    def __init__(self, progress: Progress, own: Callable[[Operation], Answer]) -> None:
        self.progress = progress
        self._own_answer = own
        self._left = iter(progress.history)
        self._stopped: BaseException | None = None

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
        now_ms: int = self._own(Operation(Primitive.CLOCK, (), {}))
        return now_ms

    def call(self, call: Call, event: Json) -> Any:
        """See `Runtime.call`."""
        return self._own(Operation(Primitive.USER_CODE, (call, event), {}))

    def fuses(self, address: str, event: Envelope, task: Task) -> bool:
        """See `Runtime.fuses`."""
        return self._own(Operation(Primitive.FUSE, (address, event, task), {})) is not None

    def _shared(self, primitive: Primitive, *positional: Any, **named: Any) -> Any:
        known = self._known(primitive)
        if known is not None:
            return known.give()
        self.progress.pending = Operation(primitive, positional, named)
        self._stopped = Suspended()
        raise self._stopped

    def _own(self, operation: Operation) -> Any:
        known = self._known(operation.primitive)
        if known is not None:
            return known.give()
        self.progress.pending = operation.kept()
        try:
            answer = self._own_answer(operation)
        except BaseException as stopped:
            self._stopped = stopped
            raise
        self.progress = self.progress.after(answer)
        return answer.give()

    def _known(self, primitive: Primitive) -> Answer | None:
        """The answer that the call got before; None if it was never done."""
        # Once stopped, always: blocks that are left by it may ask for more, for example to release something.
        if self._stopped is not None:
            raise self._stopped
        answer = next(self._left, None)
        if answer is not None and answer.primitive is not primitive:
            raise Diverged(f"with the same answers, expected {answer.primitive} as before, got {primitive}")
        return answer
