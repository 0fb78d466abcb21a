"""The assemblies of three deployments that differ in code alone, made in one process.

Arguments: a folder, then a number for each deployment; its assembly is that number in the folder.
"""

import json
import sys
from pathlib import Path

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.throttled.stack import Throttled

CONTEXT = json.loads((Path(__file__).parents[3] / "cdk.json").read_text(encoding="utf-8"))["context"]

if __name__ == "__main__":
    as_the_emulator()
    folder, *numbers = sys.argv[1:]
    for number in numbers:
        synthesizer = cdk.CliCredentialsStackSynthesizer()
        app = cdk.App(context=CONTEXT, outdir=str(Path(folder, number)), default_stack_synthesizer=synthesizer)
        Throttled(app, "Throttled", code=int(number))
        app.synth()
