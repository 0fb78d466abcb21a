"""Where control can go in a workflow without running user code: the pure states between Tasks, followed at synth time.

It follows what the runtime may do, whatever the data are: every rule of a Choice may hold, and every array be empty.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

from unum_runtime.model.ir import Choice, Fail, FanOut, Map, Parallel, State, Task, Workflow


@dataclass(frozen=True, slots=True)
class Reach:
    """What control comes to.

    Attributes:
        tasks: names of the Tasks that can be next.
        ended: names of the fan-outs of which a branch can end on the way.
    """

    tasks: tuple[str, ...]
    ended: tuple[str, ...]


class _Point(NamedTuple):
    """Control before a state, or after it."""

    state: str
    is_after: bool


def entering(workflow: Workflow, state: str) -> Reach:
    """What can come next when control enters `state`, itself included."""
    return _follow(workflow, _before(state))


def leaving(workflow: Workflow, task: str) -> Reach:
    """What can come next when the Task `task` is done."""
    return _follow(workflow, _after(task))


def _follow(workflow: Workflow, start: _Point) -> Reach:
    seen: dict[_Point, None] = {}
    ahead = [start]
    while ahead:
        point = ahead.pop()
        if point not in seen:
            seen[point] = None
            ahead.extend(reversed(tuple(_onward(workflow, point))))
    tasks = (name for name, is_after in seen if not is_after and isinstance(workflow.states[name], Task))
    lasts = (workflow.states[name] for name, is_after in seen if is_after)
    ended = dict.fromkeys(last.scope for last in lasts if last.next is None and last.scope is not None)
    return Reach(tuple(tasks), tuple(ended))


def _onward(workflow: Workflow, point: _Point) -> Iterator[_Point]:
    state = workflow.states[point.state]
    return _out_of(workflow, state) if point.is_after else _into(state)


def _into(state: State) -> Iterator[_Point]:
    """The points right after entering `state`; none where user code runs or all ends."""
    match state:
        case Task() | Fail():
            pass
        case Choice():
            yield from (_before(target) for _, target in state.rules)
            if state.default is not None:
                yield _before(state.default)
        case Parallel() if not state.pure:
            yield from map(_before, state.branches)
        case Map() if not state.pure:
            yield _before(state.start)
            yield _after(state.name)  # there may be no items
        case _:
            yield _after(state.name)


def _out_of(workflow: Workflow, state: State) -> Iterator[_Point]:
    """The points right after leaving `state`: the next state, or what follows the fan-out whose branch ends."""
    if state.next is not None:
        yield _before(state.next)
    elif state.scope is not None:
        fan_out = workflow.fan_out(state.scope)
        yield _after(fan_out.name)
        if has_lanes(fan_out):
            yield _before(fan_out.start)


def has_lanes(fan_out: FanOut) -> TypeGuard[Map]:
    """Whether a branch that ends starts another, because only so many may run at once."""
    return isinstance(fan_out, Map) and fan_out.max_concurrency > 0


def _before(state: str) -> _Point:
    return _Point(state, is_after=False)


def _after(state: str) -> _Point:
    return _Point(state, is_after=True)
