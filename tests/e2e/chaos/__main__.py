# ruff: noqa: T201 - a command prints
"""Kill functions while many executions run: `python -m tests.e2e.chaos --executions 1000`.

Deploys the workflow of tests/e2e/test_chaos.py into an emulator of its own, plays, judges the run by its history, and
writes the figures to `out/chaos/figures.json` for docs/evidence.md. Ends with 1 after a violation, a wrong result, or
an execution that stands still; then the history stays in `out/chaos`. `--store s3` keeps the state of both workflows
in buckets, and writes the figures to `out/chaos/s3.json`.
"""

import argparse
import json
import os
import shlex
import sys
import time
from pathlib import Path

import boto3

from tests.e2e.chaos.judge import WORKFLOWS, Judgement, judge
from tests.e2e.chaos.play import Play
from tests.e2e.conftest import EMULATOR_PYTHON, ROOT, Deployment
from unum_emulator import cdk
from unum_emulator.process import Emulator

OUT = ROOT / "out" / "chaos"
FIGURES = {"dynamodb": OUT / "figures.json", "s3": OUT / "s3.json"}
APP = f"{shlex.quote(sys.executable)} -m tests.e2e.chaos.app"


def main() -> int:
    """Play, judge, and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.chaos", description=__doc__)
    parser.add_argument("--executions", type=int, default=1000, help="executions that are started; forks come on top")
    parser.add_argument("--timeout", type=float, default=3 * 3600, help="seconds after which the rest stands still")
    parser.add_argument("--processes", type=int, default=40, help="maximum of function processes")
    parser.add_argument("--store", choices=("dynamodb", "s3"), default="dynamodb", help="where the state is")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    history = OUT / "history.jsonl"
    history.unlink(missing_ok=True)
    begun_s = time.monotonic()
    with Emulator(EMULATOR_PYTHON, logs=OUT / "logs", max_processes=options.processes, history=history) as it:
        os.environ.update({name: value for name, value in it.environment().items() if name.startswith("AWS_")})
        cdk.bootstrap(it, cwd=ROOT)
        deployment = Deployment(boto3.Session(), cdk.deploy(it, ["--all"], app=f"{APP} {options.store}", cwd=ROOT))
        play = Play(deployment.client("Chaos"), deployment.session, deployment.table("Chaos", "NotesTable"))
        play.run(options.executions, prefix="run", timeout_s=options.timeout)
    judged = judge(history, deployment.outputs["Chaos"], play.results, *WORKFLOWS)
    return report(judged, play, time.monotonic() - begun_s, FIGURES[options.store])


def report(judged: Judgement, play: Play, took_s: float, file: Path) -> int:
    """Print what a run showed and keep it in `file`; return the exit code."""
    wrong = [*play.wrong()]
    stands_still = sorted({*judged.still, *play.running})
    requests = {kind: play.asked[kind] for kind in ("stop", "redrive", "fork", "sweep")}
    figures = {
        "executions": len(play.plans),
        "kills": dict(judged.kills),
        "ends": dict(judged.ends),
        "requests": requests,
        "nudged": judged.nudged,
        "letters": judged.letters,
        "sweep_every_s": play.sweep_every_s,
        "silent_s": play.silent_s,
        "commits": sum(len(found.commits) for found in judged.found.values()),
        "lines": len(judged.lines),
        "violations": sum(map(len, judged.violations.values())),
        "wrong": len(wrong),
        "still": len(stands_still),
        "took_s": round(took_s),
    }
    file.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    print(judged.story(), *wrong, *(f"stands still: {each}" for each in stands_still), sep="\n")
    print(json.dumps(figures))
    return int(bool(figures["violations"] or wrong or stands_still))


if __name__ == "__main__":
    sys.exit(main())
