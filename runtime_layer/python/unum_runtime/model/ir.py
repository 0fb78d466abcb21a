"""The intermediate representation (IR) of a workflow: flat, frozen, versioned JSON without any CDK token.

A workflow is a table of states. Every state knows the fan-out whose branch holds it (`scope`) and what follows it
(`next`, or None where its scope ends). Data-flow fields keep the names and the JSON that the Amazon States Language
gives them, under `data`; only fields that the definition has are there, so absence needs no sentinel.
What can be known before run time is in the table: which fan-outs contain no Task (`pure`), and which Task is certain to
follow a fan-out (`join`), so that the results of its branches can be passed by reference.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

IR_VERSION = 1

DEFAULT_HOP_BUDGET = 100_000
"""Four times the events that Step Functions allows an execution."""

Json: TypeAlias = Any
"""A JSON value: str, int, float, bool, None, list or dict."""


class Form(StrEnum):
    """How a Task names its function, which decides the shape of its result."""

    DIRECT = "direct"
    """The result is what the function returns."""

    INVOKE = "invoke"
    """``arn:aws:states:::lambda:invoke``: the function gets `Payload`, its result is wrapped."""


class Guard(StrEnum):
    """What is done against running user code again for an outcome that is committed."""

    READ = "read"
    """The store is asked before user code runs."""

    COMMIT = "commit"
    """Nothing: a duplicate runs user code again, and its outcome is dropped at the commit."""

    LEASE = "lease"
    """User code runs under a lease, and the store is asked before: so it does not run beside itself either."""


class Collection(StrEnum):
    """When stored outcomes go."""

    TTL = "ttl"
    """When their time is over; costs nothing."""

    EAGER = "eager"
    """As soon as nobody can need them; costs a write for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What all states have.

    Attributes:
        name: unique in the workflow.
        scope: name of the Map or Parallel state in whose branch it lies; None at the top level.
        data: its data-flow fields (``InputPath``, ``Parameters``, ...), as in the definition.
        next: name of the state after it; None where its scope ends.
    """

    name: str
    scope: str | None
    data: Mapping[str, Json]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(State):
    """Runs user code; a node of the graph.

    Attributes:
        function: key of the function that hosts it.
        form: shape of parameters and result.
        guard: what is done against running user code again.
        committed_by: name of the Task that is certain to follow, and whose commit stands for this one's, which is never
            committed: its output goes on in the event; None for a Task that is committed itself.
        memoize: executions share its results.
    """

    function: str
    form: Form
    guard: Guard = Guard.READ
    committed_by: str | None = None
    memoize: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(State):
    """Passes its input, or ``data["Result"]``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(State):
    """Goes to the first rule that holds.

    Attributes:
        rules: (rule as in the definition without ``Next``, name of the state to go to).
        default: where to go when none holds; None fails with ``States.NoChoiceMatched``.
    """

    rules: tuple[tuple[Mapping[str, Json], str], ...]
    default: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    """Ends its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(State):
    """Fails its scope with `error` and `cause`; None where the definition names none."""

    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOut(State):
    """What Map and Parallel have in common.

    Attributes:
        pure: no branch can reach a Task; the whole state is computed in place.
        join: the Task that follows for certain, with nothing but Pass states between; else None.
    """

    pure: bool
    join: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(FanOut):
    """Runs branches side by side.

    Attributes:
        branches: the state that each begins with.
    """

    branches: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(FanOut):
    """Runs one branch for every item.

    Attributes:
        start: the state that each branch begins with.
        max_concurrency: how many run at once; 0 for no limit.
    """

    start: str
    max_concurrency: int


_KINDS: dict[str, type[State]] = {kind.__name__: kind for kind in (Task, Pass, Choice, Succeed, Fail, Parallel, Map)}


@dataclass(frozen=True, eq=False)
class Workflow:
    """A compiled workflow; compared by identity, so that what is derived from it can be kept beside it.

    Attributes:
        name: unique in the store that it uses; part of every key.
        start_at: the state that an execution begins with.
        states: every state by name.
        hop_budget: how many steps may lie between the start and any step; a runaway loop fails instead of running on.
        collection: when stored outcomes go.
    """

    name: str
    start_at: str
    states: Mapping[str, State]
    hop_budget: int = DEFAULT_HOP_BUDGET
    collection: Collection = Collection.TTL

    def to_json(self) -> str:
        """Canonical text: equal workflows give equal text, on every machine."""
        states = {name: _state_to_json(state) for name, state in self.states.items()}
        table = {
            "version": IR_VERSION,
            "name": self.name,
            "start_at": self.start_at,
            "hop_budget": self.hop_budget,
            "collection": self.collection,
            "states": states,
        }
        return json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Workflow":
        """The workflow that `to_json` wrote.

        Raises:
            ValueError: the text is of another IR version.
        """
        table = json.loads(text)
        if table["version"] != IR_VERSION:
            found = table["version"]
            raise ValueError(f"IR version {found!r}; this runtime reads version {IR_VERSION}: deploy both together")
        states = {name: _state_from_json(name, state) for name, state in table["states"].items()}
        return cls(table["name"], table["start_at"], states, table["hop_budget"], Collection(table["collection"]))

    @cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change when the workflow does."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    @property
    def tasks(self) -> Iterator[Task]:
        """The nodes of the graph."""
        return (state for state in self.states.values() if isinstance(state, Task))

    def task(self, name: str) -> Task:
        """The Task called `name`.

        Raises:
            KeyError: there is none.
        """
        state = self.states.get(name)
        if not isinstance(state, Task):
            raise KeyError(f"{name!r} is no Task of workflow {self.name!r}")
        return state

    def committed_by(self, name: str) -> str | None:
        """The Task whose commit stands for that of the state called `name`; None if the state is committed itself."""
        state = self.states.get(name)
        return state.committed_by if isinstance(state, Task) else None

    def fan_out(self, name: str) -> FanOut:
        """The Map or Parallel called `name`.

        Raises:
            KeyError: there is none.
        """
        state = self.states.get(name)
        if not isinstance(state, FanOut):
            raise KeyError(f"{name!r} is no Map or Parallel of workflow {self.name!r}")
        return state


def _state_to_json(state: State) -> dict[str, Json]:
    """The state without its name, and without defaults: so a new field leaves the text of older workflows as it is."""
    values = {field.name: getattr(state, field.name) for field in fields(state) if field.name != "name"}
    defaults = {field.name: field.default for field in fields(state)}
    return {"type": type(state).__name__, **{name: value for name, value in values.items() if value != defaults[name]}}


def _state_from_json(name: str, table: dict[str, Json]) -> State:
    kind = _KINDS[table.pop("type")]
    typed = {field: _TYPED[field](value) if field in _TYPED else value for field, value in table.items()}
    return kind(name=name, **typed)


_TYPED: dict[str, Callable[[Json], Json]] = {
    "form": Form,
    "guard": Guard,
    "branches": tuple,
    "rules": lambda rules: tuple((rule, target) for rule, target in rules),
}
