"""The assemblies of both deployments, made in one process; the argument is their folder."""

import json
import sys
from pathlib import Path

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.repair.stack import Repair

CONTEXT = json.loads((Path(__file__).parents[3] / "cdk.json").read_text(encoding="utf-8"))["context"]


def synthesize(outdir: Path, code: int) -> None:
    app = cdk.App(context=CONTEXT, outdir=str(outdir), default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Repair(app, "Repair", code=code)
    app.synth()


if __name__ == "__main__":
    as_the_emulator()
    for code in (1, 2):
        synthesize(Path(sys.argv[1], str(code)), code)
