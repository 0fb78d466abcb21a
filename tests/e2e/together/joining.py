"""App of one workflow that joins a control plane and leaves it: ``python -m tests.e2e.together.joining PLANE``."""

import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from tests.e2e.python import as_the_emulator
from tests.e2e.together.stack import chain
from unum_constructs import Definition, UnumControlPlane, UnumFunction, UnumWorkflow

CODE = str(Path(__file__).parent / "functions")
OWN = "own"


class Joining(cdk.Stack):
    """A workflow with the control plane of this name, or one of its own."""

    def __init__(self, scope: cdk.App, construct_id: str, *, name: str) -> None:
        super().__init__(scope, construct_id)
        code = lambda_.Code.from_asset(CODE, exclude=["__pycache__"])
        functions = {key: UnumFunction(self, key, code=code, handler="steps.work") for key in ("First", "Second")}
        definition = Definition.from_asl(chain(*functions))
        plane = None if name == OWN else UnumControlPlane(self, name)
        UnumWorkflow(self, "Workflow", definition=definition, functions=functions, control_plane=plane)


if __name__ == "__main__":
    as_the_emulator()
    app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Joining(app, "Joining", name=sys.argv[1])
    app.synth()
