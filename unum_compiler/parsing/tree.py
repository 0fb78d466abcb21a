"""Typed tree of a definition: one class per kind of state, scopes nested like the text.

The tree stands between the JSON text and the IR. Its fields have one spelling: older names of a Map's fields are
replaced, and a Task's resource is resolved to a function. A state that cannot be compiled is in the tree as `Opaque`,
so that one run reports problems around it, too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unum_runtime.model.states import Form, Json, Language, Pattern, Retrier


class Transition(NamedTuple):
    """A field that names a next state.

    Attributes:
        place: JSON path of the field.
        target: name in the field.
    """

    place: str
    target: str


class Rule(NamedTuple):
    """A rule of a Choice.

    Attributes:
        place: JSON path of the rule.
        condition: comparison or expression, as in the definition.
        data: ``Assign`` and ``Output`` of the rule.
        target: name of the next state; empty if it cannot be read.
    """

    place: str
    condition: Mapping[str, Json]
    data: Mapping[str, Json]
    target: str


class Catcher(NamedTuple):
    """A continuation of a failed state.

    Attributes:
        place: JSON path of the catcher.
        errors: names of the caught errors.
        data: data-flow fields.
        target: name of the next state; empty if it cannot be read.
    """

    place: str
    errors: tuple[str, ...]
    data: Mapping[str, Json]
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Fields of every state.

    Attributes:
        name: key in the table of states.
        place: JSON path of the state.
        language: query language of the expressions.
        data: fields with data flow or expressions.
        next: target of ``Next``; None without that field.
        transitions: every field with the name of a next state, in all kinds of state.
        ends: True if the scope can end with the state.
    """

    name: str
    place: str
    language: Language
    data: Mapping[str, Json]
    next: str | None
    transitions: tuple[Transition, ...]
    ends: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(State):
    """Common fields of retryable states."""

    retry: tuple[Retrier, ...]
    catch: tuple[Catcher, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A container of states: state machine, branch of a Parallel, or processor of a Map.

    Attributes:
        place: JSON path of the scope.
        start_at: transition to the first state; None if it cannot be read.
        states: own states by name, without those of nested scopes.
    """

    place: str
    start_at: Transition | None
    states: Mapping[str, State]

    @property
    def start(self) -> str:
        """Return the first state's name; empty if unreadable."""
        return self.start_at.target if self.start_at else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Scope):
    """A state machine; `timeout_s` limits an execution, in seconds, None for no limit."""

    timeout_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Work):
    """A call: Lambda function `function`, or service action `resource`; `called` is the function that it calls.

    `written` is the text of its field ``Resource``.
    """

    function: str
    form: Form
    resource: str | None
    pattern: Pattern
    called: str | None = None
    written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(State):
    """A state that passes its input or a fixed result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(State):
    """A state that selects the first rule that holds, else `default`."""

    rules: tuple[Rule, ...]
    default: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    """A state that ends its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(State):
    """A state that fails its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(State):
    """A state that delays, then passes its input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(Work):
    """A state that runs its branches side by side."""

    branches: tuple[Scope, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Work):
    """A state that runs its processor once per item; `distributed` is its mode, and `express` its type of execution."""

    processor: Scope
    distributed: bool
    express: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque(State):
    """A state already reported as impossible to compile."""


def scopes_inside(state: State) -> tuple[Scope, ...]:
    """Return scopes directly below `state`."""
    match state:
        case Parallel():
            return state.branches
        case Map():
            return (state.processor,)
        case _:
            return ()


def all_states(scope: Scope) -> Iterator[State]:
    """Yield all states of `scope`, including nested scopes."""
    for inner in all_scopes(scope):
        yield from inner.states.values()


def all_scopes(scope: Scope) -> Iterator[Scope]:
    """Yield `scope` and all nested scopes."""
    yield scope
    for state in scope.states.values():
        for inner in scopes_inside(state):
            yield from all_scopes(inner)
