"""Comparison of exact figures with their bounds, and check of linear growth."""

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

LINEAR = ("map of 500", "map of 5,000", "commit, ttl")
SLOPE = 0.02
"""Tolerated deviation of a wide Map's calls per branch from a narrower Map's."""

AGAIN = "run benchmarks/check.py --set"

Figures: TypeAlias = Mapping[str, Mapping[str, int]]
"""Figures by workload or stack, and by name."""


def faults(found: Figures, bounds: Figures) -> Iterator[str]:
    """Yield a text per figure that exceeds its bound, lacks a bound, or lacks a measurement."""
    measured, bounded = _flat(found), _flat(bounds)
    for place in sorted(measured.keys() ^ bounded.keys()):
        known = "is measured, but has no bound" if place in measured else "has a bound, but is not measured"
        yield f"{': '.join(place)} {known}; {AGAIN}"
    for (name, figure), value in measured.items():
        bound = bounded.get((name, figure), value)
        if value > bound:
            yield f"{name}: {figure} is {value:,}; the bound is {bound:,}"


def gains(found: Figures, bounds: Figures) -> Iterator[str]:
    """Yield a text for each figure below its bound; a lower bound would keep the gain."""
    bounded = _flat(bounds)
    for (name, figure), value in _flat(found).items():
        bound = bounded.get((name, figure), value)
        if value < bound:
            yield f"{name}: {figure} is {value:,}, better than its bound of {bound:,}; to keep that, {AGAIN}"


def nonlinear_growth(found: Figures) -> Iterator[str]:
    """Yield a text for each figure that grows faster or slower than a Map's width."""
    # A Map of 5,000 needs ten times the calls of a Map of 500, if each branch costs the same.
    small, large, how = LINEAR
    for figure, parts in {"calls": ("calls",), "units": ("write_units", "read_units")}.items():
        narrow, wide = (sum(found[f"{name}, {how}"][part] for part in parts) for name in (small, large))
        slope = wide / narrow / 10
        if abs(slope - 1) > SLOPE:
            yield f"{figure} grow by a factor of {slope:.3f} for each branch; within {SLOPE:.0%} of 1 is linear"


def text(found: Figures) -> str:
    """Return JSON with one line per name."""
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in found.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _flat(figures: Figures) -> dict[tuple[str, str], int]:
    return {(name, figure): value for name, each in figures.items() for figure, value in each.items()}
