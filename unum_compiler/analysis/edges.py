"""What the constructs must know of a workflow: who may invoke whom, how addresses travel, who does what in the store.

All of it is computed from the IR alone, and in a deterministic order, so that equal workflows give equal templates.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from unum_compiler.analysis.flow import Reach, entering, has_lanes, leaving
from unum_compiler.services.started_workflows import starts_itself
from unum_runtime.model.ir import MOST_BEGUN, Collection, FanOut, Guard, Map, Pattern, Task, Workflow

ENTRY = "$entry"
"""Stands for the small function that only starts executions; it is there when a workflow begins with no Task."""


class Operation(StrEnum):
    """What a function does in the store."""

    CREATE = "create"
    """Commit checkpoints, share results, claim leases: whatever is written as a whole."""

    READ = "read"
    """Read checkpoints by name."""

    LIST = "list"
    """Read the checkpoints of all branches of a fan-out."""

    ADD = "add"
    """Add branches to completion sets."""

    COLLECT = "collect"
    """Turn outcomes that nobody can need any more into tombstones."""


@dataclass(frozen=True, slots=True)
class Routes:
    """How functions come to know each other's addresses, without a circle of references.

    Attributes:
        host: the function that executions start in.
        forward: for every function, those whose addresses go into its environment.
        carried: functions whose addresses the host puts into envelopes, which every function passes on; beside
            those of `forward`, the host's environment has these, but for its own. Each function knows itself.
    """

    host: str
    forward: Mapping[str, tuple[str, ...]]
    carried: tuple[str, ...]


def reachable(workflow: Workflow, state: str) -> tuple[str, ...]:
    """The Tasks that can be invoked next when control enters `state`."""
    return entering(workflow, state).tasks


def successors(workflow: Workflow, task: str) -> tuple[str, ...]:
    """The Tasks that can be invoked after `task`."""
    return leaving(workflow, task).tasks


def start_host(workflow: Workflow) -> str:
    """The function that executions start in: that of the first Task, or `ENTRY`."""
    start = workflow.states[workflow.start_at]
    return start.function if isinstance(start, Task) else ENTRY


def function_edges(workflow: Workflow) -> Mapping[str, tuple[str, ...]]:
    """For every function, and `ENTRY` if there is one, the functions that it can invoke."""
    return {
        function: _unique(
            workflow.task(task).function for reach in _reaches(workflow, function) for task in reach.tasks
        )
        for function in _functions(workflow)
    }


def routes(workflow: Workflow) -> Routes:
    """Routes for every edge: forward in a topological order of what remains without back edges, else carried."""
    edges = function_edges(workflow)
    host = start_host(workflow)
    position = {function: index for index, function in enumerate(_ordered(edges, host))}
    forward = {
        source: tuple(target for target in targets if position[source] < position[target])
        for source, targets in edges.items()
    }
    carried = _unique(
        target for source, targets in edges.items() for target in targets if position[source] > position[target]
    )
    return Routes(host, forward, carried)


def recursive_functions(workflow: Workflow) -> tuple[str, ...]:
    """The functions that can come to be invoked again as a consequence of their own invocation."""
    edges = {**function_edges(workflow)}
    for task in filter(starts_itself, workflow.tasks):
        edges[task.function] += (start_host(workflow),)
    timed = timed_functions(workflow)
    return tuple(function for function in edges if function in timed or function in _closure(edges, function))


def uses_timer(workflow: Workflow) -> bool:
    """Whether some function sends events for a later time."""
    return bool(timed_functions(workflow))


def timed_functions(workflow: Workflow) -> tuple[str, ...]:
    """The functions that send events for a later time: to go on after a Wait, to try again, or to look again."""
    return tuple(function for function in _functions(workflow) if _is_timed(workflow, function))


def is_looked_at(workflow: Workflow, task: Task) -> bool:
    """Whether `task` waits for somebody who may take too long."""
    limited = any(name.startswith(("TimeoutSeconds", "HeartbeatSeconds")) for name in task.data)
    return task.pattern is Pattern.CALLBACK and (limited or workflow.timeout_s is not None)


def parting_functions(workflow: Workflow) -> tuple[str, ...]:
    """The functions that may have to begin more branches than one delivery can, and have others of their own do parts.

    None of them comes to be invoked again by that as often as Lambda takes for an endless loop.
    """
    return tuple(
        function
        for function in _functions(workflow)
        if any(_is_parted(workflow, reach) for reach in _reaches(workflow, function))
    )


def store_operations(workflow: Workflow, function: str) -> frozenset[Operation]:
    """What `function`, which may be `ENTRY`, can do in the store; a permission for anything else is one too many."""
    hosted = tuple(task for task in workflow.tasks if task.function == function)
    operations = {Operation.CREATE}
    if workflow.collection is Collection.EAGER:
        operations.add(Operation.COLLECT)
        if any(task.pattern is Pattern.SYNC for task in hosted):
            operations.add(Operation.LIST)  # what is stored of jobs, to collect it
    if function == start_host(workflow) or any(_looks_up(task) for task in hosted):
        operations.add(Operation.READ)  # the host reads start records that clients have written
    for reach in _reaches(workflow, function):
        if _is_parted(workflow, reach):
            operations.add(Operation.READ)  # what the fan-out was opened with
        operations |= _underway(workflow, reach)
        if workflow.collection is Collection.EAGER and reach.failed:
            operations |= {Operation.READ, Operation.LIST}  # whether a scope around is settled, and what it has stored
    joins = {task.name for task in hosted}
    for state in workflow.states.values():
        if isinstance(state, FanOut) and not state.pure and state.join in joins:
            operations |= _joining(workflow, state)
    return frozenset(operations)


def _looks_up(task: Task) -> bool:
    """Whether the store is asked before user code of `task` runs."""
    waits = task.pattern is not Pattern.RESPONSE  # for somebody else, of whom something is stored
    return task.guard is not Guard.COMMIT or task.memoize or task.meets_previous or waits


def _is_timed(workflow: Workflow, function: str) -> bool:
    hosted = (task for task in workflow.tasks if task.function == function)
    comes_again = any(task.retry or task.pattern is Pattern.SYNC or is_looked_at(workflow, task) for task in hosted)
    return comes_again or any(reach.waits for reach in _reaches(workflow, function))


def _is_parted(workflow: Workflow, reach: Reach) -> bool:
    """Whether on the way, in one delivery, more branches can begin than `MOST_BEGUN`.

    Several fan-outs may be opened together, for example in the branches of another. A Parallel alone has few branches.
    """
    maps = [state for state in map(workflow.states.get, reach.opened) if isinstance(state, Map)]
    return bool(maps) and (len(reach.opened) > 1 or any(map(_may_be_wide, maps)))


def _may_be_wide(state: Map) -> bool:
    limit = state.data.get("MaxConcurrency") if state.has_limit else None
    return not isinstance(limit, int) or limit > MOST_BEGUN


def _underway(workflow: Workflow, reach: Reach) -> set[Operation]:
    """What is done on the way to what comes next."""
    operations: set[Operation] = set()
    for name in reach.ended:
        operations |= _after_branch(workflow, workflow.fan_out(name))
    for name in reach.failed:
        operations |= _after_failure(workflow.fan_out(name))
    if any(workflow.task(name).meets_previous for name in reach.tasks):
        operations.add(Operation.ADD)
    if reach.waits_inside:
        operations.add(Operation.READ)  # whether something around the branch was settled, or stopped, meanwhile
    return operations


def _after_failure(fan_out: FanOut) -> set[Operation]:
    """What whoever fails a branch of `fan_out` does, unless that counts as an end of the branch."""
    operations = {Operation.ADD} if fan_out.quorum is not None else set()
    if fan_out.retry or fan_out.catch or (operations and has_lanes(fan_out)):
        operations.add(Operation.READ)  # what the fan-out was opened with
    return operations


def _after_branch(workflow: Workflow, fan_out: FanOut) -> set[Operation]:
    """What whoever ends a branch of `fan_out` does: complete it, start the next, and join if no Task does."""
    operations = {Operation.ADD}
    if has_lanes(fan_out):
        operations.add(Operation.READ)  # the next branch's input is made of the fan-out's
    return operations if fan_out.join else operations | _joining(workflow, fan_out)


def _joining(workflow: Workflow, fan_out: FanOut) -> set[Operation]:
    """What whoever joins the branches of `fan_out` does."""
    return {Operation.LIST, Operation.READ} if workflow.needs_origin(fan_out) else {Operation.LIST}


def _functions(workflow: Workflow) -> tuple[str, ...]:
    return _unique((start_host(workflow), *(task.function for task in workflow.tasks)))


def _reaches(workflow: Workflow, function: str) -> Iterator[Reach]:
    """What `function` comes to after each of its Tasks, or from the start."""
    if function == ENTRY:
        yield entering(workflow, workflow.start_at)
    for task in workflow.tasks:
        if task.function == function:
            yield leaving(workflow, task.name)


def _ordered(edges: Mapping[str, tuple[str, ...]], host: str) -> Iterator[str]:
    """All functions, `host` first, in reverse postorder of depth-first searches: only circles have edges back."""
    finished: dict[str, None] = {}
    for root in (host, *edges):
        before = set(finished)
        finished |= dict.fromkeys(_postorder(edges, root, before))
        yield from reversed([function for function in finished if function not in before])


def _postorder(edges: Mapping[str, tuple[str, ...]], root: str, seen: set[str]) -> Iterator[str]:
    path = [(root, iter(edges[root]))] if root not in seen else []
    seen = seen | {root}
    while path:
        function, targets = path[-1]
        target = next((target for target in targets if target not in seen), None)
        if target is None:
            path.pop()
            yield function
        else:
            seen.add(target)
            path.append((target, iter(edges[target])))


def _closure(edges: Mapping[str, tuple[str, ...]], function: str) -> set[str]:
    """Everything that can be invoked as a consequence of `function`."""
    found: set[str] = set()
    ahead = list(edges[function])
    while ahead:
        target = ahead.pop()
        if target not in found:
            found.add(target)
            ahead.extend(edges[target])
    return found


def _unique(names: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
