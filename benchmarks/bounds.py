"""Exact figures and their bounds: what is above, what is below, and what does not grow as it should."""

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

LINEAR = ("map of 500", "map of 5,000", "commit, ttl")
SLOPE = 0.02
"""By how much the calls of a wide map may differ from the share that its width has of those of another."""

AGAIN = "run benchmarks/check.py --set"

Figures: TypeAlias = Mapping[str, Mapping[str, int]]
"""By what was measured, and by what of it."""


def faults(found: Figures, bounds: Figures) -> Iterator[str]:
    """What is above its bound, has none, or is not measured any more."""
    measured, bounded = _flat(found), _flat(bounds)
    for place in sorted(measured.keys() ^ bounded.keys()):
        known = "is measured, but has no bound" if place in measured else "has a bound, but is not measured"
        yield f"{': '.join(place)} {known}; {AGAIN}"
    for (name, figure), value in measured.items():
        bound = bounded.get((name, figure), value)
        if value > bound:
            yield f"{name}: {figure} is {value:,}; the bound is {bound:,}"


def gains(found: Figures, bounds: Figures) -> Iterator[str]:
    """What is below its bound, which should then be lower, so that what was gained is kept."""
    bounded = _flat(bounds)
    for (name, figure), value in _flat(found).items():
        bound = bounded.get((name, figure), value)
        if value < bound:
            yield f"{name}: {figure} is {value:,}, better than its bound of {bound:,}; to keep that, {AGAIN}"


def bends(found: Figures) -> Iterator[str]:
    """Where wide maps need more for a branch than narrow ones."""
    small, large, how = LINEAR
    for figure, parts in {"calls": ("calls",), "units": ("write_units", "read_units")}.items():
        narrow, wide = (sum(found[f"{name}, {how}"][part] for part in parts) for name in (small, large))
        slope = wide / narrow / 10
        if abs(slope - 1) > SLOPE:
            yield f"{figure} grow by a factor of {slope:.3f} for each branch; within {SLOPE:.0%} of 1 is linear"


def text(found: Figures) -> str:
    """JSON with a line for each name."""
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _flat(figures: Figures) -> dict[tuple[str, str], int]:
    return {(name, figure): value for name, each in figures.items() for figure, value in each.items()}
