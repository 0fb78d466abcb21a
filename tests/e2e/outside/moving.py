"""App of one workflow whose beginning changes: ``python -m tests.e2e.outside.moving NUMBER``."""

import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sqs as sqs

from tests.e2e.python import as_the_emulator
from unum_constructs import Definition, UnumFunction, UnumWorkflow

CODE = str(Path(__file__).parent / "functions")

WAIT = {"Type": "Wait", "Seconds": 1, "Next": "First"}
STATES: dict[str, dict[str, Any]] = {
    "1": {"First": {"Type": "Task", "Resource": "One", "End": True}},
    "2": {"Before": WAIT, "First": {"Type": "Task", "Resource": "One", "End": True}},
    "3": {"Another": {"Type": "Task", "Resource": "Two", "End": True}},
}
"""Definitions: a Task; a Wait before it; a Task of another function."""


class Moving(cdk.Stack):
    """A workflow that outside consumers start at its permanent address."""

    def __init__(self, scope: cdk.App, construct_id: str, *, number: str) -> None:
        super().__init__(scope, construct_id)
        states = STATES[number]
        code = lambda_.Code.from_asset(CODE, exclude=["__pycache__"])
        keys = {each["Resource"] for each in states.values() if each["Type"] == "Task"}
        functions = {key: UnumFunction(self, key, handler=f"beginning.{key.lower()}", code=code) for key in keys}
        definition = Definition.from_asl({"StartAt": next(iter(states)), "States": states})
        workflow = UnumWorkflow(self, "Workflow", definition=definition, functions=functions)
        permanent = workflow.permanent_start_alias
        pattern = events.EventPattern(source=["moving.shop"])
        events.Rule(self, "Placed", event_pattern=pattern, targets=[targets.LambdaFunction(permanent)])
        queue = sqs.Queue(self, "Queue")
        permanent.add_event_source(event_sources.SqsEventSource(queue, batch_size=2))
        calling = lambda_.Function(
            self, "Calling", runtime=lambda_.Runtime.PYTHON_3_13, handler="calling.handle", code=code
        )
        workflow.grant_permanent_start(calling)
        workflow.grant_describe(calling)
        for name, value in {
            "Permanent": permanent.function_arn,
            "Fast": workflow.start_alias.function_arn,
            "CallingName": calling.function_name,
            "QueueUrl": queue.queue_url,
        }.items():
            cdk.CfnOutput(self, name, value=value)


if __name__ == "__main__":
    as_the_emulator()
    app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Moving(app, "Moving", number=sys.argv[1])
    app.synth()
