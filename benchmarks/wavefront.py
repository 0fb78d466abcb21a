"""ExCamera as a wavefront and with barriers, in the emulator; the results are ratios.

    python benchmarks/wavefront.py [--runs 5] [--json]

Both versions have the same handlers and code the same videos; their runs alternate. Steps sleep for as long as their
chunk says, so the processors only run the workflow. It writes a section of docs/research.md.
"""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from sections import write_section
from setting import machine

from unum_cli.commands.stack import with_addresses
from unum_client import Client
from unum_emulator import cdk
from unum_emulator.process import Emulator

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from examples.research.applications import EXCAMERA  # noqa: E402 - found in the root
from examples.research.inputs import video  # noqa: E402 - the same

EMULATOR_PYTHON = ROOT / "emulator" / ".venv" / "bin" / "python"
APP = f"{shlex.quote(sys.executable)} benchmarks/wavefront_stack.py"
STACK = "ExcameraApplications"
VIDEOS: Mapping[str, Mapping[str, int]] = {
    "chunks differ: encoders take 50 to 800 ms": {"ms": 50, "slow_ms": 800},
    "chunks are equal": {"ms": 50},
}
RUNS = 5
TIME_LIMIT_S = 300

Execute = Callable[[Any], float]
"""Function that executes an input; returns the seconds from start to end."""


class Found(NamedTuple):
    """Seconds of one video.

    Attributes:
        wavefront: one figure for each run.
        barrier: the same with barriers.
        bounds: what the steps alone take, in this order.
    """

    wavefront: Sequence[float]
    barrier: Sequence[float]
    bounds: tuple[float, float]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="runs for each video and version (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = measure(options.runs)
    text = section(found)
    write_section("wavefront", text)
    print(json.dumps({name: each._asdict() for name, each in found.items()}, indent=1) if options.json else text)


def measure(runs: int) -> Mapping[str, Found]:
    """Deploy both versions, and time their runs by turns."""
    with Emulator(EMULATOR_PYTHON) as emulator:
        os.environ.update({name: value for name, value in emulator.environment().items() if name.startswith("AWS_")})
        cdk.bootstrap(emulator, cwd=ROOT)
        outputs = with_addresses(cdk.deploy(emulator, [STACK], app=APP, cwd=ROOT)[STACK])
        executes = [_execute(outputs, each.construct_id) for each in EXCAMERA]
        return {name: _measure(executes, video(**times), runs) for name, times in VIDEOS.items()}


def _measure(executes: Sequence[Execute], film: Any, runs: int) -> Found:
    for execute in executes:
        execute(film)  # starts the processes
    taken = [[execute(film) for execute in executes] for _ in range(runs)]
    wavefront, barrier = zip(*taken, strict=True)
    return Found(wavefront, barrier, bounds(film))


def _execute(outputs: Mapping[str, str], name: str) -> Execute:
    client = Client.connect(
        table=outputs[f"{name}Table"],
        workflow=outputs[f"{name}Workflow"],
        start_alias=outputs[f"{name}StartAlias"],
        describe_alias=outputs[f"{name}DescribeAlias"],
    )

    def execute(film: Any) -> float:
        ended = client.wait(client.start(film).name, timeout_s=TIME_LIMIT_S)
        if ended.stopped_at is None or ended.error is not None:
            raise RuntimeError(f"{name}: {ended}")
        return (ended.stopped_at - ended.started_at).total_seconds()

    return execute


def bounds(film: Any) -> tuple[float, float]:
    """Return the seconds that the steps alone take, as a wavefront and with barriers."""
    times = [chunk["ms"] for chunk in film["chunks"]]
    decoded = [each["encode"] + each["decode"] for each in times]
    rebased = 0
    for number, each in enumerate(times):
        before = decoded[max(number - 1, 0)]
        rebased = max(max(decoded[number], before) + each["reencode"], rebased) + each["rebase"]
    serial = sum(each["rebase"] for each in times)
    phases = max(decoded) + max(each["reencode"] for each in times)
    return rebased / 1000, (phases + serial) / 1000


def section(found: Mapping[str, Found]) -> str:
    """Return the results in Markdown."""
    lines = [
        f"Written by `benchmarks/wavefront.py` on {datetime.now(UTC):%Y-%m-%d}; {machine()}.",
        "",
        "| video | | wavefront, s | barriers, s | wavefront / barriers |",
        "|---|---|---:|---:|---:|",
    ]
    for name, each in found.items():
        rows = [
            (f"run {number}", *pair) for number, pair in enumerate(zip(each.wavefront, each.barrier, strict=True), 1)
        ]
        rows += [("median", median(each.wavefront), median(each.barrier)), ("steps alone", *each.bounds)]
        lines += [f"| {name} | {row} | {one:.2f} | {other:.2f} | {one / other:.2f} |" for row, one, other in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
