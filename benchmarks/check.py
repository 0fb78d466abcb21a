"""Whether any exact figure is above its bound, and which are below.

python benchmarks/check.py [--set]

The bounds are what held when they were set; `--set` sets them anew. Times have none.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from bounds import Figures, bends, faults, gains, text
from compiling import STACKS, stacks
from operations import counted

BOUNDS = Path(__file__).with_name("bounds.json")


def main() -> None:
    """Compare, or set.

    Raises:
        SystemExit: a figure is above its bound, or has none.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="store_true", help="let the figures of now be the bounds")
    options = parser.parse_args()
    found = figures()
    if options.set:
        BOUNDS.write_text(text(found), encoding="utf-8")
        return
    bounds = json.loads(BOUNDS.read_text(encoding="utf-8"))
    for gain in gains(found, bounds):
        print(gain)
    problems = [*faults(found, bounds), *bends(found)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{sum(map(len, found.values()))} figures are within their bounds")


def figures() -> Figures:
    """The exact figures by name."""
    executions = {each.name: each.figures for each in counted()}
    return executions | {f"stack of {each['nodes']} nodes": _exact(each) for each in stacks(STACKS[:2])}


def _exact(stack: Mapping[str, float]) -> dict[str, int]:
    return {name: int(stack[name]) for name in ("resources", "template_bytes", "jsii_calls")}


if __name__ == "__main__":
    main()
