"""The assemblies of the deployments, made in one process, because the CDK takes longer to start than to synthesize.

Arguments: a folder, then the names of the deployments: the number of a definition, with ``-kept`` or ``-forced`` where
the stack has such an option. Each assembly has its name in the folder.
"""

import json
import sys
from pathlib import Path

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.stranded.stack import Stranded

CONTEXT = json.loads((Path(__file__).parents[3] / "cdk.json").read_text(encoding="utf-8"))["context"]


def synthesize(outdir: Path, name: str) -> None:
    """Write the assembly of one deployment to `outdir`."""
    definition, _, option = name.partition("-")
    app = cdk.App(context=CONTEXT, outdir=str(outdir), default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Stranded(app, "Stranded", definition=int(definition), keeps=option == "kept", forces=option == "forced")
    app.synth()


if __name__ == "__main__":
    as_the_emulator()
    folder, *names = sys.argv[1:]
    for each in names:
        synthesize(Path(folder, each), each)
