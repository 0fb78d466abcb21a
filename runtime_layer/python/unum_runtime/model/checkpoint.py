"""Checkpoints: stored outcomes of invocations, each written once, and their item format.

Attribute names are a stored format. Items outlive a deployment by their retention, and redrives, forks, clients and
failure handlers of other versions read them: an attribute may be added, if its absence keeps its meaning; none may
change its name or meaning. The names are short because DynamoDB bills them as part of each item, in units of 1 KB.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass, field
from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.json_text import InvalidJson, find_fault, parse_json, to_text
from unum_runtime.model.naming import PACK_SIZE, START_STEP, Execution, Name, Scope
from unum_runtime.model.states import Json

Item: TypeAlias = dict[str, str | int]
"""Stored item without its key: flat, so that every backend can hold it."""

TOMBSTONE = "collected"
"""Attribute of an item with a collected outcome."""

MEMBERS = "members"
"""Attribute with the number of members in the item of a set, as reads return it."""

PACKED_VALUES = tuple(f"v{slot}" for slot in range(PACK_SIZE))
"""Attributes of a pack with values, by the branch's slot."""

REFERENCE = "_ref"
"""Suffix of attributes that refer to text in an object (`unum_runtime.store.large_items`)."""

VALUES = ("value", "variables", "final_value", "fork_value")
"""Attributes with users' data as JSON text, of any size."""
_REFERENCES = frozenset(f"{name}{REFERENCE}" for name in VALUES)

OUTCOME = ("value", "cause", "variables", f"value{REFERENCE}", f"variables{REFERENCE}", *PACKED_VALUES)
"""Attributes of an outcome's data, which a tombstone lacks. It keeps the continuation, and the error name of a failure:
history and nudges read them."""


class Phase(StrEnum):
    """Progress of a state at its commit, which decides the next effect."""

    ENTERED = "entered"
    """The value is the state's input: execute the state."""

    LEFT = "left"
    """The value is the state's output: continue with the next state."""

    RETRIED = "retried"
    """The value is the input of a failed state: execute the state again when the retry is due."""


class Status(StrEnum):
    """Status of an execution, with Step Functions' names."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    ABORTED = "ABORTED"


class Success:
    """Value of a state: its output after its own data flow, or its input.

    Either `value` or `text` is known first, and the other is computed on first access: forwarded values are never
    decoded, and read values are not encoded again.
    """

    value: Json
    text: str
    __match_args__ = ("value",)

    def __init__(self, value: Json) -> None:
        """Take `value`, which must not change after the first access to `text`."""
        self.value = value

    @classmethod
    def from_text(cls, text: str) -> "Success":
        """Return the value of the compact JSON `text`."""
        found = cls.__new__(cls)
        found.text = text
        return found

    def changed_to(self, value: Json) -> "Success":
        """Return an outcome with `value`: `self` for an unchanged object, which saves encoding it again."""
        return self if value is self.value else Success(value)

    def find_fault(self) -> str | None:
        """Return what is not JSON in a computed value; None without a fault, or for a value known by its text."""
        # Texts come from the store, or from a writer that has checked the value: user code's result.
        if "text" in vars(self):
            return None
        try:
            return find_fault(self.value, self.text)
        except InvalidJson as error:
            return str(error)

    def __getattr__(self, name: str) -> Any:
        """Compute the missing one of `value` and `text`; a cached property would take a lock."""
        if name == "text":
            self.text = to_text(self.value)
        elif name == "value":
            self.value = parse_json(self.text)
        else:
            raise AttributeError(f"Success has no attribute {name!r}")
        return vars(self)[name]

    def __eq__(self, other: object) -> bool:
        """Compare texts: to Python, ``True`` and ``1.0`` equal ``1``."""
        return isinstance(other, Success) and (self is other or self.text == other.text)

    __hash__ = None  # type: ignore[assignment]  # as that of most values

    def __repr__(self) -> str:
        return f"Success(value={self.value!r})"


@dataclass(frozen=True)
class Failure:
    """Failure of a state, with Step Functions' names; both None for a Fail state without names."""

    error: str | None
    cause: str | None


@dataclass(frozen=True)
class Collected:
    """Tombstone of a collected outcome: proof of the commit, without data.

    Attributes:
        failure: the failure without its cause; None for a success.
    """

    failure: Failure | None = None


Outcome: TypeAlias = Success | Failure


@dataclass(frozen=True)
class Ending:
    """End of an execution."""

    status: Status
    outcome: Outcome


class Began(NamedTuple):
    """Function versions at an execution's start, which lead to all other versions.

    Attributes:
        address: version whose configuration contains the routes to the next functions.
        routes: addresses by function that travel with the execution.
    """

    address: str
    routes: Mapping[str, str]


class ForkOrigin(NamedTuple):
    """Origin of a fork, in its start record: enough to finish the fork by whoever reads the record.

    Attributes:
        execution: the original execution.
        node: the Task, Map or Parallel of the top level that the fork begins with.
        visit: number of its visit in the original, from 1.
        step: step of the fork's first own commit; the fork is unfinished until that exists.
        value: input of the node; None for the original one.
    """

    execution: Execution
    node: str
    visit: int
    step: int
    value: "Success | None"

    def to_item(self) -> Item:
        """Return the attributes of an item."""
        item: Item = {"forking": to_text([*self.execution, self.node, self.visit, self.step])}
        return item if self.value is None else item | {"fork_value": self.value.text}

    @classmethod
    def from_item(cls, item: Item) -> "ForkOrigin":
        """Parse the attributes that `to_item` wrote."""
        name, started_ms, node, visit, step = parse_json(str(item["forking"]))
        value = Success.from_text(str(item["fork_value"])) if "fork_value" in item else None
        return cls(Execution(name, started_ms), node, visit, step, value)


@dataclass(frozen=True, kw_only=True)
class Continuation:
    """Continuation from an outcome; stored unless it equals the default.

    Attributes:
        variables: visible variables from here on.
        goes_to: state that a catcher leads to; None for the state's own successor.
        caught: the failure that was caught or is retried; None for no failure.
        retries: uses of each retrier, for a state that is not executed yet.
        until_ms: start of that state in milliseconds since 1970; None for at once.
    """

    variables: Mapping[str, Json] = field(default_factory=dict)
    goes_to: str | None = None
    caught: Failure | None = None
    retries: tuple[int, ...] = ()
    until_ms: int | None = None

    def to_item(self) -> Item:
        """Return the attributes of an item."""
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
        """Parse the attributes that `to_item` wrote."""
        # One set operation for the hot path: most checkpoints have the default continuation.
        if _ATTRIBUTES.isdisjoint(item):
            return DEFAULT_CONTINUATION
        return cls(
            variables=parse_json(str(item.get("variables", "{}"))),
            goes_to=str(item["to"]) if "to" in item else None,
            caught=_failure_from_item(item, "caught_") if "caught_error" in item else None,
            retries=tuple(parse_json(str(item.get("retries", "[]")))),
            until_ms=int(item["until"]) if "until" in item else None,
        )


DEFAULT_CONTINUATION = Continuation()

_ATTRIBUTES = frozenset(("variables", "to", "caught_error", "retries", "until"))


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Committed outcome of an invocation, the input of `plan`.

    Attributes:
        name: invocation name.
        state: state; empty in start records and stop records.
        phase: meaning of `outcome`: input or output of the state.
        outcome: the value, the failure, or a tombstone.
        digest: digest of the IR that wrote it; empty in start records and stop records.
        committed_ms: time of the commit in milliseconds since 1970.
        duration_ms: run time of user code; 0 without user code.
        attempt: number of the delivery that wrote it, from 0, as far as known.
        continuation: continuation from the outcome.
        opens: the fan-out that follows, if one does, so that its size is committed with the outcome that it comes from.
        ending: end of the execution, if it ended here.
        began: function versions from here on; None for those of before.
        is_packed: stored in a pack.
        fused: committed without an invocation of its own.
        fork: origin of the execution, in the start record of a fork.
        secret: seed of the execution's random numbers, in its start record; empty if none is needed or known.
        about: in start records, facts for readers as text; see `unum_runtime.model.start_facts`.
        past: in copies of a fork, facts of the original as text; see `unum_runtime.protocol.history.past`.
        delivery: record of its delivery as text; see `unum_runtime.model.delivery_record`.
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
    fork: ForkOrigin | None = None
    secret: str = ""
    about: str = ""
    past: str = ""
    delivery: str = ""

    def saying(self, **fields: Any) -> "Checkpoint":
        """Return a copy with other `fields`."""
        return Checkpoint(**{**vars(self), **fields})

    @property
    def is_stop(self) -> bool:
        """True for a stop record, which takes the place of the next step."""
        return self.ending is not None and self.ending.status is Status.ABORTED

    def to_item(self) -> Item:
        """Return the checkpoint as a flat item; its key contains the name."""
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
            # An ending equal to the outcome is not stored twice: the value may be most of the item's 400 KB.
            if self.ending.outcome != self.outcome:
                item |= {f"final_{key}": value for key, value in _outcome_to_item(self.ending.outcome).items()}
        if self.began is not None:
            item |= began_to_item(self.began)
        if self.fork is not None:
            item |= self.fork.to_item()
        texts = {"secret": self.secret, "about": self.about, "past": self.past, "dlv": self.delivery}
        item |= {attribute: text for attribute, text in texts.items() if text}
        return item | {"fused": 1} if self.fused else item

    @classmethod
    def from_item(cls, name: Name, item: Item) -> "Checkpoint":
        """Parse the item that `to_item` wrote.

        Attributes that later releases added are absent in older items, so each has a default here.

        Raises:
            StoreError: the item refers to objects, and its store has no bucket.
            InconsistentHistory: `name` is a start record's, which only `read_start_record` reads.
        """
        if name.step == START_STEP and not name.frames:
            raise InconsistentHistory(f"{name}: expected a checkpoint, got the name of a start record")
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
            began=began_from_item(item),
            is_packed="packed" in item,
            fused="fused" in item,
            fork=ForkOrigin.from_item(item) if "forking" in item else None,
            past=str(item.get("past", "")),
            delivery=str(item.get("dlv", "")),
        )


def began_to_item(began: Began | None) -> Item:
    """Return the attributes for function versions."""
    return {} if began is None else {"by": began.address, "routes": to_text(dict(began.routes))}


def began_from_item(item: Item) -> Began | None:
    """Parse the attributes that `began_to_item` wrote."""
    return Began(str(item["by"]), parse_json(str(item["routes"]))) if "by" in item else None


def _outcome_to_item(outcome: Outcome | Collected) -> Item:
    if isinstance(outcome, Collected):
        return {TOMBSTONE: 1} | ({} if outcome.failure is None else {"error": to_text(outcome.failure.error)})
    if isinstance(outcome, Success):
        return {"value": outcome.text}
    return {"error": to_text(outcome.error), "cause": to_text(outcome.cause)}


def _collected_from_item(item: Item) -> Collected:
    return Collected(Failure(parse_json(str(item["error"])), None) if "error" in item else None)


def _outcome_from_item(item: Item, prefix: str = "") -> Outcome:
    if f"{prefix}value" in item:
        return Success.from_text(str(item[f"{prefix}value"]))
    return _failure_from_item(item, prefix)


def _check_resolved(item: Item) -> None:
    """Raise StoreError if `item` has references, which only a store with a bucket resolves."""
    if not _REFERENCES.isdisjoint(item):
        found = [str(item[name]) for name in _REFERENCES if name in item]
        raise StoreError(
            f"state {item['state']!r}: refers to the object {', '.join(found)}, and no bucket is known here; give the "
            "client `payload_bucket`, the stack's output PayloadBucket"
        )


def _failure_from_item(item: Item, prefix: str) -> Failure:
    return Failure(parse_json(str(item[f"{prefix}error"])), parse_json(str(item[f"{prefix}cause"])))


def _scope_from_item(name: Name, item: Item) -> Scope | None:
    return Scope(name.execution, name.frames, *parse_json(str(item["opens"]))) if "opens" in item else None


def _ending_from_item(item: Item) -> Ending | None:
    if "status" not in item:
        return None
    prefix = "final_" if "final_value" in item or "final_error" in item else ""
    return Ending(Status(str(item["status"])), _outcome_from_item(item, prefix))


def start_record(execution: Execution, value: Json, secret: str = "") -> Checkpoint:
    """Return the start record, the first checkpoint of an execution, with the execution's input as outcome.

    State and digest are empty: the client that writes it knows neither the states nor the deployed version.
    """
    return Checkpoint(
        name=Name(execution, (), START_STEP),
        state="",
        phase=Phase.ENTERED,
        outcome=Success(value),
        digest="",
        committed_ms=execution.started_ms,
        secret=secret,
    )


def read_start_record(execution_name: str, item: Item) -> Checkpoint:
    """Parse a stored start record, which contains the start time, a part of the execution's identity.

    Raises:
        InconsistentHistory: no release writes such a start record; the text names the attribute.
        StoreError: the item refers to objects, and its store has no bucket.
    """
    # Nothing else in it has a meaning. A phase or a state would let its writer begin an execution in the middle.
    known = _START_DATA | _FORK_DATA if "forking" in item else _START_DATA
    for attribute, found in item.items():
        if attribute not in known and found != _START_FORM.get(attribute):
            raise _not_a_start(execution_name, f"{attribute}={found!r}")
    _check_resolved(item)
    try:
        return start_record(started_execution(execution_name, item), None, str(item.get("secret", ""))).saying(
            outcome=_outcome_from_item(item),
            digest=str(item["ir"]),
            began=began_from_item(item),
            fork=ForkOrigin.from_item(item) if "forking" in item else None,
            about=str(item.get("about", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _not_a_start(execution_name, repr(error)) from error


_START_FORM: Item = {"state": "", "phase": Phase.ENTERED, "ms": 0, "attempt": 0}
"""Attributes with one value in all start records; earlier releases need them to read one."""

_START_DATA = frozenset(
    ("ir", "at", "value", f"value{REFERENCE}", "error", "cause", "list", "list_at", "secret", "about")
)
"""Digest of a variant of the definition, time, input or its failure, entry in the list, secret, facts for readers."""

_FORK_DATA = frozenset(("by", "routes", "forking", "fork_value", f"fork_value{REFERENCE}"))


def _not_a_start(execution_name: str, found: str) -> InconsistentHistory:
    expected = "expected what a start or a fork writes"
    return InconsistentHistory(f"start record of {execution_name!r}: {expected}, got {found}; the table was changed")


def started_execution(execution_name: str, item: Item) -> Execution:
    """Return the execution whose start record is `item`."""
    return Execution(execution_name, int(item["at"]))


def stop_record(name: Name, failure: Failure, stopped_ms: int) -> Checkpoint:
    """Return the stop record `name`, which ends an execution by `failure` in the place of its next step."""
    record = Checkpoint(name=name, state="", phase=Phase.LEFT, outcome=failure, digest="", committed_ms=stopped_ms)
    return record.saying(ending=Ending(Status.ABORTED, failure))


def is_stop_record(item: Item) -> bool:
    """Return True if `item` is a stop record."""
    return item.get("status") == Status.ABORTED
