"""Layers of a directed graph, the order of vertices within each, and their horizontal positions.

Method of Sugiyama, Tagawa and Toda (1981): reverse links that close a cycle, assign layers by longest path, split links
that span several layers at bends, and order each layer by the barycentre of its neighbours. Every step visits vertices
and links in their given order, so equal graphs give equal drawings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Link:
    """Link between two vertices, at least `span` layers apart."""

    source: int
    target: int
    span: int


@dataclass(frozen=True, slots=True)
class Layering:
    """Vertices in layers, from top to bottom and from left to right.

    Attributes:
        layers: vertices; numbers beyond the graph's own are bends of long links.
        chains: for each link its vertices from the upper end to the lower, bends between.
        turned: the links that run upwards; their chains begin at their target.
    """

    layers: list[list[int]]
    chains: list[list[int]]
    turned: frozenset[int]


def layering(count: int, links: Sequence[Link]) -> Layering:
    """Lay out `count` vertices, linked by `links` without self-loops."""
    order, turned = _traversal(count, links)
    downward = [Link(x.target, x.source, x.span) if i in turned else x for i, x in enumerate(links)]
    layer_of = _longest_paths(order, downward)
    layers: list[list[int]] = [[] for _ in range(max(layer_of) + 1)]
    for vertex in order:
        layers[layer_of[vertex]].append(vertex)
    chains = _bent(downward, layer_of, layers)
    return Layering(_ordered(layers, chains), chains, turned)


def neighbours(chains: Sequence[Sequence[int]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Return, for each vertex, its linked vertices in the layers above and below."""
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for chain in chains:
        for upper, lower in pairwise(chain):
            below.setdefault(upper, []).append(lower)
            above.setdefault(lower, []).append(upper)
    return above, below


def _traversal(count: int, links: Sequence[Link]) -> tuple[list[int], frozenset[int]]:
    """Return the vertices in topological order, and the links that close a cycle."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        outgoing[link.source].append(number)
    finished: list[int] = []
    turned: set[int] = set()
    visited: set[int] = set()
    for root in range(count):
        if root not in visited:
            _visit(root, links, outgoing, finished, turned, visited)
    return finished[::-1], frozenset(turned)


def _visit(
    root: int,
    links: Sequence[Link],
    outgoing: Sequence[Sequence[int]],
    finished: list[int],
    turned: set[int],
    visited: set[int],
) -> None:
    """Append to `finished` the new vertices that `root` reaches, in postorder; add the links that close a cycle."""
    visited.add(root)
    on_path = {root}
    # An explicit path instead of recursion: definitions may have more states in a row than Python has stack frames.
    path = [(root, iter(outgoing[root]))]
    while path:
        vertex, rest = path[-1]
        number = next(rest, -1)
        if number < 0:
            on_path.remove(vertex)
            finished.append(vertex)
            path.pop()
            continue
        target = links[number].target
        # A link back into the current path closes a cycle. Reversing exactly these makes the graph acyclic.
        if target in on_path:
            turned.add(number)
        elif target not in visited:
            visited.add(target)
            on_path.add(target)
            path.append((target, iter(outgoing[target])))


def _longest_paths(order: Sequence[int], links: Sequence[Link]) -> list[int]:
    """Return the layer of each vertex: the highest that its links allow."""
    outgoing: dict[int, list[Link]] = {}
    for link in links:
        outgoing.setdefault(link.source, []).append(link)
    layer_of = [0] * len(order)
    for vertex in order:
        for link in outgoing.get(vertex, ()):
            layer_of[link.target] = max(layer_of[link.target], layer_of[vertex] + link.span)
    return layer_of


def _bent(links: Sequence[Link], layer_of: Sequence[int], layers: list[list[int]]) -> list[list[int]]:
    """Return the chain of each link; add its bends to `layers`."""
    chains = []
    bend = len(layer_of)
    for link in links:
        # Split a long link at each layer it passes, so that ordering and spacing keep room for its line.
        between = range(layer_of[link.source] + 1, layer_of[link.target])
        bends = list(range(bend, bend + len(between)))
        bend += len(bends)
        for layer, vertex in zip(between, bends, strict=True):
            layers[layer].append(vertex)
        chains.append([link.source, *bends, link.target])
    return chains


def _ordered(layers: list[list[int]], chains: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the layers in the order with the fewest crossings among a few sweeps down and up."""
    above, below = neighbours(chains)
    best, fewest = layers, _crossings(layers, below)
    current = layers
    for sweep in range(SWEEPS):
        # Sweeping again cannot improve a drawing without crossings, and would only cost time.
        if fewest == 0:
            break
        current = _swept(current, above) if sweep % 2 == 0 else _swept(current[::-1], below)[::-1]
        crossings = _crossings(current, below)
        if crossings < fewest:
            best, fewest = current, crossings
    return best


def _swept(layers: Sequence[list[int]], towards: dict[int, list[int]]) -> list[list[int]]:
    """Sort each layer by the mean position of its vertices' neighbours in the previous layer."""
    swept = [list(layers[0])]
    for layer in layers[1:]:
        position = {vertex: float(place) for place, vertex in enumerate(swept[-1])}
        # A vertex without neighbours keeps its place; sorting is stable, so equal means keep their order.
        own = {vertex: float(place) for place, vertex in enumerate(layer)}
        means = {vertex: _mean([position[n] for n in towards.get(vertex, ())], own[vertex]) for vertex in layer}
        swept.append(sorted(layer, key=means.__getitem__))
    return swept


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(layers: Sequence[Sequence[int]], below: dict[int, list[int]]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        position = {vertex: place for place, vertex in enumerate(lower)}
        ends = [(place, position[n]) for place, vertex in enumerate(upper) for n in below.get(vertex, ())]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(ends, 2))
    return count


ROUNDS = 8


def columns(layering: Layering, widths: Mapping[int, float], gap: float) -> dict[int, float]:
    """Return the horizontal centre of each vertex.

    Args:
        layering: layers in their final order.
        widths: widths of all vertices, bends included.
        gap: minimum distance between two vertices of a layer.
    """
    above, below = neighbours(layering.chains)
    centres: dict[int, float] = {}
    for layer in layering.layers:
        centres |= _spread(layer, [0.0] * len(layer), widths, gap)
    for _ in range(ROUNDS):
        # Alternate directions: a pass downwards aligns children with parents, a pass upwards the reverse.
        for towards, layers in ((above, layering.layers), (below, layering.layers[::-1])):
            for layer in layers:
                centres |= _spread(layer, [_desired_centre(vertex, towards, centres) for vertex in layer], widths, gap)
    return centres


def _desired_centre(vertex: int, towards: Mapping[int, Sequence[int]], centres: Mapping[int, float]) -> float:
    """Return the mean position of the neighbours, or the present position without any."""
    linked = [centres[n] for n in towards.get(vertex, ())]
    return sum(linked) / len(linked) if linked else centres[vertex]


def _spread(
    layer: Sequence[int], desired: Sequence[float], widths: Mapping[int, float], gap: float
) -> dict[int, float]:
    """Return the centres nearest to `desired` (least squares) that keep order and distance.

    With the distances subtracted this is isotonic regression, which pooling adjacent violators solves exactly.
    """
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (widths[left] + widths[right]) / 2 + gap)
    pools: list[tuple[float, int]] = []  # (mean of desired centres, number of vertices)
    for wish, offset in zip(desired, offsets, strict=True):
        mean, size = wish - offset, 1
        # Two pools out of order overlap in the drawing; their weighted mean is the least-squares position of both.
        while pools and pools[-1][0] > mean:
            earlier, many = pools.pop()
            mean, size = (earlier * many + mean * size) / (many + size), many + size
        pools.append((mean, size))
    levels = [mean for mean, size in pools for _ in range(size)]
    return {vertex: level + offset for vertex, level, offset in zip(layer, levels, offsets, strict=True)}
