"""Layered drawings: layers of a nested graph, the order and positions of boxes, and the points of transitions.

Method of Sugiyama, Tagawa and Toda (1981): reverse links that close a cycle, assign layers by longest path, split links
that span several layers at bends, and order each layer by the barycentre of its neighbours. Every step visits vertices
and links in their given order, so equal graphs give equal drawings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise
from typing import NamedTuple

from unum_cli.picture.nested_graph import END, START, Edge, Graph, inside, top_level
from unum_cli.picture.wording import shortened, width
from unum_runtime.model.ir import Workflow

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


NAME_LETTER, DETAIL_LETTER = 8.4, 6.4
LINE_HEIGHT = 15
PADDING = 14
"""Inside a box, around its text or its inner graphs."""
LEAST_WIDTH = 92
MARKER_SIZE = 16
LABEL_HEIGHT = 17
LONGEST_LABEL = 36
COLUMN_GAP = 26
LAYER_GAP = 34
BEND_WIDTH = 10
LOOP_WIDTH = 26
PORT_GAP = 18


class Point(NamedTuple):
    """Position in pixels, from the upper left corner of the surrounding drawing."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Wire:
    """A transition.

    Attributes:
        edge: edge of the graph.
        points: points from source to target.
        upward: True for an edge that closes a cycle.
        label_at: centre of the label, if any.
    """

    edge: Edge
    points: tuple[Point, ...]
    upward: bool
    label_at: Point | None


@dataclass(frozen=True, slots=True)
class Box:
    """A state, or a marker.

    Attributes:
        name: name of the state.
        corner: upper left corner.
        width: width in pixels.
        height: height in pixels.
        inner: drawings inside the box.
    """

    name: str
    corner: Point
    width: float
    height: float
    inner: tuple["Inset", ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Graph with positions."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]


@dataclass(frozen=True, slots=True)
class Inset:
    """Drawing inside a box; `corner` is relative to the box."""

    corner: Point
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class _Size:
    """Size of a vertex; insets get their places when the box is measured."""

    width: float
    height: float
    inner: tuple[Inset, ...] = ()


def lay_out(workflow: Workflow, captions: Mapping[str, tuple[str, ...]]) -> Drawing:
    """Lay out `workflow`, with lines of `captions` in boxes."""
    return _Placer(workflow, captions).place(top_level(workflow))


def shown_label(edge: Edge) -> str:
    """Return the label of `edge`, shortened to the available width."""
    return shortened(edge.label, LONGEST_LABEL)


@dataclass(frozen=True, slots=True)
class _Placer:
    workflow: Workflow
    captions: Mapping[str, tuple[str, ...]]

    def place(self, graph: Graph) -> Drawing:
        sizes = {name: self._size(name) for name in graph.nodes}
        return _Layout(graph, sizes).drawing()

    def _size(self, name: str) -> _Size:
        if name in (START, END):
            return _Size(MARKER_SIZE, MARKER_SIZE)
        title, *details = self.captions[name]
        text_width = max([width(title, NAME_LETTER), *(width(line, DETAIL_LETTER) for line in details)])
        header = PADDING + LINE_HEIGHT * (1 + len(details))
        drawings = [self.place(graph) for graph in inside(self.workflow, self.workflow.states[name])]
        # A box without inner drawings needs no room below its text.
        if not drawings:
            return _Size(max(LEAST_WIDTH, text_width + 2 * PADDING), header + PADDING / 2)
        return _around(drawings, text_width, header)


def _around(drawings: list[Drawing], text_width: float, header: float) -> _Size:
    """Return a box with `drawings` side by side below its header."""
    steps = [0.0, *accumulate(drawing.width + PADDING for drawing in drawings)]
    inner_width = steps.pop() - PADDING
    box_width = max(inner_width, text_width) + 2 * PADDING
    left = (box_width - inner_width) / 2
    insets = (Inset(Point(left + step, header), drawing) for step, drawing in zip(steps, drawings, strict=True))
    return _Size(box_width, header + max(drawing.height for drawing in drawings) + PADDING, tuple(insets))


class _Layout:
    """Measured vertices and links of one graph; `drawing` positions them."""

    def __init__(self, graph: Graph, sizes: Mapping[str, _Size]) -> None:
        self._nodes = graph.nodes
        self._sizes = [sizes[name] for name in graph.nodes]
        self._edges = [edge for edge in graph.edges if edge.source != edge.target]
        self._loops = [edge for edge in graph.edges if edge.source == edge.target]
        self._layering = self._layer()
        self._labelled = self._label_bends()
        self._widths = self._all_widths()
        self._centres = columns(self._layering, self._widths, COLUMN_GAP)
        self._tops, self._bottoms = self._rows()
        self._layer_of = {vertex: row for row, layer in enumerate(self._layering.layers) for vertex in layer}

    def drawing(self) -> Drawing:
        left = min(self._centres[v] - self._widths[v] / 2 for v in self._centres)
        right = max(self._centres[v] + self._widths[v] / 2 for v in self._centres)
        self._centres = {vertex: centre - left + PADDING for vertex, centre in self._centres.items()}
        boxes = tuple(self._box(vertex) for vertex in range(len(self._nodes)))
        wires = (*map(self._wire, range(len(self._edges))), *map(self._loop, self._loops))
        return Drawing(right - left + 2 * PADDING, self._bottoms[-1] + PADDING, boxes, wires)

    def _layer(self) -> Layering:
        number = {name: vertex for vertex, name in enumerate(self._nodes)}
        # Labels are drawn at bends, so a labelled link needs a layer between its ends.
        links = [Link(number[edge.source], number[edge.target], 2 if edge.label else 1) for edge in self._edges]
        return layering(len(self._nodes), links)

    def _label_bends(self) -> dict[int, int]:
        """Return the labelled edge of each bend: the bend next to the edge's source."""
        found = {}
        for number, (edge, chain) in enumerate(zip(self._edges, self._layering.chains, strict=True)):
            if edge.label:
                found[chain[-2] if number in self._layering.turned else chain[1]] = number
        return found

    def _all_widths(self) -> dict[int, float]:
        widths = {vertex: float(BEND_WIDTH) for chain in self._layering.chains for vertex in chain}
        for bend, number in self._labelled.items():
            widths[bend] = width(shown_label(self._edges[number]), DETAIL_LETTER) + PADDING
        # States come last: they replace the default width of bends, which the first line gives to every vertex.
        widths |= {vertex: size.width for vertex, size in enumerate(self._sizes)}
        # Reserve room for a self-loop on both sides, so that the box stays centred above its successors.
        for loop in self._loops:
            widths[self._nodes.index(loop.source)] += 2 * (LOOP_WIDTH + width(shown_label(loop), DETAIL_LETTER))
        return widths

    def _rows(self) -> tuple[list[float], list[float]]:
        """Return top and bottom of each layer."""
        tops, bottoms, y = [], [], float(PADDING)
        for layer in self._layering.layers:
            tops.append(y)
            bottoms.append(y + max(map(self._height, layer)))
            y = bottoms[-1] + LAYER_GAP
        return tops, bottoms

    def _height(self, vertex: int) -> float:
        if vertex < len(self._sizes):
            return self._sizes[vertex].height
        return LABEL_HEIGHT if vertex in self._labelled else 0

    def _box(self, vertex: int) -> Box:
        size = self._sizes[vertex]
        corner = Point(self._centres[vertex] - size.width / 2, self._tops[self._layer_of[vertex]])
        return Box(self._nodes[vertex], corner, size.width, size.height, size.inner)

    def _wire(self, number: int) -> Wire:
        upper, *bends, lower = self._layering.chains[number]
        out, into = self._layer_of[upper], self._layer_of[lower]
        start_x, end_x = self._port(number, upper, 0), self._port(number, lower, -1)
        points = [Point(start_x, self._tops[out] + self._height(upper)), Point(start_x, self._bottoms[out])]
        for bend in bends:
            row, x = self._layer_of[bend], self._centres[bend]
            points += [Point(x, self._tops[row]), Point(x, self._bottoms[row])]
        points.append(Point(end_x, self._tops[into]))
        upward = number in self._layering.turned
        label_at = next((self._middle(bend) for bend in bends if self._labelled.get(bend) == number), None)
        return Wire(self._edges[number], tuple(points[::-1] if upward else points), upward, label_at)

    def _middle(self, bend: int) -> Point:
        row = self._layer_of[bend]
        return Point(self._centres[bend], (self._tops[row] + self._bottoms[row]) / 2)

    def _port(self, number: int, vertex: int, end: int) -> float:
        """Return the point on a box's edge where a chain begins (`end` 0, bottom) or ends (-1, top)."""
        chains = self._layering.chains
        sharing = [other for other, chain in enumerate(chains) if chain[end] == vertex]
        nearest = 1 if end == 0 else -2
        # Ports in the order of the next points, so that lines leaving one box do not cross each other.
        sharing.sort(key=lambda other: (self._centres[chains[other][nearest]], other))
        # Many transitions share a narrow box: move their ports together instead of leaving its edge.
        gap = min(PORT_GAP, self._sizes[vertex].width * 0.7 / len(sharing))
        return self._centres[vertex] + (sharing.index(number) - (len(sharing) - 1) / 2) * gap

    def _loop(self, edge: Edge) -> Wire:
        """Return the wire of a transition to the same state: an arc on the right side of its box."""
        box = self._box(self._nodes.index(edge.source))
        right = box.corner.x + box.width
        upper, lower = box.corner.y + box.height * 0.3, box.corner.y + box.height * 0.7
        points = (Point(right, lower), Point(right + LOOP_WIDTH, (lower + upper) / 2), Point(right, upper))
        label_x = right + LOOP_WIDTH + width(shown_label(edge), DETAIL_LETTER) / 2
        return Wire(edge, points, upward=True, label_at=Point(label_x, points[1].y) if edge.label else None)
