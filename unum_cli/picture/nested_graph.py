"""Nested graphs of a workflow, independent of the order of its states."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from unum_cli.picture.wording import rule_text
from unum_client.reading.progress import Progress, Reach
from unum_runtime.features.regions.region import region_of
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Choice, Fail, Map, Parallel, State, Work

START, END = "\0start", "\0end"
"""Names of the two markers of the top level; no state is called so."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition.

    Attributes:
        source: name of the state that it leaves.
        target: name of the state that it leads to.
        label: condition of the transition; empty for an unconditional one.
        caught: True for the transition of a catcher.
        leads_out: True if it leads to another branch, which waits for the result.
    """

    source: str
    target: str
    label: str = ""
    caught: bool = False
    leads_out: bool = False

    def is_taken(self, progress: Mapping[str, Progress]) -> bool:
        """Return True if an execution with `progress` has gone this way."""
        if self.source == START:
            return progress[self.target].reach is not Reach.NOT_REACHED
        source = progress[self.source]
        if self.leads_out:
            return None in source.followed_by and progress[self.target].reach is not Reach.NOT_REACHED
        times = source.failed if self.caught else source.succeeded
        return times > 0 and (None if self.target == END else self.target) in source.followed_by


@dataclass(frozen=True, slots=True)
class Graph:
    """Graph of one scope: the top level, a branch of a Parallel, the processor of a Map, or a whole region.

    Attributes:
        nodes: names, first that of the start; all others are reachable from it, or from other nodes of a region.
        edges: at most one between two nodes, besides one for errors.
    """

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]


def top_level(workflow: Workflow) -> Graph:
    """Return the graph of the top level, with markers for start and end."""
    inner = _graph(workflow, workflow.start_at)
    ends = [Edge(name, END) for name in inner.nodes if _ends(workflow.states[name])]
    nodes = (START, *inner.nodes, *([END] if ends else []))
    return Graph(nodes, (Edge(START, workflow.start_at), *inner.edges, *ends))


def inside(workflow: Workflow, state: State) -> tuple[Graph, ...]:
    """Return the graphs inside `state`: one per branch of a Parallel, one for a Map or a region, else none."""
    match state:
        case Parallel() if state.needs:
            return (_region(workflow, state),)
        case Parallel():
            return tuple(_graph(workflow, start) for start in state.branches)
        case Map():
            return (_with_waiting(workflow, _graph(workflow, state.start)),)
    return ()


def _with_waiting(workflow: Workflow, graph: Graph) -> Graph:
    """Return the graph of a Map's branch, with an edge from each result to the Task of the next branch that waits."""
    waiting = {(name, each) for name in graph.nodes for each in workflow.feeds.get(name, ())}
    drawn = {(edge.source, edge.target) for edge in graph.edges if not edge.caught}
    both = [
        replace(edge, label="own and next branch")
        if (edge.source, edge.target) in waiting and not edge.caught
        else edge
        for edge in graph.edges
    ]
    return Graph(
        graph.nodes, (*both, *(Edge(*pair, "next branch", leads_out=True) for pair in sorted(waiting - drawn)))
    )


def _region(workflow: Workflow, state: Parallel) -> Graph:
    """Return the graph of all nodes: from each end of a node's branch, an edge to each node that waits for it."""
    region = region_of(workflow, state.name)
    graphs = [_graph(workflow, start) for start in state.branches]
    edges = [edge for graph in graphs for edge in graph.edges]
    for graph, fed in zip(graphs, region.fed, strict=True):
        ends = [name for name in graph.nodes if _ends(workflow.states[name])]
        edges += [Edge(end, state.branches[node], leads_out=True) for end in ends for node in fed]
    return Graph(tuple(name for graph in graphs for name in graph.nodes), tuple(edges))


def _graph(workflow: Workflow, start: str) -> Graph:
    labels: dict[tuple[str, str, bool], list[str]] = {}
    nodes: dict[str, None] = {}
    ahead = [start]
    while ahead:
        name = ahead.pop()
        if name in nodes:
            continue
        nodes[name] = None
        ways = list(_transitions(workflow.states[name]))
        for target, label, caught in ways:
            labels.setdefault((name, target, caught), []).append(label)
        ahead.extend(target for target, _, _ in reversed(ways))
    edges = (Edge(source, target, " or ".join(said), caught) for (source, target, caught), said in labels.items())
    return Graph(tuple(nodes), tuple(edges))


def _transitions(state: State) -> Iterator[tuple[str, str, bool]]:
    """Yield (target, label, after an error) of each transition."""
    if isinstance(state, Choice):
        for rule, target in state.rules:
            yield target, rule_text(rule), False
        if state.default is not None:
            yield state.default, "else", False
    elif state.next is not None:
        yield state.next, "", False
    if isinstance(state, Work):
        for catcher in state.catch:
            yield catcher.next, ", ".join(catcher.errors), True


def _ends(state: State) -> bool:
    return state.next is None and not isinstance(state, Choice | Fail)
