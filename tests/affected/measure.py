# ruff: noqa: T201 - a command prints
"""Measure `make quick` after a change of one module, for modules of several rooms: `python -m tests.affected.measure`.

Appends a function to each module in turn, runs what `make quick` runs, and restores the file. Prints processor time
and wall time of each step in seconds, because other work on the machine stretches wall time alone. Two workers run
the tests: on an idle machine of two cores, their wall time is about half of their processor time.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from os import getloadavg
from typing import NamedTuple

from tests.affected.imports import ROOT

MODULES = (
    "runtime_layer/python/unum_runtime/model/naming.py",
    "runtime_layer/python/unum_runtime/asl/jsonata/engine.py",
    "runtime_layer/python/unum_runtime/protocol/planning/plan.py",
    "runtime_layer/python/unum_runtime/protocol/delivery/deliver.py",
    "runtime_layer/python/unum_runtime/store/dynamodb.py",
    "runtime_layer/python/unum_client/client.py",
    "runtime_layer/python/unum_simulator/world.py",
    "unum_compiler/lowering/lower.py",
    "unum_constructs/grants.py",
    "unum_cli/grammar.py",
)
"""One module of each large room, the most imported ones among them."""

CHANGE = "\n\ndef added_for_measurement() -> None:\n    '''Change what importers of the module see.'''\n"
STEPS = {
    "ruff": (".venv/bin/ruff", "check", "."),
    "mypy": (".venv/bin/mypy",),
    "imports": (".venv/bin/lint-imports",),
    "tests": (sys.executable, "-m", "tests.affected", "--seconds", "60"),
}


class Times(NamedTuple):
    """Seconds of one step."""

    processor: float
    wall: float


def measure(command: Sequence[str]) -> Times:
    """Run `command`, and return what it and its processes used."""
    before, began = _used(), time.monotonic()
    subprocess.run(command, cwd=ROOT, check=False, capture_output=True)  # noqa: S603 - ours
    return Times(_used() - before, time.monotonic() - began)


def row(name: str, times: Sequence[Times], load: float) -> str:
    """Return a row of the table: each step, their sums, and the load of the machine during them."""
    total = Times(sum(each.processor for each in times), sum(each.wall for each in times))
    cells = [f"{each.processor:5.0f} {each.wall:5.0f}" for each in (*times, total)]
    return f"{'  '.join(cells)}  {load:5.1f}  {name}"


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.affected.measure", description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, help="paths from the root of the repository")
    modules = parser.parse_args().modules
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode:  # noqa: S607
        parser.error("the work tree differs from the last commit: commit first, so that each change is the only one")
    measure(STEPS["mypy"])  # its cache is that of the last commit
    print("  ".join(f"{name:>11}" for name in (*STEPS, "all")), " load  module (seconds of processor and wall)")
    for module in modules:
        path = ROOT / module
        text = path.read_text(encoding="utf-8")
        try:
            path.write_text(text + CHANGE, encoding="utf-8")
            times = [measure(command) for command in STEPS.values()]
        finally:
            path.write_text(text, encoding="utf-8")
        print(row(module, times, getloadavg()[0]), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
