"""Facts about a workflow that the constructs need: invocations between functions, routes, and store operations.

Everything is computed from the IR alone, in a deterministic order, so that equal workflows give equal templates.

The analysis of control flow between Tasks follows everything that the runtime may do, whatever the data are: every rule
of a Choice may hold, every array may be empty, and every state may fail. A function that reaches a Wait sends a delayed
event for its end.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple, TypeGuard

from unum_compiler.services.started_workflows import starts_itself
from unum_compiler.traversal import reachable_from
from unum_runtime.features.regions.region import region_of
from unum_runtime.model.delays import delays_events
from unum_runtime.model.ir import MOST_BEGUN, Collection, Workflow
from unum_runtime.model.states import (
    SIGNAL,
    Choice,
    FanOut,
    Guard,
    Map,
    MemoScope,
    Parallel,
    Pattern,
    State,
    Task,
    Wait,
    Work,
)


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
            yield from _points_after_branch(state)
        case _Where.NODE:
            yield from _points_after_node(workflow, state)


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


def _points_after_node(workflow: Workflow, first: State) -> Iterator[_Point]:
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


def _points_after_branch(state: State) -> Iterator[_Point]:
    yield _Point(state.name, _Where.AFTER)
    yield _Point(state.name, _Where.FAILED)  # the result's fields may not apply to the results
    if has_lanes(state):
        yield _Point(state.start, _Where.BEFORE)


def has_lanes(state: State) -> TypeGuard[Map]:
    """Return True if ``MaxConcurrency`` lets ended branches of `state` start others."""
    return isinstance(state, Map) and state.has_limit


ENTRY = "$entry"
"""Key of the small function that only starts executions, for workflows that do not begin with a Task."""


class Operation(StrEnum):
    """Store operations of a function."""

    CREATE = "create"
    """Commit checkpoints, share results, claim leases: every write of a whole item."""

    READ = "read"
    """Read checkpoints by name."""

    LIST = "list"
    """Read the checkpoints of all branches of a fan-out."""

    ADD = "add"
    """Add branches to completion sets."""

    COLLECT = "collect"
    """Replace outcomes that are no longer needed by tombstones."""


@dataclass(frozen=True, slots=True)
class Routes:
    """The ways in which functions learn each other's addresses, without circular references between resources.

    Attributes:
        host: function in which executions start.
        forward: for every function, the functions whose addresses are in its environment.
        carried: functions whose addresses the host puts into envelopes, and every function copies. The host's
            environment has these addresses, too, except its own. Each function knows its own address.
    """

    host: str
    forward: Mapping[str, tuple[str, ...]]
    carried: tuple[str, ...]


def reachable(workflow: Workflow, state: str) -> tuple[str, ...]:
    """Return possible next Tasks when control enters `state`."""
    return entering(workflow, state).tasks


def successors(workflow: Workflow, task: str) -> tuple[str, ...]:
    """Return possible next Tasks after `task`."""
    return leaving(workflow, task).tasks


def start_host(workflow: Workflow) -> str:
    """Return the function of the first Task, or `ENTRY`: executions start there."""
    start = workflow.states[workflow.start_at]
    return start.function if isinstance(start, Task) else ENTRY


def function_edges(workflow: Workflow) -> Mapping[str, tuple[str, ...]]:
    """Return callable functions by calling function, including `ENTRY` if it exists."""
    return {
        function: _unique(
            workflow.task(task).function for reach in _reaches(workflow, function) for task in reach.tasks
        )
        for function in _functions(workflow)
    }


def routes(workflow: Workflow) -> Routes:
    """Return a route per edge: environments along a topological order, envelopes against it."""
    edges = function_edges(workflow)
    host = start_host(workflow)
    # CloudFormation refuses circular references, so environments refer only to later functions of one order.
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
    """Return functions whose invocation can lead to another invocation of themselves."""
    edges = {**function_edges(workflow)}
    for task in filter(starts_itself, workflow.tasks):
        edges[task.function] += (start_host(workflow),)
    timed = timed_functions(workflow)
    return tuple(name for name in edges if name in timed or name in reachable_from(edges[name], edges.__getitem__))


def uses_timer(workflow: Workflow) -> bool:
    """Return True if some function sends delayed events."""
    return bool(timed_functions(workflow))


def timed_functions(workflow: Workflow) -> tuple[str, ...]:
    """Return functions that send delayed events: after a Wait, before a retry, to poll a job, to look at a lease."""
    return tuple(function for function in _functions(workflow) if _is_timed(workflow, function))


def delayed_edges(workflow: Workflow) -> Mapping[str, tuple[str, ...]]:
    """Return the other functions to which each function may delay events: those of Tasks behind a Wait."""
    edges = {
        function: _unique(
            workflow.task(task).function
            for reach in _reaches(workflow, function)
            if reach.waits
            for task in reach.tasks
            if workflow.task(task).function != function
        )
        for function in _functions(workflow)
    }
    return {function: targets for function, targets in edges.items() if targets}


def splitting_functions(workflow: Workflow) -> tuple[str, ...]:
    """Return functions whose fan-outs can exceed the branches that one delivery begins.

    They let deliveries of their own begin parts of the branches. The depth of that recursion stays below the number of
    invocations after which Lambda reports an endless loop.
    """
    return tuple(
        function
        for function in _functions(workflow)
        if any(_is_split(workflow, reach) for reach in _reaches(workflow, function))
    )


def store_operations(workflow: Workflow, function: str) -> frozenset[Operation]:
    """Return the minimal store permissions of `function`, or of `ENTRY`."""
    hosted = tuple(task for task in workflow.tasks if task.function == function)
    operations = {Operation.CREATE}
    if workflow.collection is Collection.EAGER:
        operations.add(Operation.COLLECT)
        if any(task.pattern is Pattern.SYNC for task in hosted):
            operations.add(Operation.LIST)  # collecting lists the items of a job
    if function == start_host(workflow) or any(_reads_before_user_code(task) for task in hosted):
        operations.add(Operation.READ)  # the host reads start records that clients have written
    if any(map(_waits_by_key, hosted)):
        operations.add(Operation.LIST)  # the signals that are kept for it
    for reach in _reaches(workflow, function):
        if _is_split(workflow, reach):
            operations.add(Operation.READ)  # the input of the fan-out
        operations |= _operations_between(workflow, reach)
        if workflow.collection is Collection.EAGER and reach.failed:
            operations |= {Operation.READ, Operation.LIST}  # the outcome of an outer scope, and its stored items
    joins = {task.name for task in hosted}
    for state in workflow.states.values():
        if isinstance(state, FanOut) and not state.pure and state.join in joins:
            operations |= _join_operations(workflow, state)
    return frozenset(operations)


def _reads_before_user_code(task: Task) -> bool:
    """Return True if a delivery of `task` reads the store before user code runs."""
    waits = task.pattern is not Pattern.RESPONSE  # for a job or a callback whose state is stored
    return task.guard is not Guard.COMMIT or task.memoize or task.meets_previous or waits


def _waits_by_key(task: Task) -> bool:
    """Return True if `task` waits for a signal with a key."""
    return (task.resource or "").startswith(SIGNAL) and not task.data.keys().isdisjoint(("Parameters", "Arguments"))


def shares_with_all(workflow: Workflow, function: str) -> bool:
    """Return True if Tasks of `function` share memoized results with all workflows of the table."""
    return any(task.memo_scope is MemoScope.TABLE for task in workflow.tasks if task.function == function)


def _is_timed(workflow: Workflow, function: str) -> bool:
    hosted = (task for task in workflow.tasks if task.function == function)
    waits = any(reach.waits for reach in _reaches(workflow, function))
    return waits or any(delays_events(workflow, task) for task in hosted)


def _is_split(workflow: Workflow, reach: Reach) -> bool:
    """Return True if one delivery may open more branches than `MOST_BEGUN`.

    A delivery may open several fan-outs, for example in the branches of another. A Parallel alone has few branches.
    """
    maps = [state for state in map(workflow.states.get, reach.opened) if isinstance(state, Map)]
    return bool(maps) and (len(reach.opened) > 1 or any(map(_may_be_wide, maps)))


def _may_be_wide(state: Map) -> bool:
    # A path or an expression may allow any number of concurrent branches.
    limit = state.data.get("MaxConcurrency") if state.has_limit else None
    return not isinstance(limit, int) or limit > MOST_BEGUN


def _operations_between(workflow: Workflow, reach: Reach) -> set[Operation]:
    """Return store operations between one Task and the next."""
    operations: set[Operation] = set()
    for name in reach.ended:
        operations |= _after_branch(workflow, workflow.fan_out(name))
    for name in reach.nodes:
        operations |= _after_node(workflow, name)
    for name in reach.failed:
        operations |= _after_failure(workflow.fan_out(name))
    if any(workflow.task(name).meets_previous for name in reach.tasks):
        operations.add(Operation.ADD)
    if any(workflow.task(name).after_previous for name in reach.tasks):
        operations |= {Operation.ADD, Operation.READ}  # the arrivals, and the commit of the other branch
    if reach.waits_inside:
        operations.add(Operation.READ)  # during a Wait, an outer scope may be settled, or the execution stopped
    return operations


def _after_failure(fan_out: FanOut) -> set[Operation]:
    """Return additional operations of deliveries that fail a branch of `fan_out`."""
    operations = {Operation.ADD} if fan_out.quorum is not None else set()
    if fan_out.retry or fan_out.catch or (operations and has_lanes(fan_out)):
        operations.add(Operation.READ)  # the input of the fan-out
    return operations


def _after_branch(workflow: Workflow, fan_out: FanOut) -> set[Operation]:
    """Return operations at a branch's end: complete it, start another, and join unless a Task joins."""
    operations = {Operation.ADD} if not fan_out.needs or len(region_of(workflow, fan_out.name).sinks) > 1 else set()
    if has_lanes(fan_out):
        operations.add(Operation.READ)  # the next branch's input is computed from the input of the fan-out
    return operations if fan_out.join else operations | _join_operations(workflow, fan_out)


def _after_node(workflow: Workflow, first: str) -> set[Operation]:
    """Return operations at the end of the node that begins with state `first`: record it, read other results."""
    scope = workflow.states[first].scope or ""
    region = region_of(workflow, scope)
    waiting = [len(region.sources[node]) for node in region.fed[region.node_with(first)]]
    operations = {Operation.ADD, Operation.READ} if any(count > 1 for count in waiting) else set()
    # Nodes see the variables of the region's begin.
    return operations | {Operation.READ} if waiting and workflow.has_variables else operations


def _join_operations(workflow: Workflow, fan_out: FanOut) -> set[Operation]:
    """Return the operations that join the branches of `fan_out`."""
    return {Operation.LIST, Operation.READ} if workflow.needs_origin(fan_out) else {Operation.LIST}


def _functions(workflow: Workflow) -> tuple[str, ...]:
    return _unique((start_host(workflow), *(task.function for task in workflow.tasks)))


def _reaches(workflow: Workflow, function: str) -> Iterator[Reach]:
    """Yield the continuations of `function`: after each Task, or from the start."""
    if function == ENTRY:
        yield entering(workflow, workflow.start_at)
    for task in workflow.tasks:
        if task.function == function:
            yield leaving(workflow, task.name)


def _ordered(edges: Mapping[str, tuple[str, ...]], host: str) -> Iterator[str]:
    """Yield all functions, `host` first, in reverse postorder: then only cycles have edges back."""
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


def _unique(names: Iterator[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
