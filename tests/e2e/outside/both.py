"""App that moves between a state machine and a workflow: ``python -m tests.e2e.outside.both PARTS DEFINITION``.

PARTS are ``machine``, ``workflow`` or both with a comma; DEFINITION is the file of the state machine's definition.
"""

import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn

from tests.e2e.python import as_the_emulator
from unum_constructs import Definition, UnumWorkflow

HERE = Path(__file__).parent
DEFINITION = HERE / "double.asl.json"


class Both(cdk.Stack):
    """A function, and what runs it: a state machine, a workflow, or both beside each other."""

    def __init__(self, scope: cdk.App, construct_id: str, *, parts: set[str], definition: Path) -> None:
        super().__init__(scope, construct_id)
        code = lambda_.Code.from_asset(str(HERE / "functions"), exclude=["__pycache__"])
        double = lambda_.Function(
            self, "Double", runtime=lambda_.Runtime.PYTHON_3_13, handler="tasks.double", code=code
        )
        calling = lambda_.Function(
            self, "Calling", runtime=lambda_.Runtime.PYTHON_3_13, handler="calling.handle", code=code
        )
        if "machine" in parts:
            body = sfn.DefinitionBody.from_file(str(definition))
            machine = sfn.StateMachine(
                self, "Machine", definition_body=body, definition_substitutions={"Double": double.function_arn}
            )
            double.grant_invoke(machine)
            machine.grant_start_execution(calling)
            machine.grant_read(calling)
            cdk.CfnOutput(self, "MachineArn", value=machine.state_machine_arn)
        if "workflow" in parts:
            workflow = UnumWorkflow(
                self, "Workflow", definition=Definition.from_asl_file(DEFINITION), functions={"Double": double}
            )
            workflow.grant_start_sync(calling)
            workflow.grant_read(calling)
            cdk.CfnOutput(self, "WorkflowArn", value=workflow.state_machine_arn)
        cdk.CfnOutput(self, "CallingName", value=calling.function_name)


if __name__ == "__main__":
    as_the_emulator()
    app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Both(app, "Both", parts={*sys.argv[1].split(",")}, definition=Path(sys.argv[2]))
    app.synth()
