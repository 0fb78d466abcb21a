"""The typed tree of a definition: one class for each kind of state, scopes nested as in the text.

The tree stands between the JSON text and the IR. Its fields hold what the text says, spelled in one way: the older
names of a Map's fields are gone, a Task's resource is resolved to a function. A state that cannot be compiled is still
in the tree, as `Opaque`, so that what is wrong around it can be found in the same run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unum_runtime.model.ir import Form, Json, Language, Pattern, Retrier


class Transition(NamedTuple):
    """A field that names a state to go to.

    Attributes:
        place: JSON path of the field.
        target: the name in it.
    """

    place: str
    target: str


class Rule(NamedTuple):
    """A rule of a Choice: what must hold, and where to go then.

    Attributes:
        place: its JSON path.
        condition: what must hold, as in the definition.
        data: its ``Assign`` and ``Output``.
        target: the state to go to; empty if that cannot be read.
    """

    place: str
    condition: Mapping[str, Json]
    data: Mapping[str, Json]
    target: str


class Catcher(NamedTuple):
    """Where to go from a state that failed.

    Attributes:
        place: its JSON path.
        errors: the names of the errors that it is for.
        data: its data-flow fields.
        target: the state to go to; empty if that cannot be read.
    """

    place: str
    errors: tuple[str, ...]
    data: Mapping[str, Json]
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What all states have.

    Attributes:
        name: as the table of states calls it.
        place: its JSON path.
        language: of its expressions.
        data: those of its fields that say how data flow, or that may hold an expression.
        next: the target of its ``Next``; None if it has none.
        transitions: every field that names a next state, whatever its kind.
        ends: whether its scope can end with it.
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
    """What states have that can be retried and caught."""

    retry: tuple[Retrier, ...]
    catch: tuple[Catcher, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A state machine, a branch of a Parallel, or the processor of a Map: what has states.

    Attributes:
        place: its JSON path.
        start_at: the transition into it; None if it cannot be read.
        states: its own states by name, without those of scopes inside.
    """

    place: str
    start_at: Transition | None
    states: Mapping[str, State]

    @property
    def start(self) -> str:
        """Name of its first state; empty if that cannot be read."""
        return self.start_at.target if self.start_at else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Scope):
    """A state machine; an execution of it may take `timeout_s` seconds, or any time if that is None."""

    timeout_s: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Work):
    """Runs the Lambda function with key `function`, or calls the service `resource`."""

    function: str
    form: Form
    resource: str | None
    pattern: Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(State):
    """Passes its input or a fixed result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(State):
    """Goes to the first rule that holds, else to `default`."""

    rules: tuple[Rule, ...]
    default: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    """Ends its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(State):
    """Fails its scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(State):
    """Goes on when its time has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(Work):
    """Runs its branches side by side."""

    branches: tuple[Scope, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Work):
    """Runs its processor for every item; `distributed` says in which mode."""

    processor: Scope
    distributed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque(State):
    """A state about which a problem was reported that leaves nothing to compile."""


def scopes_inside(state: State) -> tuple[Scope, ...]:
    """The scopes that `state` fans out into."""
    match state:
        case Parallel():
            return state.branches
        case Map():
            return (state.processor,)
        case _:
            return ()


def all_states(scope: Scope) -> Iterator[State]:
    """The states of `scope` and of all scopes inside it."""
    for inner in all_scopes(scope):
        yield from inner.states.values()


def all_scopes(scope: Scope) -> Iterator[Scope]:
    """`scope` and all scopes inside it."""
    yield scope
    for state in scope.states.values():
        for inner in scopes_inside(state):
            yield from all_scopes(inner)
