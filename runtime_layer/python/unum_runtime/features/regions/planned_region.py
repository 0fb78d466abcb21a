"""Plan the nodes of a region: a node begins once, from the results of its sources by name."""

from collections.abc import Callable, Mapping

from unum_runtime.features.regions.region import region_of
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Scope
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.advance import Visits
from unum_runtime.protocol.planning.evaluation import EvaluationContext
from unum_runtime.protocol.planning.plan import Commit, CompleteBranch, Invoke, OpenScope, begin_branch, branch, plan


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
