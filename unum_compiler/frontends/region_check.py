"""Checks of regions: named nodes, each after its sources, nodes without sources first."""

from collections.abc import Iterator

from unum_compiler.problems import did_you_mean, shown
from unum_runtime.asl.places import element
from unum_runtime.errors import Problem
from unum_runtime.model import ir, states
from unum_runtime.model.naming import SHARD_SIZE
from unum_runtime.model.region import region_of


def region_problems(workflow: ir.Workflow, state: states.FanOut, place: str) -> Iterator[Problem]:
    """Yield problems in the nodes and edges of region `state`."""
    if not isinstance(state, states.Parallel):
        yield Problem(place, f"expected a Parallel as a region, got the Map {shown(state.name)}; name no nodes here")
    elif len(state.needs) != len(state.branches):
        expected = f"expected a name for each of {len(state.branches)} branches"
        yield Problem(place, f"{expected}, got {len(state.needs)}; nodes and branches have one order")
    elif len(state.needs) > SHARD_SIZE:
        yield Problem(place, f"expected at most {SHARD_SIZE} nodes, got {len(state.needs)}; nest regions")
    elif state.quorum is not None:
        yield Problem(place, "expected a region without a quorum: it ends when all its nodes have; remove the quorum")
    else:
        problems = list(_node_problems(state, place))
        yield from problems or _shared_states(workflow, state, place)


def _node_problems(state: states.Parallel, place: str) -> Iterator[Problem]:
    known: list[str] = []
    has_edges = False
    for index, (name, sources) in enumerate(state.needs):
        where = element(place, index)
        if name in known or not name:
            yield Problem(where, f"expected a name that no other node has, got {shown(name)}; rename it")
        if has_edges and not sources:
            yield Problem(where, f"expected nodes without sources first, got {shown(name)} behind others; move it")
        if len(set(sources)) < len(sources):
            yield Problem(where, f"node {shown(name)} names a source twice; remove one")
        for source in sources:
            if source not in known:
                later = any(source == other for other, _ in state.needs)
                remedy = "nodes in a circle can never begin" if later else did_you_mean(source, known)
                got = f"is not before it: {remedy}" if later else f"does not exist; {remedy}"
                yield Problem(where, f"node {shown(name)} waits for {shown(source)}, which {got}")
        known.append(name)
        has_edges = has_edges or bool(sources)


def _shared_states(workflow: ir.Workflow, state: states.Parallel, place: str) -> Iterator[Problem]:
    """Yield the problem of a state that two nodes contain: its end would not tell which of them has ended."""
    if not all(start in workflow.states for start in state.branches):
        return  # another problem
    owner: dict[str, int] = {}
    for node, members in enumerate(region_of(workflow, state.name).states):
        for name in members:
            first = owner.setdefault(name, node)
            if first != node:
                both = f"{shown(state.needs[first][0])} and {shown(state.needs[node][0])}"
                yield Problem(place, f"nodes {both} share state {shown(name)}; give each node states of its own")
