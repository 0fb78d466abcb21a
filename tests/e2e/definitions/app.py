"""The assembly of one version of `tests.e2e.definitions.stack`; arguments: its folder, the number of the version."""

import json
import sys
from pathlib import Path

import aws_cdk as cdk

from tests.e2e.definitions.stack import Definitions
from tests.e2e.python import as_the_emulator

CONTEXT = json.loads((Path(__file__).parents[3] / "cdk.json").read_text(encoding="utf-8"))["context"]

if __name__ == "__main__":
    as_the_emulator()
    outdir, number = sys.argv[1:]
    app = cdk.App(context=CONTEXT, outdir=outdir, default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Definitions(app, "Definitions", version=int(number))
    app.synth()
