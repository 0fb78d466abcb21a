"""The assemblies of the deployments, made in one process, because the CDK takes longer to start than to synthesize.

Arguments: a folder, then the numbers of the definitions; each assembly has its number as its name in the folder.
"""

import json
import sys
from pathlib import Path

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.stranded.stack import Stranded

CONTEXT = json.loads((Path(__file__).parents[3] / "cdk.json").read_text(encoding="utf-8"))["context"]


def synthesize(outdir: Path, definition: int) -> None:
    """Write the assembly of one deployment to `outdir`."""
    app = cdk.App(context=CONTEXT, outdir=str(outdir), default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Stranded(app, "Stranded", definition=definition)
    app.synth()


if __name__ == "__main__":
    as_the_emulator()
    folder, *definitions = sys.argv[1:]
    for each in definitions:
        synthesize(Path(folder, each), int(each))
