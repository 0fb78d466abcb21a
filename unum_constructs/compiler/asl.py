"""The typed tree of a definition: one class for each kind of state, scopes nested as in the text.

The tree stands between the JSON text and the IR. Its fields hold what the text says, spelled in one way: the older
names of a Map's fields are gone, a Task's resource is resolved to a function. A state that cannot be compiled is still
in the tree, as `Opaque`, so that what is wrong around it can be found in the same run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from unum_runtime.model.ir import Form, Json


class Transition(NamedTuple):
    """A field that names a state to go to.

    Attributes:
        place: JSON path of the field.
        target: the name in it.
    """

    place: str
    target: str


class Rule(NamedTuple):
    """A rule of a Choice: what must hold, and where to go then."""

    condition: Mapping[str, Json]
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What all states have.

    Attributes:
        name: as the table of states calls it.
        place: its JSON path.
        data: the data-flow fields that it has.
        transitions: every field that names a next state, whatever its kind.
        ends: whether its scope can end with it.
    """

    name: str
    place: str
    data: Mapping[str, Json]
    transitions: tuple[Transition, ...]
    ends: bool

    @property
    def next(self) -> str | None:
        """The target of the only transition; None where the scope ends."""
        return self.transitions[0].target if self.transitions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A state machine, a branch of a Parallel, or the processor of a Map.

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
class Task(State):
    """Runs the Lambda function with key `function`."""

    function: str
    form: Form


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
    """Fails with `error` and `cause`, each None where the text has none."""

    error: str | None
    cause: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(State):
    """Runs its branches side by side."""

    branches: tuple[Scope, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(State):
    """Runs its processor for every item, `max_concurrency` at once; 0 sets no limit."""

    processor: Scope
    max_concurrency: int


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


def all_scopes(scope: Scope) -> Iterator[Scope]:
    """`scope` and all scopes inside it."""
    yield scope
    for state in scope.states.values():
        for inner in scopes_inside(state):
            yield from all_scopes(inner)
