"""Read an execution's version, pin that of a redrive, and name functions for states without user code.

In an execution, the function that arrives at a Wait or a fan-out sends the state's events to itself. The control
function plans in its place, and sends them to a function that can arrive there: it takes no events itself, so that
nobody can forge one.
"""

from collections.abc import Iterator, Mapping

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import ExecutionNotRedrivable
from unum_runtime.model.checkpoint import Began, Checkpoint, Item, began_from_item, began_to_item
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Name, redrive_key
from unum_runtime.model.states import Choice, Map, Parallel, State, Task, Work
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store


class RunsOn(NamedTuple):
    """Version of an execution or redrive.

    Attributes:
        digest: digest of its IR; None before its first step.
        began: its functions; None if no step recorded them.
    """

    digest: str | None
    began: Began | None


def runs_on(store: Store, workflow: str, execution_name: str) -> RunsOn:
    """Return the version of an execution.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
    """
    return runs_on_after(from_start(store, workflow, execution_name))


def runs_on_after(steps: list[Checkpoint]) -> RunsOn:
    """Return the version of an execution with `steps`, its start record and top level."""
    # Stop records have no version, and start records only those of forks and variants, whose steps have it as well.
    own = [step for step in steps if step.digest]
    began = [step.began for step in own if step.began is not None]
    return RunsOn(own[-1].digest if own else None, began[-1] if began else None)


def pin(rt: Runtime, name: Name, began: Began | None) -> int:
    """Decide that the redrive with step `name` is made on this version, before its first copy, and return its time.

    Copies for `name` have the same keys on each version, but joins of one version refuse results of another.

    Raises:
        ExecutionNotRedrivable: another version has begun it; only that one may finish it.
    """
    item: Item = {"ir": rt.workflow.digest, "at": rt.clock.now_ms(), **began_to_item(began)}
    winner = rt.store.create(redrive_key(rt.workflow.name, name), item, expires_at_s=rt.expires_at_s()) or item
    if winner["ir"] != rt.workflow.digest:
        raise ExecutionNotRedrivable(
            f"execution {name.execution.name!r}: another redrive has begun on IR {winner['ir']}, this is IR "
            f"{rt.workflow.digest}; redrive again to finish that one"
        )
    return int(winner["at"])


def pinned(store: Store, workflow: str, name: Name) -> RunsOn | None:
    """Return the version of the redrive with step `name` that has begun to copy; None without one."""
    key = redrive_key(workflow, name)
    item = store.read([key]).get(key)
    return None if item is None else RunsOn(str(item["ir"]), began_from_item(item))


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
