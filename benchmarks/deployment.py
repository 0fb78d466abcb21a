"""Processor time of the CDK's command line for a deployment with a workflow, beside the same app with a `StateMachine`.

    python benchmarks/deployment.py [--json] [--runs 3] [--nodes 50]

The apps are those of `benchmarks/synth.py`, synthesized before. Each deployment is into a new emulator, so it says
nothing about CloudFormation's time. Kinds alternate, and the least of the runs counts.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unum_emulator import cdk
from unum_emulator.process import Emulator

ROOT = Path(__file__).parents[1]
EMULATOR_PYTHON = ROOT / "emulator" / ".venv" / "bin" / "python"
KINDS = ("state machine", "workflow")
NODES = 50
RUNS = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"deployments of each app (default: {RUNS})")
    parser.add_argument("--nodes", type=int, default=NODES, help=f"functions of each app (default: {NODES})")
    options = parser.parse_args()
    found = measure(options.nodes, options.runs)
    print(json.dumps(found) if options.json else _line(found))


def measure(nodes: int = NODES, runs: int = RUNS) -> dict[str, Any]:
    """Return processor seconds of the deployment of each app, and their ratio."""
    with TemporaryDirectory() as folder:
        apps = {kind: Path(folder) / str(number) for number, kind in enumerate(KINDS)}
        for kind, app in apps.items():
            synthesis = [sys.executable, str(ROOT / "benchmarks" / "synth.py"), "--app", kind, str(nodes), str(app)]
            subprocess.run(synthesis, check=True)  # noqa: S603 - ours
        spent = [{kind: _deploy(app) for kind, app in apps.items()} for _ in range(runs)]
    least = {kind: min(each[kind] for each in spent) for kind in KINDS}
    return {"nodes": nodes, "processor_s": least, "ratio": round(least["workflow"] / least["state machine"], 2)}


def _deploy(app: Path) -> float:
    """Deploy into a new emulator; return the processor time of the command line, in seconds."""
    with Emulator(EMULATOR_PYTHON) as emulator:
        cdk.bootstrap(emulator, cwd=ROOT)
        before = _of_children()
        # The emulator runs on, so its time is not among that of children that have ended.
        cdk.deploy(emulator, ["Stack"], app=str(app), cwd=ROOT)
        return round(_of_children() - before, 2)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _line(found: Mapping[str, Any]) -> str:
    spent = ", ".join(f"{kind} {seconds} s" for kind, seconds in found["processor_s"].items())
    return f"{found['nodes']} nodes deployed: {spent}, ratio {found['ratio']}"


if __name__ == "__main__":
    main()
