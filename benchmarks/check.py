"""Check exact figures against their bounds, and report figures below them.

python benchmarks/check.py [--set]

The bounds are the figures of an earlier run; `--set` replaces them. Durations have no bounds.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from bounds import Figures, faults, gains, nonlinear_growth, text
from compiling import STACKS, stacks
from operations import count_all

BOUNDS = Path(__file__).with_name("bounds.json")


def main() -> None:
    """Compare the figures with their bounds, or set the bounds.

    Raises:
        SystemExit: a figure exceeds its bound or has none.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="store_true", help="make the current figures the bounds")
    options = parser.parse_args()
    found = figures()
    if options.set:
        BOUNDS.write_text(text(found), encoding="utf-8")
        return
    bounds = json.loads(BOUNDS.read_text(encoding="utf-8"))
    for gain in gains(found, bounds):
        print(gain)
    problems = [*faults(found, bounds), *nonlinear_growth(found)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{sum(map(len, found.values()))} figures are within their bounds")


def figures() -> Figures:
    """Return the exact figures by name."""
    # The largest stack takes too long for a check.
    executions = {each.name: each.figures for each in count_all()}
    return executions | {f"stack of {each['nodes']} nodes": _exact(each) for each in stacks(STACKS[:2])}


def _exact(stack: Mapping[str, float]) -> dict[str, int]:
    # Durations differ between machines and runs, so they have no bounds.
    return {name: int(stack[name]) for name in ("resources", "template_bytes", "jsii_calls")}


if __name__ == "__main__":
    main()
