"""Control flow between Tasks, followed at synth time through all states without user code.

The analysis follows everything that the runtime may do, whatever the data are: every rule of a Choice may hold, every
array may be empty, and every state may fail. A function that reaches a Wait sends a delayed event for its end.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeGuard

from unum_compiler.traversal import reachable_from
from unum_runtime.model.ir import Workflow
from unum_runtime.model.region import region_of
from unum_runtime.model.states import Choice, FanOut, Map, Parallel, State, Task, Wait, Work


@dataclass(frozen=True, slots=True)
class Reach:
    """The states that control can reach before user code runs again.

    Attributes:
        tasks: names of the Tasks that can be next.
        ended: names of the fan-outs of which a branch can end before.
        failed: names of the fan-outs that can fail before.
        opened: names of the fan-outs of which branches can begin before.
        nodes: first states of the nodes of regions that can end before.
        waits: True if a Wait, or the delay before a fan-out's retry, is possible before.
        waits_inside: True if a Wait in a branch is possible before.
    """

    tasks: tuple[str, ...]
    ended: tuple[str, ...]
    failed: tuple[str, ...]
    opened: tuple[str, ...]
    nodes: tuple[str, ...]
    waits: bool
    waits_inside: bool


class _Where(Enum):
    """Control's progress through a state."""

    BEFORE = "before"
    AFTER = "after"
    FAILED = "failed"
    BRANCH = "branch"
    """A branch of the state has ended."""
    NODE = "node"
    """The node of a region that begins with the state has ended."""


class _Point(NamedTuple):
    state: str
    where: _Where


def entering(workflow: Workflow, state: str) -> Reach:
    """Return the reach of control that enters `state`, including the state itself."""
    return _follow(workflow, _Point(state, _Where.BEFORE))


def leaving(workflow: Workflow, task: str) -> Reach:
    """Return control's reach after success or failure of Task `task`."""
    return _follow(workflow, _Point(task, _Where.AFTER), _Point(task, _Where.FAILED))


def _follow(workflow: Workflow, *starts: _Point) -> Reach:
    seen = reachable_from(starts, lambda point: _next_points(workflow, point))
    return Reach(
        tasks=_names(workflow, seen, Task, _Where.BEFORE),
        ended=_names(workflow, seen, FanOut, _Where.BRANCH),
        failed=_names(workflow, seen, FanOut, _Where.FAILED),
        nodes=tuple(name for name, at in seen if at is _Where.NODE),
        opened=tuple(dict.fromkeys(name for name, where in seen if _opens(workflow.states[name], where))),
        waits=any(_waits(workflow.states[name], where) for name, where in seen),
        waits_inside=any(workflow.states[name].scope for name in _names(workflow, seen, Wait, _Where.BEFORE)),
    )


def _names(workflow: Workflow, seen: tuple[_Point, ...], kind: type[State], where: _Where) -> tuple[str, ...]:
    return tuple(name for name, at in seen if at is where and isinstance(workflow.states[name], kind))


def _opens(state: State, where: _Where) -> bool:
    is_entered = where is _Where.BEFORE or (where is _Where.FAILED and isinstance(state, Work) and bool(state.retry))
    return is_entered and isinstance(state, FanOut) and not state.pure


def _waits(state: State, where: _Where) -> bool:
    if where is _Where.BEFORE:
        return isinstance(state, Wait)
    return where is _Where.FAILED and isinstance(state, FanOut) and bool(state.retry)


def _next_points(workflow: Workflow, point: _Point) -> Iterator[_Point]:
    state = workflow.states[point.state]
    match point.where:
        case _Where.BEFORE if not isinstance(state, Task):
            yield from _into(state)
            yield _Point(state.name, _Where.FAILED)
        case _Where.AFTER:
            yield from _out_of(workflow, state)
        case _Where.FAILED:
            yield from _failing(workflow, state)
        case _Where.BRANCH:
            yield from _after_branch(state)
        case _Where.NODE:
            yield from _after_node(workflow, state)


def _into(state: State) -> Iterator[_Point]:
    """Yield the points right after entering `state`, which runs no user code."""
    match state:
        case Choice():
            yield from (_Point(target, _Where.BEFORE) for _, target in state.rules)
            if state.default is not None:
                yield _Point(state.default, _Where.BEFORE)
        case Parallel(needs=needs, branches=starts) if needs:
            roots = (start for start, (_, sources) in zip(starts, needs, strict=True) if not sources)
            yield from (_Point(start, _Where.BEFORE) for start in roots)
        case Parallel() | Map() if not state.pure:
            yield from _branches(state)
            if isinstance(state, Map):
                yield _Point(state.name, _Where.AFTER)  # the array of items may be empty
        case _:
            yield _Point(state.name, _Where.AFTER)


def _branches(state: FanOut) -> Iterator[_Point]:
    starts = state.branches if isinstance(state, Parallel) else (state.start,) if isinstance(state, Map) else ()
    yield from (_Point(start, _Where.BEFORE) for start in starts)


def _out_of(workflow: Workflow, state: State) -> Iterator[_Point]:
    """Yield the points right after leaving `state`: the next state, or the end of a branch."""
    yield from (_Point(waiting, _Where.BEFORE) for waiting in workflow.feeds.get(state.name, ()))
    if state.next is not None:
        yield _Point(state.next, _Where.BEFORE)
    elif state.scope is not None and workflow.fan_out(state.scope).needs:
        region = region_of(workflow, state.scope)
        yield _Point(region.states[region.node_with(state.name)][0], _Where.NODE)
    elif state.scope is not None:
        yield _Point(state.scope, _Where.BRANCH)


def _after_node(workflow: Workflow, first: State) -> Iterator[_Point]:
    """Yield the points right after the node that begins with `first`: the nodes it feeds, or the region's end."""
    region = region_of(workflow, first.scope or "")
    node = region.node_with(first.name)
    yield from (_Point(region.states[fed][0], _Where.BEFORE) for fed in region.fed[node])
    if node in region.sinks:
        yield _Point(first.scope or "", _Where.BRANCH)


def _failing(workflow: Workflow, state: State) -> Iterator[_Point]:
    """Yield points directly after failure of `state`: catchers, retries, else its scope's failure."""
    if isinstance(state, Work):
        yield from (_Point(rule.next, _Where.BEFORE) for rule in state.catch)
    if isinstance(state, FanOut) and state.retry:
        yield from _into(state)
    if state.scope is not None:
        around = workflow.fan_out(state.scope)
        if isinstance(around, Map) and around.tolerates:
            yield _Point(around.name, _Where.BRANCH)
        if around.quorum is not None and has_lanes(around):  # a failed branch frees its lane for the next
            yield _Point(around.start, _Where.BEFORE)
        yield _Point(around.name, _Where.FAILED)


def _after_branch(state: State) -> Iterator[_Point]:
    yield _Point(state.name, _Where.AFTER)
    yield _Point(state.name, _Where.FAILED)  # the result's fields may not apply to the results
    if has_lanes(state):
        yield _Point(state.start, _Where.BEFORE)


def has_lanes(state: State) -> TypeGuard[Map]:
    """Return True if ``MaxConcurrency`` lets ended branches of `state` start others."""
    return isinstance(state, Map) and state.has_limit
