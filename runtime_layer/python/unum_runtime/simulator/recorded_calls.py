"""What a delivery does, remembered: it asks for the same whenever it got the same answers.

So the real code runs once for all worlds in which a delivery has come equally far, and an exhaustive search, which
visits thousands of worlds that differ in what other deliveries do, runs it a few hundred times. What depends on the
world is asked for anew in each: the time, user code, and whether the delivery goes on with the next event itself.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, TypeAlias

from unum_runtime.model.checkpoint import Ending
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

OWN = frozenset({Primitive.CLOCK, Primitive.FUSE, Primitive.USER_CODE})
"""Calls on what no other delivery shares; they are answered at once."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A call; one on what all deliveries share is a point where the scheduler decides what happens next."""

    primitive: Primitive
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def on(self, store: Store) -> Any:
        """Call it on `store`."""
        return getattr(store, self.primitive)(*self.positional, **self.named)

    def kept(self) -> "Operation":
        """The same, whatever user code does to the event that it gets."""
        if self.primitive is not Primitive.USER_CODE:
            return self
        call, event = self.positional
        return Operation(self.primitive, (call, deepcopy(event)), {})


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


@dataclass(frozen=True, slots=True)
class End:
    """How a delivery ended.

    Attributes:
        told: how the execution ended, as whoever asked for something with it is told.
        error: what it failed with; None for a success.
    """

    ending: Ending | None = None
    error: Exception | None = None


@dataclass(slots=True, eq=False)
class Progress:
    """How far a delivery has come.

    Attributes:
        history: the answers that it got.
        digest: tells histories apart.
        has_begun: one of the answers was to a call on what all deliveries share.
        pending: what it does then; None as long as nobody has run it so far.
    """

    history: History = ()
    digest: int = 0
    has_begun: bool = False
    pending: Operation | End | None = None
    _after: dict[str, "Progress"] = field(default_factory=dict)

    def after(self, answer: Answer) -> "Progress":
        """How far it has come with `answer`."""
        shown = repr(answer)
        if shown not in self._after:
            has_begun = self.has_begun or answer.primitive not in OWN
            self._after[shown] = Progress((*self.history, answer), hash((self.digest, shown)), has_begun)
        return self._after[shown]
