"""Regions: fan-outs whose branches are named nodes, which wait for the results of other nodes.

`FanOut.needs` lists the nodes in an order in which each comes after its sources, and nodes without sources come first.
So indexes of nodes ascend along every edge, and a region begins with a range of branches, like any fan-out.
"""

from collections.abc import Iterator
from functools import lru_cache

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Choice, State, Work


class Region(NamedTuple):
    """Edges of a region; nodes are indexes of branches.

    Attributes:
        names: name of each node.
        sources: the nodes whose results each node waits for.
        fed: the nodes that wait for each node's result.
        sinks: the nodes whose results nobody waits for; they form the region's result.
        states: names of the states in each node's branch, the first one first.
    """

    names: tuple[str, ...]
    sources: tuple[tuple[int, ...], ...]
    fed: tuple[tuple[int, ...], ...]
    sinks: tuple[int, ...]
    states: tuple[tuple[str, ...], ...]

    def node_with(self, state: str) -> int:
        """Return the node whose branch contains `state`."""
        return next(index for index, states in enumerate(self.states) if state in states)


@lru_cache(maxsize=64)
def region_of(workflow: Workflow, fan_out: str) -> Region:
    """Return the edges of region `fan_out`."""
    state = workflow.fan_out(fan_out)
    names = tuple(name for name, _ in state.needs)
    sources = tuple(tuple(map(names.index, needed)) for _, needed in state.needs)
    fed = tuple(tuple(node for node, from_ in enumerate(sources) if own in from_) for own in range(len(names)))
    sinks = tuple(node for node, feeds in enumerate(fed) if not feeds)
    starts: tuple[str, ...] = getattr(state, "branches", ())
    return Region(names, sources, fed, sinks, tuple(tuple(_reached(workflow, start)) for start in starts))


def _reached(workflow: Workflow, start: str) -> list[str]:
    """Return `start` and the states of its scope that control can reach from it."""
    reached = [start]
    for name in reached:  # the list grows while the loop runs
        reached += [each for each in dict.fromkeys(_followers(workflow.states[name])) if each not in reached]
    return reached


def _followers(state: State) -> Iterator[str]:
    if state.next is not None:
        yield state.next
    if isinstance(state, Choice):
        yield from (target for _, target in state.rules)
        yield from () if state.default is None else (state.default,)
    if isinstance(state, Work):
        yield from (catcher.next for catcher in state.catch)
