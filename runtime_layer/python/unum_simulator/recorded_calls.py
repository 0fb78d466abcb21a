"""Recorded calls of deliveries: equal answers lead to equal calls.

The protocol code runs once for all worlds in which a delivery got the same answers. An exhaustive search visits
thousands of worlds that differ in other deliveries, and runs the code a few hundred times. Each world answers its own
calls anew: clock, user code and fusion.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, TypeAlias

from unum_runtime.model.checkpoint import Ending
from unum_runtime.model.states import Json
from unum_runtime.store.base import Store


class Primitive(StrEnum):
    """Kind of a delivery's call."""

    CREATE = "create"
    READ = "read"
    QUERY = "query"
    PAGE = "page"
    EXTEND = "extend"
    ADD = "add"
    COLLECT = "collect"
    ACQUIRE = "acquire"
    RENEW = "renew"
    RELEASE = "release"
    PUT = "put"
    REPLACE = "replace"
    GET = "get"
    INVOKE = "invoke"
    SCHEDULE = "schedule"
    CLOCK = "clock"
    FUSE = "fuse"
    USER_CODE = "user code"
    ANNOUNCE = "announce"


READS = frozenset({Primitive.READ, Primitive.QUERY, Primitive.PAGE, Primitive.GET})
"""Calls without an effect."""

SENDS = frozenset({Primitive.INVOKE, Primitive.SCHEDULE})
"""Calls that send events."""

OWN = frozenset({Primitive.CLOCK, Primitive.FUSE, Primitive.USER_CODE})
"""Calls that concern one delivery alone, answered immediately."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A call with its arguments; at calls on shared ports, the scheduler picks the next move."""

    primitive: Primitive
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def on(self, store: Store) -> Any:
        """Execute the call on `store`."""
        return getattr(store, self.primitive)(*self.positional, **self.named)

    def kept(self) -> "Operation":
        """Return a copy that user code cannot change through its event."""
        if self.primitive is not Primitive.USER_CODE:
            return self
        call, event = self.positional
        return Operation(self.primitive, (call, deepcopy(event)), {})


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to a call: a value, or an error with its traceback."""

    primitive: Primitive
    value: Any = None
    error: Exception | None = None
    frames: TracebackType | None = None

    def give(self) -> Any:
        """Return the value, or raise the error with its original traceback."""
        if self.error is not None:
            # Reset the traceback: each raise of the shared error object would add the frames of a replay.
            raise self.error.with_traceback(self.frames)
        # A store returns new dictionaries, which its caller may change; this one belongs to the recording.
        return dict(self.value) if type(self.value) is dict else self.value

    def __repr__(self) -> str:
        return f"{self.primitive}: {self.value!r}, {self.error!r}"


History: TypeAlias = tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class End:
    """End of a delivery.

    Attributes:
        answer: the answer to a request: the execution's ending to a stop, the response to a responder.
        error: the delivery's error; None for a success.
    """

    answer: Ending | Json = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Progress:
    """Position of a delivery in its calls.

    Attributes:
        history: answers so far.
        digest: hash of the history.
        has_begun: the history contains an answer of a shared port.
        pending: next call, or the end; None before the first run of the code to this position.
    """

    history: History = ()
    digest: int = 0
    has_begun: bool = False
    pending: Operation | End | None = None
    _after: dict[str, "Progress"] = field(default_factory=dict)

    def after(self, answer: Answer) -> "Progress":
        """Return the position after `answer`, shared by all worlds."""
        shown = repr(answer)
        if shown not in self._after:
            has_begun = self.has_begun or answer.primitive not in OWN
            self._after[shown] = Progress((*self.history, answer), hash((self.digest, shown)), has_begun)
        return self._after[shown]
