"""Parts of a deployment that an execution can still need, from the state that it committed last.

Everything that the definition allows counts, whatever the data are. The state itself counts as well: its delivery may
still send what follows, and a retry may lead back to it.
"""

from collections.abc import Iterator

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.delays import delays_events, longest_delay_s
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import ACTIVITY, Choice, Map, Parallel, State, Task, Work


class Needs(NamedTuple):
    """Future needs of an execution.

    Attributes:
        functions: keys of functions.
        activities: names of activities.
        delay_s: longest delay of an event in seconds; None if no event has to wait.
    """

    functions: frozenset[str]
    activities: frozenset[str]
    delay_s: float | None


def needs_from(workflow: Workflow, state: str) -> Needs:
    """Return what executions need that have committed `state` of the top level last.

    A `state` that the definition lacks counts as the first one.
    """
    ahead = [*_reachable(workflow, state if state in workflow.states else workflow.start_at)]
    tasks = [each for each in ahead if isinstance(each, Task)]
    called = [task.resource or "" for task in tasks]
    delays = [longest_delay_s(workflow, each) for each in ahead if delays_events(workflow, each)]
    return Needs(
        frozenset(task.function for task in tasks),
        frozenset(each.removeprefix(ACTIVITY) for each in called if each.startswith(ACTIVITY)),
        max(delays, default=None),
    )


def _reachable(workflow: Workflow, start: str) -> Iterator[State]:
    """Yield `start` and all states that control can reach from it."""
    seen, ahead = {start}, [start]
    while ahead:
        state = workflow.states[ahead.pop()]
        yield state
        new = {*_following(state)} - seen
        seen |= new
        ahead += new


def _following(state: State) -> Iterator[str]:
    """Yield the states that may follow `state`, those in its branches included."""
    if state.next is not None:
        yield state.next
    if isinstance(state, Work):
        yield from (catcher.next for catcher in state.catch)
    match state:
        case Choice():
            yield from (target for _, target in state.rules)
            if state.default is not None:
                yield state.default
        case Parallel():
            yield from state.branches
        case Map():
            yield state.start
