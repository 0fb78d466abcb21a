"""The assemblies of several deployments, made in one process, because the CDK takes longer to start than to synthesize.

Arguments: a folder, then ``NAME=DEFINITION.CODE`` for each deployment; its assembly is NAME in the folder.
"""

import json
import sys
from pathlib import Path

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.versions.stack import Versions

CONTEXT = json.loads((Path(__file__).parents[3] / "cdk.json").read_text(encoding="utf-8"))["context"]


def synthesize(outdir: Path, definition: int, code: int) -> None:
    """Write the assembly of one deployment to `outdir`."""
    app = cdk.App(context=CONTEXT, outdir=str(outdir), default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    places = [cdk.Stack(app, f"{name}Functions") for name in ("First", "Second")]
    Versions(app, "Versions", definition=definition, code=code)
    Versions(app, "Apart", places=places, definition=definition, code=code)
    app.synth()


if __name__ == "__main__":
    as_the_emulator()
    folder, *deployments = sys.argv[1:]
    for each in deployments:
        name, numbers = each.split("=")
        synthesize(Path(folder, name), *map(int, numbers.split(".")))
