"""Functions that continue states without user code: they may do so, and know what follows.

In an execution, the function that arrives at a Wait or a fan-out sends the state's events to itself. The control
function plans in its place, and sends them to a function that can arrive there: it takes no events itself, so that
nobody can forge one.
"""

from collections.abc import Iterator, Mapping

from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Choice, Map, Parallel, State, Task, Work


def senders(workflow: Workflow) -> Mapping[str, str | None]:
    """Return a function key for each state without user code; None for the function in which executions start."""
    before: dict[str, list[State]] = {}
    for state in workflow.states.values():
        for follower in (*_entered(state), *_left(workflow, state)):
            before.setdefault(follower, []).append(state)
    return {name: _task_before(before, name) for name, state in workflow.states.items() if not isinstance(state, Task)}


def _task_before(before: Mapping[str, list[State]], name: str) -> str | None:
    """Return the function of the nearest Task from which control reaches state `name` without another Task."""
    ahead = [name]
    for each in ahead:  # the list grows while the loop runs, by each state that was not listed before
        for state in before.get(each, ()):
            if isinstance(state, Task):
                return state.function
            if state.name not in ahead:
                ahead.append(state.name)
    return None


def _entered(state: State) -> Iterator[str]:
    """Yield the states that control enters inside of `state`."""
    if isinstance(state, Parallel):
        yield from state.branches
    elif isinstance(state, Map):
        yield state.start


def _left(workflow: Workflow, state: State) -> Iterator[str]:
    """Yield the states that control enters after `state`, or after the fan-out that ends with it."""
    if isinstance(state, Work):
        yield from (rule.next for rule in state.catch)
    if isinstance(state, Choice):
        yield from (target for _, target in state.rules)
        yield from () if state.default is None else (state.default,)
    elif state.next is not None:
        yield state.next
    elif state.scope is not None:
        around = workflow.fan_out(state.scope)
        if around.needs:
            from unum_runtime.features.regions.region import region_of  # noqa: PLC0415 - few workflows have regions

            region = region_of(workflow, around.name)
            yield from (region.states[node][0] for node in region.fed[region.node_with(state.name)])
        yield from _left(workflow, around)
