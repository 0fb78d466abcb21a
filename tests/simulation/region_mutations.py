"""Deliberate mistakes with regions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.broken_stores import TransitionStore
from tests.simulation.mutations import CRASH, DUPLICATE, NONE, Mutation
from unum_runtime.cold_start import records
from unum_runtime.features.eager_collection import collect
from unum_runtime.features.regions import arrivals, region
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import Key, Name, Scope, checkpoint_key
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.planning import advance, plan
from unum_runtime.protocol.planning.plan import Commit, CompleteBranch, Effect, Invoke, OpenScope
from unum_runtime.protocol.runtime import Runtime
from unum_simulator import Faults, Invariant

NUDGED = Faults(crashes=0, duplicates=0, nudges=2, concurrency=3)
REDRIVEN = Faults(crashes=0, duplicates=0, redrives=1, concurrency=3)


def all_nodes_begin_at_once(patch: pytest.MonkeyPatch) -> None:
    visit = advance._visit_fan_out

    def visited(*given: Any) -> Any:
        arrival = visit(*given)
        return replace(arrival, width=len(arrival.inputs)) if isinstance(arrival, advance.AtFanOut) else arrival

    patch.setattr(advance, "_visit_fan_out", visited)


def last_source_by_order_begins(patch: pytest.MonkeyPatch) -> None:
    arrive = arrivals._arrive

    def by_order(rt: Runtime, scope: Scope, edges: region.Region, node: int, end: CompleteBranch) -> Any:
        arrived = arrive(rt, scope, edges, node, end)
        return arrived if end.frames[-1].index == max(edges.sources[node]) else None

    patch.setattr(arrivals, "_arrive", by_order)


def first_source_is_enough(patch: pytest.MonkeyPatch) -> None:
    """The other results count as those of the first."""

    def at_once(_rt: Runtime, _scope: Scope, _edges: region.Region, _node: int, end: CompleteBranch) -> Any:
        return {end.frames[-1].index: end.step}

    def lenient(rt: Runtime, scope: Scope, node: int, ends: Mapping[int, CompleteBranch]) -> Invoke | Commit:
        (end,) = ends.values()
        edges = region.region_of(rt.workflow, scope.state)
        return begin(rt.workflow, scope, node, dict.fromkeys(edges.sources[node], end), {})

    begin = arrivals.begin_node
    patch.setattr(arrivals, "_arrive", at_once)
    patch.setattr(arrivals, "_variables", lambda rt, _scope: rt)
    patch.setattr(arrivals, "begin_node", lambda _workflow, scope, node, ends, rt: lenient(rt, scope, node, ends))


def results_under_other_names(patch: pytest.MonkeyPatch) -> None:
    begin = arrivals.begin_node

    def swapped(workflow: Workflow, scope: Scope, node: int, ends: Mapping[int, CompleteBranch], *more: Any) -> Any:
        return begin(workflow, scope, node, dict(zip(ends, [*ends.values()][::-1], strict=True)), *more)

    patch.setattr(arrivals, "begin_node", swapped)


def time_of_the_delivery(patch: pytest.MonkeyPatch) -> None:
    begin = arrivals.begin_node

    def now(workflow: Workflow, scope: Scope, node: int, ends: Mapping[int, CompleteBranch], *more: Any) -> Any:
        own_ms = next(iter(ends.values())).ended_ms
        as_now = {who: CompleteBranch(end.execution, end.frames, end.outcome, 0, own_ms) for who, end in ends.items()}
        return begin(workflow, scope, node, as_now, *more)

    patch.setattr(arrivals, "begin_node", now)


def feeds_one_node_alone(patch: pytest.MonkeyPatch) -> None:
    edges = arrivals.region_of
    patch.setattr(
        arrivals,
        "region_of",
        lambda *given: edges(*given)._replace(fed=tuple(fed[:1] for fed in edges(*given).fed)),
    )


def first_sink_completes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arrivals, "_add_sink", lambda *_: True)


def all_results_at_the_end(patch: pytest.MonkeyPatch) -> None:
    def of_all(state: Any, results: list[Any]) -> dict[str, Any]:
        return dict(zip((name for name, _ in state.needs), results, strict=True))

    patch.setattr("unum_runtime.protocol.delivery.join.join", _joining(of_all))


def _joining(by_name: Any) -> Any:
    joined = advance.join

    def join(state: Any, value: Any, results: list[Any], evaluation: Any) -> Any:
        sinks = advance._by_name
        try:
            advance._by_name = by_name
            return joined(state, value, results, evaluation)
        finally:
            advance._by_name = sinks

    return join


def without_the_step(patch: pytest.MonkeyPatch) -> None:
    arrive: Any = arrivals._arrive
    patch.setattr(
        arrivals,
        "_arrive",
        lambda *given: arrive(*given[:-1], records.replace(given[-1], step=0)),
    )


def one_set_for_all_nodes(patch: pytest.MonkeyPatch) -> None:
    key = arrivals.meeting_key
    patch.setattr(arrivals, "meeting_key", lambda workflow, scope, _node, step: key(workflow, scope, 0, step))


def one_set_for_all_tries(patch: pytest.MonkeyPatch) -> None:
    key = arrivals.meeting_key

    def of_first(workflow: str, scope: Scope, node: int, step: int) -> Key:
        return key(workflow, replace(scope, generation=0, iteration=1), node, step)

    patch.setattr(arrivals, "meeting_key", of_first)


def one_set_for_all_branches(patch: pytest.MonkeyPatch) -> None:
    key = arrivals.meeting_key
    patch.setattr(
        arrivals, "meeting_key", lambda workflow, scope, *more: key(workflow, replace(scope, frames=()), *more)
    )


def node_collects_its_source(patch: pytest.MonkeyPatch) -> None:
    """Collect a node's source, like a step's predecessor."""
    collecting = collect.collect_input

    def collect_more(rt: Runtime, envelope: Envelope) -> None:
        collecting(rt, envelope)
        for name in _sources(rt, envelope.name):
            rt.store.collect([checkpoint_key(rt.workflow.name, name)])

    patch.setattr(collect, "collect_input", collect_more)


def _sources(rt: Runtime, name: Name) -> Iterator[Name]:
    if name.frames and name.step == 0:
        scope = Scope.around(name.execution, name.frames)
        for source in region.region_of(rt.workflow, scope.state).sources[name.frames[-1].index]:
            yield Name(name.execution, scope.branch(source), 0)


def sets_are_not_collected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arrivals, "set_keys", lambda *_: [])


def redrive_repeats_no_arrivals(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arrivals, "end_nodes_again", lambda *_: False)


def nudge_begins_with_the_own_input(patch: pytest.MonkeyPatch) -> None:
    def begin(opened: OpenScope, index: int, _lasts: Any) -> Effect:
        return plan.branch(opened, index)

    patch.setattr(pending, "begin_effect", begin)


def without_variables(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(arrivals, "_variables", lambda *_: {})


REGION_MUTATIONS = {
    "all nodes of a region begin at once": Mutation(
        graph="region of two sources", faults=NONE, breaks=Invariant.SAME_VIEW, patch=all_nodes_begin_at_once
    ),
    "the last source by order begins a node": Mutation(
        graph="region of two sources", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=last_source_by_order_begins
    ),
    "only who fills the arrivals begins a node": Mutation(
        graph="region of two sources", faults=CRASH, breaks=Invariant.NO_LOST_WORK, scenario={"store": TransitionStore}
    ),
    "the first source begins a node": Mutation(
        graph="region of two sources", faults=NONE, breaks=Invariant.SAME_VIEW, patch=first_source_is_enough
    ),
    "results come under other names": Mutation(
        graph="region of two sources", faults=NONE, breaks=Invariant.SAME_VIEW, patch=results_under_other_names
    ),
    "a node is entered when its last event came": Mutation(
        graph="region with its time",
        faults=DUPLICATE,
        breaks=Invariant.SAME_VIEW,
        patch=time_of_the_delivery,
        scenario={"tick_ms": 1},
        is_near=False,
    ),
    "a result feeds one node": Mutation(
        graph="region", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=feeds_one_node_alone
    ),
    "a region ends with its first sink": Mutation(
        graph="region of two sinks", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=first_sink_completes
    ),
    "a region results in all its nodes": Mutation(
        graph="region of two sources", faults=NONE, breaks=Invariant.CONSISTENT, patch=all_results_at_the_end
    ),
    "arrivals without the step": Mutation(
        graph="region of longer nodes", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=without_the_step
    ),
    "one set of arrivals for all nodes": Mutation(
        graph="region", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_set_for_all_nodes
    ),
    "one set of arrivals for all tries": Mutation(
        graph="region that is retried", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_set_for_all_tries
    ),
    "one set of arrivals for all branches around": Mutation(
        graph="region in a map", faults=NONE, breaks=Invariant.NO_LOST_WORK, patch=one_set_for_all_branches
    ),
    "a node collects its sources": Mutation(
        graph="region",
        faults=NONE,
        breaks=Invariant.NO_LOST_WORK,
        patch=node_collects_its_source,
        scenario={"collection": Collection.EAGER},
    ),
    "arrivals are not collected": Mutation(
        graph="region of two sources",
        faults=NONE,
        breaks=Invariant.NOTHING_LEAKS,
        patch=sets_are_not_collected,
        scenario={"collection": Collection.EAGER},
    ),
    "a redrive does not repeat arrivals": Mutation(
        graph="region that fails",
        faults=REDRIVEN,
        breaks=Invariant.NO_LOST_WORK,
        patch=redrive_repeats_no_arrivals,
        is_near=False,
    ),
    "a nudge begins a node with the input of the region": Mutation(
        graph="region of two sources",
        faults=NUDGED,
        breaks=Invariant.SAME_VIEW,
        patch=nudge_begins_with_the_own_input,
    ),
    "a node without the variables around": Mutation(
        graph="region with variables", faults=NONE, breaks=Invariant.CONSISTENT, patch=without_variables
    ),
}
"""Every mistake by name."""
