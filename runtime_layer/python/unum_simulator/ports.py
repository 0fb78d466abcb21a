"""Recorded ports of one delivery: store, objects, invoker, timer, clock and user code.

A delivery is a pure function of its calls' answers, so it needs no thread. To find its next call, the simulator runs
the protocol code again from the beginning with the recorded answers. A suspended delivery is plain data, and a copy of
the world copies it.
"""

from collections.abc import Callable, Iterable
from typing import Any

from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Key
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.runtime import Call
from unum_simulator.recorded_calls import Answer, Operation, Primitive, Progress


class Suspended(BaseException):
    """The delivery's next call has no answer yet."""


class Diverged(Exception):
    """The code made another call after equal answers, so it depends on more than its ports."""


def _shared_call(primitive: Primitive, *, is_batch: bool = False) -> Callable[..., Any]:
    """Return the method for `primitive` of a port; a batch has one iterable argument."""

    def call(self: "Ports", *positional: Any, **named: Any) -> Any:
        # A pending call is shared by all copies of the world, so it must not contain an iterator, which works once.
        return self._shared(primitive, *map(tuple, positional) if is_batch else positional, **named)

    return call


class Ports:
    """Ports of one delivery, answered from its recorded history.

    Attributes:
        progress: the delivery's calls so far; extended by calls that concern this delivery alone.
    """

    def __init__(self, progress: Progress, own: Callable[[Operation], Answer]) -> None:
        self.progress = progress
        self._own_answer = own
        self._left = iter(progress.history)
        self._stopped: BaseException | None = None

    create = _shared_call(Primitive.CREATE)
    extend = _shared_call(Primitive.EXTEND)
    add = _shared_call(Primitive.ADD)
    acquire = _shared_call(Primitive.ACQUIRE)
    renew = _shared_call(Primitive.RENEW)
    release = _shared_call(Primitive.RELEASE)
    put = _shared_call(Primitive.PUT)
    replace = _shared_call(Primitive.REPLACE)
    announce = _shared_call(Primitive.ANNOUNCE)

    query = _shared_call(Primitive.QUERY)
    page = _shared_call(Primitive.PAGE)
    read = _shared_call(Primitive.READ, is_batch=True)
    get = _shared_call(Primitive.GET, is_batch=True)
    invoke = _shared_call(Primitive.INVOKE, is_batch=True)
    schedule = _shared_call(Primitive.SCHEDULE, is_batch=True)

    def collect(self, keys: Iterable[Key]) -> None:
        """See `Store.collect`; one call per key, because a crash may come between any two."""
        for key in keys:
            self._shared(Primitive.COLLECT, (key,))

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
        """Return the recorded answer to the call, or None for a new call."""
        # Stay stopped: while the exception passes, `finally` blocks may call again, for example to release a lease.
        if self._stopped is not None:
            raise self._stopped
        answer = next(self._left, None)
        if answer is not None and answer.primitive is not primitive:
            raise Diverged(f"replayed calls: expected {answer.primitive} as in the recording, got {primitive}")
        return answer
