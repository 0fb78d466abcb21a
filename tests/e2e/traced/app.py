"""The app with a workflow whose user code is traced by OpenTelemetry and X-Ray, to the places in the environment."""

import os
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from tests.e2e.packages import with_packages
from tests.e2e.python import as_the_emulator
from unum_constructs import Definition, Monitoring, OpenTelemetry, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
RETRY = [{"ErrorEquals": ["Busy"], "IntervalSeconds": 1, "MaxAttempts": 2}]
PRICE = {"Type": "Task", "Resource": "Price", "Retry": RETRY, "End": True}
DEFINITION = {
    "StartAt": "Receive",
    "States": {
        "Receive": {"Type": "Task", "Resource": "Receive", "Next": "Lines"},
        "Lines": {
            "Type": "Map",
            "ItemProcessor": {"StartAt": "Price", "States": {"Price": PRICE}},
            "Next": "Pause",
        },
        "Pause": {"Type": "Wait", "Seconds": 1, "Next": "Ship"},
        "Ship": {"Type": "Task", "Resource": "Ship", "End": True},
    },
}

as_the_emulator()
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
stack = cdk.Stack(app, "Traced")
code = lambda_.Code.from_asset(
    str(with_packages(HERE / "functions" / "shop.py", "aws_lambda_powertools", "aws_xray_sdk"))
)
functions = {
    key: UnumFunction(
        stack,
        key,
        code=code,
        handler=f"shop.{key.lower()}",
        tracing=lambda_.Tracing.ACTIVE,
        environment={"AWS_XRAY_DAEMON_ADDRESS": os.environ["UNUM_TEST_DAEMON"]},
    )
    for key in ("Receive", "Price", "Ship")
}
UnumWorkflow(
    stack,
    "Workflow",
    definition=Definition.from_asl(DEFINITION),
    functions=functions,
    tracing_enabled=True,
    monitoring=Monitoring(opentelemetry=OpenTelemetry(endpoint=os.environ["UNUM_TEST_COLLECTOR"])),
)
app.synth()
