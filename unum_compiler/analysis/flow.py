"""Where control can go in a workflow without running user code: the states between Tasks, followed at synth time.

It follows what the runtime may do, whatever the data are: every rule of a Choice may hold, every array be empty, and
every state fail. A Wait is passed by the function that came to it, which sends an event for when it is over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeGuard

from unum_runtime.model.ir import Choice, FanOut, Map, Parallel, State, Task, Wait, Work, Workflow


@dataclass(frozen=True, slots=True)
class Reach:
    """What control comes to.

    Attributes:
        tasks: names of the Tasks that can be next.
        ended: names of the fan-outs of which a branch can end on the way.
        failed: names of the fan-outs that can fail on the way.
        opened: names of the fan-outs of which branches can begin on the way.
        waits: whether there can be a Wait on the way, or one before a fan-out is retried.
        waits_inside: whether there can be a Wait in a branch on the way.
    """

    tasks: tuple[str, ...]
    ended: tuple[str, ...]
    failed: tuple[str, ...]
    opened: tuple[str, ...]
    waits: bool
    waits_inside: bool


class _Where(Enum):
    """How far control has come with a state."""

    BEFORE = "before"
    AFTER = "after"
    FAILED = "failed"
    BRANCH = "branch"
    """A branch of the state has ended."""


class _Point(NamedTuple):
    state: str
    where: _Where


def entering(workflow: Workflow, state: str) -> Reach:
    """What can come next when control enters `state`, itself included."""
    return _follow(workflow, _Point(state, _Where.BEFORE))


def leaving(workflow: Workflow, task: str) -> Reach:
    """What can come next when the Task `task` is done, or has failed."""
    return _follow(workflow, _Point(task, _Where.AFTER), _Point(task, _Where.FAILED))


def _follow(workflow: Workflow, *starts: _Point) -> Reach:
    seen: dict[_Point, None] = {}
    ahead = list(reversed(starts))
    while ahead:
        point = ahead.pop()
        if point not in seen:
            seen[point] = None
            ahead.extend(reversed(tuple(_onward(workflow, point))))
    return Reach(
        tasks=_names(workflow, seen, Task, _Where.BEFORE),
        ended=_names(workflow, seen, FanOut, _Where.BRANCH),
        failed=_names(workflow, seen, FanOut, _Where.FAILED),
        opened=tuple(dict.fromkeys(name for name, where in seen if _opens(workflow.states[name], where))),
        waits=any(_waits(workflow.states[name], where) for name, where in seen),
        waits_inside=any(workflow.states[name].scope for name in _names(workflow, seen, Wait, _Where.BEFORE)),
    )


def _names(workflow: Workflow, seen: dict[_Point, None], kind: type[State], where: _Where) -> tuple[str, ...]:
    return tuple(name for name, at in seen if at is where and isinstance(workflow.states[name], kind))


def _opens(state: State, where: _Where) -> bool:
    is_entered = where is _Where.BEFORE or (where is _Where.FAILED and isinstance(state, Work) and bool(state.retry))
    return is_entered and isinstance(state, FanOut) and not state.pure


def _waits(state: State, where: _Where) -> bool:
    if where is _Where.BEFORE:
        return isinstance(state, Wait)
    return where is _Where.FAILED and isinstance(state, FanOut) and bool(state.retry)


def _onward(workflow: Workflow, point: _Point) -> Iterator[_Point]:
    state = workflow.states[point.state]
    match point.where:
        case _Where.BEFORE if not isinstance(state, Task):
            yield from _into(state)
            yield _Point(state.name, _Where.FAILED)
        case _Where.AFTER:
            yield from _out_of(state)
        case _Where.FAILED:
            yield from _failing(workflow, state)
        case _Where.BRANCH:
            yield from _after_branch(state)


def _into(state: State) -> Iterator[_Point]:
    """The points right after entering `state`, in which no user code runs."""
    match state:
        case Choice():
            yield from (_Point(target, _Where.BEFORE) for _, target in state.rules)
            if state.default is not None:
                yield _Point(state.default, _Where.BEFORE)
        case Parallel() | Map() if not state.pure:
            yield from _branches(state)
            if isinstance(state, Map):
                yield _Point(state.name, _Where.AFTER)  # there may be no items
        case _:
            yield _Point(state.name, _Where.AFTER)


def _branches(state: FanOut) -> Iterator[_Point]:
    starts = state.branches if isinstance(state, Parallel) else (state.start,) if isinstance(state, Map) else ()
    yield from (_Point(start, _Where.BEFORE) for start in starts)


def _out_of(state: State) -> Iterator[_Point]:
    """The points right after leaving `state`: the next state, or the end of a branch."""
    if state.next is not None:
        yield _Point(state.next, _Where.BEFORE)
    elif state.scope is not None:
        yield _Point(state.scope, _Where.BRANCH)


def _failing(workflow: Workflow, state: State) -> Iterator[_Point]:
    """The points right after `state` has failed: what it says itself, and else its scope fails."""
    if isinstance(state, Work):
        yield from (_Point(rule.next, _Where.BEFORE) for rule in state.catch)
    if isinstance(state, FanOut) and state.retry:
        yield from _into(state)
    if state.scope is not None:
        around = workflow.fan_out(state.scope)
        if isinstance(around, Map) and around.tolerates:
            yield _Point(around.name, _Where.BRANCH)
        if around.quorum is not None and has_lanes(around):
            yield _Point(around.start, _Where.BEFORE)
        yield _Point(around.name, _Where.FAILED)


def _after_branch(state: State) -> Iterator[_Point]:
    yield _Point(state.name, _Where.AFTER)
    yield _Point(state.name, _Where.FAILED)  # its results may not fit where they should go
    if has_lanes(state):
        yield _Point(state.start, _Where.BEFORE)


def has_lanes(state: State) -> TypeGuard[Map]:
    """Whether a branch of `state` that ends starts another, because only so many may run at once."""
    return isinstance(state, Map) and state.has_limit
