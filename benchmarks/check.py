"""Whether any exact figure is above its bound.

python benchmarks/check.py [--set]

The bounds are what held when they were set; `--set` sets them anew. Times have none.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from compiling import STACKS, stacks
from operations import counted

BOUNDS = Path(__file__).with_name("bounds.json")
LINEAR = ("map of 500", "map of 5,000", "commit, ttl")
SLOPE = 0.02
"""By how much the calls of a wide map may differ from the share that its width has of those of another."""

Figures = Mapping[str, Mapping[str, int]]


def main() -> None:
    """Compare, or set.

    Raises:
        SystemExit: a figure is above its bound, or has none.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="store_true", help="let the figures of now be the bounds")
    found = figures()
    if parser.parse_args().set:
        BOUNDS.write_text(text(found), encoding="utf-8")
        return
    problems = [*faults(found, json.loads(BOUNDS.read_text(encoding="utf-8"))), *bends(found)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{sum(map(len, found.values()))} figures are within their bounds")


def figures() -> Figures:
    """The exact figures by name."""
    executions = {each.name: each.figures for each in counted()}
    return executions | {f"stack of {each['nodes']} nodes": _exact(each) for each in stacks(STACKS[:2])}


def _exact(stack: Mapping[str, float]) -> dict[str, int]:
    return {name: int(stack[name]) for name in ("resources", "template_bytes", "jsii_calls")}


def faults(found: Figures, bounds: Figures) -> Iterator[str]:
    """What is above its bound, has none, or is not measured any more."""
    for name in sorted(found.keys() ^ bounds.keys()):
        known = "is measured, but has no bound" if name in found else "has a bound, but is not measured"
        yield f"{name}: {known}; run benchmarks/check.py --set"
    for name in found.keys() & bounds.keys():
        for figure, value in found[name].items():
            bound = bounds[name][figure]
            if value > bound:
                yield f"{name}: {figure} is {value:,}; the bound is {bound:,}"


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


if __name__ == "__main__":
    main()
