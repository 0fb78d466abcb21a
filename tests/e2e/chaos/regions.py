# ruff: noqa: T201 - a command prints
"""Kill the functions of a region and of a wave behind it: `python -m tests.e2e.chaos.regions --executions 200`.

Deploys the stack of tests/e2e/test_chaos.py into an emulator of its own, plays and judges the run by its history, and
writes the figures to `out/chaos/regions.json`. Ends with 1 after a violation or a wrong result.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.e2e.chaos.judge import judge
from tests.e2e.conftest import EMULATOR_PYTHON, ROOT, Deployment
from tests.history.record import read
from unum_client.client import Client
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.errors import InvokeError, UnumError
from unum_runtime.model.checkpoint import Status

OUT = ROOT / "out" / "chaos"
SILENT_S = 12
"""Time after which operators look at executions that have not ended."""


def play(client: Client, count: int, timeout_s: float) -> dict[str, Any]:
    """Start `count` executions, nudge and redrive them until all have succeeded; return their outputs by number.

    Raises:
        AssertionError: an execution has failed otherwise than by a killed function, or has not ended in time.
    """
    plans = {f"region-{n}": n for n in range(count)}
    for name, n in plans.items():
        insist(client.start, {"n": n}, name=name)
    outputs: dict[str, Any] = {}
    begun_s = asked_s = time.monotonic()
    while len(outputs) < count:
        assert time.monotonic() - begun_s < timeout_s, f"these stand still: {sorted({*plans} - {*outputs})}"
        is_silent = time.monotonic() - asked_s > SILENT_S  # an event was lost with a killed failure handler
        for name in {*plans} - {*outputs}:
            seen = insist(client.describe, name)
            if seen.status is Status.SUCCEEDED:
                outputs[name] = seen.output
            elif seen.status is Status.FAILED:
                assert str(seen.error).startswith("Runtime."), f"{name}: {seen.error}, and Lambda gave no event up"
            if is_silent and name not in outputs:
                with suppress(UnumError, ClientError):
                    client.redrive(name) if seen.status is Status.FAILED else client.nudge(name)
        asked_s = time.monotonic() if is_silent else asked_s
        time.sleep(0.5)
    return {name: outputs[name] for name in plans}


def expected(count: int) -> dict[str, Any]:
    """Return the right outputs: f = 1 + d + e, d = 1 + b + c, e = 1 + c, b = c = 1 + a, a = 1 + n; then sums."""
    results = {f"region-{n}": 3 * n + 9 for n in range(count)}
    return {name: [f + 1, 2 * f + 3, 3 * f + 6] for name, f in results.items()}


def ends(history: Path, workflow: str = "Region") -> Counter[str]:
    """Return how many deliveries of the workflow's functions ended in which way."""
    lines = read(history)
    own = {line["delivery"] for line in lines if line["what"] == "begun" and f"Chaos-{workflow}" in line["function"]}
    return Counter(line["result"] for line in lines if line["what"] == "ended" and line["delivery"] in own)


def insist(request: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Send a request until the function that answers survives; both a start by name and a question may be repeated."""
    for _ in range(9):
        with suppress(InvokeError):
            return request(*arguments, **options)
    return request(*arguments, **options)


def main() -> int:
    """Play, judge, and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.chaos.regions", description=__doc__)
    parser.add_argument("--executions", type=int, default=200)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds after which the rest stands still")
    parser.add_argument("--processes", type=int, default=20, help="maximum of function processes")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    history = OUT / "regions.jsonl"
    history.unlink(missing_ok=True)
    begun_s = time.monotonic()
    app = f"{sys.executable} -m tests.e2e.chaos.app"
    with Emulator(EMULATOR_PYTHON, logs=OUT / "logs", max_processes=options.processes, history=history) as it:
        os.environ.update({name: value for name, value in it.environment().items() if name.startswith("AWS_")})
        cdk.bootstrap(it, cwd=ROOT)
        deployment = Deployment(boto3.Session(), cdk.deploy(it, ["--all"], app=app, cwd=ROOT))
        outputs = play(deployment.client("Chaos", "Region"), options.executions, options.timeout)
    violations = judge(history, deployment.outputs["Chaos"], {}, "Region").violations["Region"]
    figures = {
        "executions": options.executions,
        "ends": ends(history),
        "violations": [str(each) for each in violations],
        "wrong": sum(outputs[name] != right for name, right in expected(options.executions).items()),
        "took_s": round(time.monotonic() - begun_s),
    }
    (OUT / "regions.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    print(json.dumps(figures))
    return int(bool(violations or figures["wrong"]))


if __name__ == "__main__":
    sys.exit(main())
