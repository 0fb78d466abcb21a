"""Horizontal positions in a layered drawing: vertices near their neighbours, without overlaps."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from unum_cli.picture.layers import Layering, neighbours

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
