"""What the store keeps of an invocation: its outcome, written once."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass, field
from unum_runtime.errors import StoreError
from unum_runtime.model.ir import Json
from unum_runtime.model.naming import PACK_SIZE, START_STEP, Execution, Name, Scope

Item: TypeAlias = dict[str, str | int]
"""A stored item without its key: flat, so that every backend can hold it."""


TOMBSTONE = "collected"
"""Attribute of an item whose outcome was collected."""

MEMBERS = "members"
"""Attribute of what is read where a set is: how many members it has."""

PACKED_VALUES = tuple(f"v{slot}" for slot in range(PACK_SIZE))
"""Attributes of a pack that hold values, by the place of the branch."""

REFERENCE = "_ref"
"""Ends the name of an attribute that refers to a text which is stored elsewhere (`unum_runtime.store.large_items`)."""

VALUES = ("value", "variables", "final_value")
"""Attributes with what users' data comes to, as JSON text: their size is up to the users."""

_REFERENCES = frozenset(f"{name}{REFERENCE}" for name in VALUES)

OUTCOME = ("value", "cause", "variables", f"value{REFERENCE}", f"variables{REFERENCE}", *PACKED_VALUES)
"""Attributes that hold an outcome; a tombstone has none of them. What tells where the outcome led is kept, and of a
failure its name."""


class Phase(StrEnum):
    """How far a state had come when its value was committed, hence what follows."""

    ENTERED = "entered"
    """The value is the state's input: go on by executing the state."""

    LEFT = "left"
    """The value is the state's output: go on with the state after it."""

    RETRIED = "retried"
    """The value is the input of a state that failed: go on by executing it anew when its time has come."""


class Status(StrEnum):
    """States of an execution, named as Step Functions names them."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    ABORTED = "ABORTED"


class Success:
    """A state's value: its output after its own data flow, or what it was entered with.

    It is known as JSON, as text, or as both; what is missing is made of the other when it is first asked for. So what
    is only handed on is never decoded, and what was read is not encoded again.
    """

    value: Json
    text: str
    __match_args__ = ("value",)

    def __init__(self, value: Json) -> None:
        """The outcome `value`; it must not change once `text` was asked for."""
        self.value = value

    @classmethod
    def from_text(cls, text: str) -> "Success":
        """The value that the compact JSON `text` says."""
        found = cls.__new__(cls)
        found.text = text
        return found

    def changed_to(self, value: Json) -> "Success":
        """The value `value`; itself, if it is the same object."""
        return self if value is self.value else Success(value)

    def __getattr__(self, name: str) -> Any:
        """What is missing of the two, made of the other; a cached property would take a lock for it."""
        if name == "text":
            self.text = to_text(self.value)
        elif name == "value":
            self.value = json.loads(self.text)
        else:
            raise AttributeError(f"Success has no attribute {name!r}")
        return vars(self)[name]

    def __eq__(self, other: object) -> bool:
        """By the text: to Python, ``True`` and ``1.0`` are the same as ``1``."""
        return isinstance(other, Success) and (self is other or self.text == other.text)

    __hash__ = None  # type: ignore[assignment]  # as that of most values

    def __repr__(self) -> str:
        return f"Success(value={self.value!r})"


@dataclass(frozen=True)
class Failure:
    """A state's failure, named as Step Functions names it; both None where a Fail state names nothing."""

    error: str | None
    cause: str | None


@dataclass(frozen=True)
class Collected:
    """What is left of an outcome that nobody can need any more: the fact that it was committed.

    Attributes:
        failure: the failure that it was, without its cause; None if it was a value.
    """

    failure: Failure | None = None


Outcome: TypeAlias = Success | Failure


@dataclass(frozen=True)
class Ending:
    """How an execution ended."""

    status: Status
    outcome: Outcome


class Began(NamedTuple):
    """Which versions of the functions an execution runs on: all are found from these.

    Attributes:
        address: of a version whose configuration leads on to what follows.
        routes: addresses, by function, that travel with the execution.
    """

    address: str
    routes: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Continuation:
    """How control goes on from an outcome, where that is not as usual; otherwise nothing of it is stored.

    Attributes:
        variables: those that are visible from here on.
        goes_to: name of the state that a catcher leads to; None where control goes on as usual.
        caught: the failure that was caught or is retried; None where there was none.
        retries: how often each retrier of the state was used, where the state is yet to be executed.
        until_ms: when it will be, in milliseconds since 1970; None for at once.
    """

    variables: Mapping[str, Json] = field(default_factory=dict)
    goes_to: str | None = None
    caught: Failure | None = None
    retries: tuple[int, ...] = ()
    until_ms: int | None = None

    def to_item(self) -> Item:
        """The attributes that say it."""
        item: Item = {}
        if self.variables:
            item["variables"] = to_text(dict(self.variables))
        if self.goes_to is not None:
            item["to"] = self.goes_to
        if self.caught is not None:
            item |= {f"caught_{key}": value for key, value in _outcome_to_item(self.caught).items()}
        if self.retries:
            item["retries"] = to_text(self.retries)
        if self.until_ms is not None:
            item["until"] = self.until_ms
        return item

    @classmethod
    def from_item(cls, item: Item) -> "Continuation":
        """The way that `to_item` wrote."""
        if _WAY.isdisjoint(item):
            return DEFAULT_CONTINUATION
        return cls(
            variables=json.loads(str(item.get("variables", "{}"))),
            goes_to=str(item["to"]) if "to" in item else None,
            caught=_failure_from_item(item, "caught_") if "caught_error" in item else None,
            retries=tuple(json.loads(str(item.get("retries", "[]")))),
            until_ms=int(item["until"]) if "until" in item else None,
        )


DEFAULT_CONTINUATION = Continuation()

_WAY = frozenset(("variables", "to", "caught_error", "retries", "until"))


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A committed outcome, from which everything that follows can be planned.

    Attributes:
        name: the invocation.
        state: its state; empty in a start record and in a stop record.
        phase: whether `outcome` is what the state was entered with or what it came to.
        outcome: the value or the failure, or that it was collected.
        digest: of the workflow's IR that wrote it; empty where `state` is.
        committed_ms: when, in milliseconds since 1970.
        duration_ms: how long user code ran; 0 where there was none.
        attempt: which delivery of its event wrote it, from 0, as far as that is known.
        continuation: how control goes on from the outcome, where that is not as usual.
        opens: the fan-out that follows, if one does; so its size is committed with the outcome that it comes from.
        ending: how the execution ended, if it ended with this.
        began: what the execution runs on from here; None where that is as before.
        is_packed: whether it is stored with others in one item.
        fused: whether it was committed without an invocation of its own.
    """

    name: Name
    state: str
    phase: Phase
    outcome: Outcome | Collected
    digest: str
    committed_ms: int
    duration_ms: int = 0
    attempt: int = 0
    continuation: Continuation = DEFAULT_CONTINUATION
    opens: Scope | None = None
    ending: Ending | None = None
    began: Began | None = None
    is_packed: bool = field(default=False, compare=False)
    fused: bool = False

    def saying(self, **fields: Any) -> "Checkpoint":
        """The checkpoint with other `fields`."""
        return Checkpoint(**{**vars(self), **fields})

    @property
    def is_stop(self) -> bool:
        """Whether it is a stop record: the step that it takes the place of never comes."""
        return self.ending is not None and self.ending.status is Status.ABORTED

    def to_item(self) -> Item:
        """The checkpoint as a flat item; the name is in the key."""
        item: Item = {
            "state": self.state,
            "phase": self.phase,
            "ir": self.digest,
            "at": self.committed_ms,
            "ms": self.duration_ms,
            "attempt": self.attempt,
            **_outcome_to_item(self.outcome),
        }
        if self.continuation is not DEFAULT_CONTINUATION:
            item |= self.continuation.to_item()
        if self.opens is not None:
            scope = self.opens
            item["opens"] = to_text([scope.state, scope.iteration, scope.generation, scope.size])
        if self.ending is not None:
            item["status"] = self.ending.status
            if self.ending.outcome != self.outcome:
                item |= {f"final_{key}": value for key, value in _outcome_to_item(self.ending.outcome).items()}
        if self.began is not None:
            item |= {"by": self.began.address, "routes": to_text(dict(self.began.routes))}
        return item | {"fused": 1} if self.fused else item

    @classmethod
    def from_item(cls, name: Name, item: Item) -> "Checkpoint":
        """The checkpoint that `to_item` wrote.

        Raises:
            StoreError: it refers to objects, and the store that gave it knows none.
        """
        _check_resolved(item)
        outcome = _collected_from_item(item) if TOMBSTONE in item else _outcome_from_item(item)
        return cls(
            name=name,
            state=str(item["state"]),
            phase=Phase(str(item["phase"])),
            outcome=outcome,
            digest=str(item["ir"]),
            committed_ms=int(item["at"]),
            duration_ms=int(item["ms"]),
            attempt=int(item["attempt"]),
            continuation=Continuation.from_item(item),
            opens=_scope_from_item(name, item),
            ending=_ending_from_item(item),
            began=Began(str(item["by"]), json.loads(str(item["routes"]))) if "by" in item else None,
            is_packed="packed" in item,
            fused="fused" in item,
        )


def _outcome_to_item(outcome: Outcome | Collected) -> Item:
    if isinstance(outcome, Collected):
        return {TOMBSTONE: 1} | ({} if outcome.failure is None else {"error": to_text(outcome.failure.error)})
    if isinstance(outcome, Success):
        return {"value": outcome.text}
    return {"error": to_text(outcome.error), "cause": to_text(outcome.cause)}


def _collected_from_item(item: Item) -> Collected:
    return Collected(Failure(json.loads(str(item["error"])), None) if "error" in item else None)


def _outcome_from_item(item: Item, prefix: str = "") -> Outcome:
    if f"{prefix}value" in item:
        return Success.from_text(str(item[f"{prefix}value"]))
    return _failure_from_item(item, prefix)


def _check_resolved(item: Item) -> None:
    """Stop if `item` has references, which only a store that knows the objects can follow."""
    if not _REFERENCES.isdisjoint(item):
        found = [str(item[name]) for name in _REFERENCES if name in item]
        raise StoreError(
            f"state {item['state']!r}: refers to the object {', '.join(found)}, and no bucket is known here; give the "
            "client `payload_bucket`, which is the stack's output PayloadBucket"
        )


def _failure_from_item(item: Item, prefix: str) -> Failure:
    return Failure(json.loads(str(item[f"{prefix}error"])), json.loads(str(item[f"{prefix}cause"])))


def _scope_from_item(name: Name, item: Item) -> Scope | None:
    return Scope(name.execution, name.frames, *json.loads(str(item["opens"]))) if "opens" in item else None


def _ending_from_item(item: Item) -> Ending | None:
    if "status" not in item:
        return None
    prefix = "final_" if "final_value" in item or "final_error" in item else ""
    return Ending(Status(str(item["status"])), _outcome_from_item(item, prefix))


def start_record(execution: Execution, value: Json) -> Checkpoint:
    """The checkpoint that an execution begins with: its outcome is the execution's input.

    A client that writes it knows neither the states nor their version; both are those of the function that it starts.
    """
    return Checkpoint(
        name=Name(execution, (), START_STEP),
        state="",
        phase=Phase.ENTERED,
        outcome=Success(value),
        digest="",
        committed_ms=execution.started_ms,
    )


def read_start_record(execution_name: str, item: Item) -> Checkpoint:
    """The start record as it was stored; the time of the start, part of the execution's identity, is in it."""
    return Checkpoint.from_item(Name(started_execution(execution_name, item), (), START_STEP), item)


def started_execution(execution_name: str, item: Item) -> Execution:
    """The execution whose start record is `item`."""
    return Execution(execution_name, int(item["at"]))


def stop_record(name: Name, failure: Failure, stopped_ms: int) -> Checkpoint:
    """The checkpoint that ends an execution in place of its next step at the top level, `name`.

    Args:
        name: of that step.
        failure: error and cause that whoever stopped it gave.
        stopped_ms: when, in milliseconds since 1970.
    """
    return Checkpoint(
        name=name,
        state="",
        phase=Phase.LEFT,
        outcome=failure,
        digest="",
        committed_ms=stopped_ms,
        ending=Ending(Status.ABORTED, failure),
    )


def is_stop_record(item: Item) -> bool:
    """Whether `item` is that of a stop record."""
    return item.get("status") == Status.ABORTED


_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)
"""One for all, because making one takes as long as encoding a small value. What was JSON once has no circles."""


def to_text(value: Json) -> str:
    """Compact JSON; text that UTF-8 cannot hold (lone surrogates) is escaped."""
    text = _COMPACT.encode(value)
    return text if text.isascii() or _is_utf8(text) else json.dumps(value, separators=(",", ":"))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
