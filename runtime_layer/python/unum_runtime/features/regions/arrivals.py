"""Arrivals in a region: a node begins when all its sources have ended, the region ends when its sinks have.

An ended node is recorded for each node that waits for it and for others: a member of that node's arrival set. A set
only grows, and each addition returns it, so at least one delivery sees it full. Every delivery that sees it full begins
the node, because an earlier one may have died before that. A node with one source needs no set: whoever commits or
finds the source's end begins it. The same holds for the completion set of the sinks.
"""

from collections.abc import Callable, Iterable, Mapping

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory, StoreError
from unum_runtime.features.regions.region import Region, region_of
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Key, Name, Scope, checkpoint_key, completion_key, meeting_key
from unum_runtime.model.states import Json
from unum_runtime.protocol.fanout.completion import add_completed
from unum_runtime.protocol.fanout.lanes import read_origin
from unum_runtime.protocol.planning.advance import Visits
from unum_runtime.protocol.planning.evaluation import EvaluationContext
from unum_runtime.protocol.planning.plan import Commit, CompleteBranch, Invoke, OpenScope, begin_branch, branch, plan
from unum_runtime.protocol.runtime import Runtime


def begin_node(
    workflow: Workflow,
    scope: Scope,
    node: int,
    ends: Mapping[int, CompleteBranch],
    variables: Mapping[str, Json],
    visits: Visits | None = None,
) -> Invoke | Commit:
    """Return the first effect of a node that has sources.

    Args:
        workflow: the version that the execution runs on.
        scope: the region.
        node: index of the node.
        ends: ends of its sources at least, by index.
        variables: variables that the region sees.
        visits: collects visited states; see `unum_runtime.protocol.planning.advance`.
    """
    region = region_of(workflow, scope.state)
    sources = region.sources[node]
    value = {region.names[source]: ends[source].outcome.value for source in sources}
    # The latest end, whichever delivery came last: all deliveries that begin the node plan the same event.
    entered_ms = max(ends[source].ended_ms for source in sources)
    evaluation = EvaluationContext(workflow, scope.execution, entered_ms, str(scope.origin), variables)
    return begin_branch(workflow.fan_out(scope.state), scope, node, value, evaluation, visits)


def begin(
    opened: OpenScope, index: int, last: Callable[[int], Checkpoint | None], visits: Visits | None = None
) -> Invoke | Commit | None:
    """Return the first effect of node `index` of a region; None while a source of the node has no result.

    Args:
        opened: the region.
        index: the node.
        last: returns the last commit of a branch, None without one.
        visits: collects visited states.

    Raises:
        OutcomeCollected: the result of a source is collected.
    """
    workflow, scope = opened.arrival.evaluation.workflow, opened.scope
    sources = region_of(workflow, scope.state).sources[index]
    if not sources:
        return branch(opened, index, visits)
    lasts = [(source, last(source)) for source in sources]
    ends = {source: plan(workflow, found) for source, found in lasts if found is not None}
    results = {source: end for source, end in ends.items() if isinstance(end, CompleteBranch)}
    if len(results) < len(sources):
        return None
    return begin_node(workflow, scope, index, results, opened.arrival.evaluation.variables, visits)


def end_node(rt: Runtime, scope: Scope, end: CompleteBranch) -> list[Invoke | Commit] | None:
    """Record the end of a node; return the begins of the nodes that waited for it alone or last.

    Returns:
        None if the region is complete.

    Raises:
        OutcomeCollected: results were collected, because the region is settled.
        StoreError: a checkpoint that must exist is missing, or the store did not answer.
    """
    region, index = region_of(rt.workflow, scope.state), end.frames[-1].index
    if index in region.sinks:
        return None if _add_sink(rt, scope, region, index) else []
    effects = []
    for node in region.fed[index]:
        arrived = _arrive(rt, scope, region, node, end)
        if arrived is not None:
            ends = {index: end, **_read_ends(rt, scope, {who: arrived[who] for who in arrived if who != index})}
            effects.append(begin_node(rt.workflow, scope, node, ends, _variables(rt, scope)))
    return effects


def end_nodes_again(rt: Runtime, scope: Scope, ends: Iterable[CompleteBranch]) -> bool:
    """Repeat the additions of ended nodes to all sets; return True if they complete the region.

    Repairs sets after a delivery died between a node's commit and the additions.
    """
    region, is_complete = region_of(rt.workflow, scope.state), False
    for end in ends:
        index = end.frames[-1].index
        for node in region.fed[index]:
            _arrive(rt, scope, region, node, end)
        is_complete |= index in region.sinks and _add_sink(rt, scope, region, index)
    return is_complete


def set_keys(rt: Runtime, scope: Scope, ended: Iterable[int]) -> list[Key]:
    """Return the keys of all sets to which the ends of nodes `ended` may be added."""
    region = region_of(rt.workflow, scope.state)
    ended = [*ended]
    waiting = dict.fromkeys(node for index in ended for node in region.fed[index] if len(region.sources[node]) > 1)
    keys = [meeting_key(rt.workflow.name, scope, node, 0) for node in waiting]
    has_sinks = len(region.sinks) > 1 and not set(region.sinks).isdisjoint(ended)
    return [*keys, completion_key(rt.workflow.name, scope, 0)] if has_sinks else keys


def _add_sink(rt: Runtime, scope: Scope, region: Region, index: int) -> bool:
    """Add sink `index` to the completion set, which has sinks alone; return True if it completes the region."""
    sinks = replace(scope, size=len(region.sinks))
    return sinks.size == 1 or add_completed(rt, sinks, region.sinks.index(index))


def _arrive(rt: Runtime, scope: Scope, region: Region, node: int, end: CompleteBranch) -> Mapping[int, int] | None:
    """Add `end` to the arrivals of `node`; return the last step of each source after all arrivals, else None."""
    sources, index = region.sources[node], end.frames[-1].index
    if len(sources) == 1:
        return {index: end.step}
    # A member tells the source and the step of its last commit, so that one request reads all results by their keys.
    member = end.step * len(sources) + sources.index(index)
    key = meeting_key(rt.workflow.name, scope, node, 0)
    members = rt.store.add(key, member, expires_at_s=rt.expires_at_s())
    if len(members) < len(sources):
        return None
    return {sources[each % len(sources)]: each // len(sources) for each in members}


def _read_ends(rt: Runtime, scope: Scope, steps: Mapping[int, int]) -> dict[int, CompleteBranch]:
    """Return the ends of the nodes whose last `steps` are given by index."""
    names = {source: Name(scope.execution, scope.branch(source), step) for source, step in steps.items()}
    keys = {source: checkpoint_key(rt.workflow.name, name) for source, name in names.items()}
    items = rt.store.read(keys.values()) if keys else {}
    found = {}
    for source, name in names.items():
        item = items.get(keys[source])
        if item is None:
            raise StoreError(f"{name}: the checkpoint of a node that has ended is missing; has it expired?")
        end = plan(rt.workflow, Checkpoint.from_item(name, item))
        if not isinstance(end, CompleteBranch):
            raise InconsistentHistory(f"{name}: expected the end of a node of {scope.state!r}, found {end}")
        found[source] = end
    return found


def _variables(rt: Runtime, scope: Scope) -> Mapping[str, Json]:
    """Return the variables that the nodes see: those of the region's begin."""
    return read_origin(rt, scope).arrival.evaluation.variables if rt.workflow.has_variables else {}
