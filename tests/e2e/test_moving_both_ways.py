"""Moves from a state machine to a workflow and back, with executions in flight, by the commands of the guide."""

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.command_line import unum
from tests.e2e.conftest import ROOT, Deployment, app_command, until
from tests.e2e.outside.both import DEFINITION
from unum_emulator import cdk
from unum_emulator.process import Emulator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

Deploy = Callable[..., Mapping[str, str]]
HELD_S = 30
"""Longer than a deployment in the emulator."""


@pytest.fixture(scope="module")
def deploy(bootstrapped: Emulator) -> Deploy:
    def deploy_parts(*parts: str, definition: Path = DEFINITION) -> Mapping[str, str]:
        app = app_command(f"tests.e2e.outside.both {','.join(parts)} {definition}")
        return cdk.deploy(bootstrapped, ["--all"], app=app, cwd=ROOT)["Both"]

    return deploy_parts


class Sender:
    """The function that starts executions, with one client for both."""

    def __init__(self, outputs: Mapping[str, str]) -> None:
        self._outputs, self._deployment, self._late = outputs, Deployment(boto3.Session(), {}), itertools.count()

    def ask(self, operation: str, **arguments: Any) -> Any:
        event = {"operation": operation, "arguments": arguments}
        return self._deployment.invoke(self._outputs["CallingName"], event)

    def start(self, arn: str, name: str, n: int, seconds: int = 0) -> str:
        text = json.dumps({"n": n, "seconds": seconds})
        found = self.ask("start_execution", stateMachineArn=arn, name=name, input=text)
        return str(found["executionArn"])

    def is_refused(self, arn: str, error: str) -> bool:
        """Return True if another start is refused with `error`; False if it starts."""
        text = json.dumps({"n": 1, "seconds": 0})
        found = self.ask("start_execution", stateMachineArn=arn, name=f"late-{next(self._late)}", input=text)
        return bool(found.get("error") == error)

    def count(self, arn: str) -> int:
        return len(self.ask("list_executions", stateMachineArn=arn, statusFilter="RUNNING")["executions"])

    def result(self, arn: str) -> Any:
        found = self.ask("describe_execution", executionArn=arn)
        return json.loads(found["output"]) if found["status"] == "SUCCEEDED" else found


def running(stack: str) -> int:
    return len(unum("list", "--status", "RUNNING", "--json", "--stack", stack).splitlines())


def test_executions_in_flight_end_where_they_began(deploy: Deploy, tmp_path: Path) -> None:
    # To the workflow: an execution of the state machine is in flight when senders change the address.
    machine = deploy("machine")["MachineArn"]
    given = {"name": "in-machine", "input": json.dumps({"n": 1, "seconds": HELD_S})}
    held = boto3.client("stepfunctions").start_execution(stateMachineArn=machine, **given)["executionArn"]
    outputs = deploy("machine", "workflow")
    sender, workflow = Sender(outputs), outputs["WorkflowArn"]
    moved = sender.start(workflow, "in-workflow", 2)
    until(lambda: sender.result(moved) == {"doubled": 4})
    assert sender.count(machine) == 1
    until(lambda: sender.count(machine) == 0)
    assert sender.result(held) == {"doubled": 2}
    workflow = deploy("workflow")["WorkflowArn"]

    # Back: an execution of the workflow is in flight when senders change the address.
    exported = tmp_path / "exported.asl.json"
    unum("export", "--stack", "Both", "-o", str(exported))
    assert json.loads(exported.read_text())["States"]["Double"]["Resource"] == "${Double}"
    held = sender.start(workflow, "held", 3, HELD_S)
    outputs = deploy("machine", "workflow", definition=exported)
    sender = Sender(outputs)
    moved = sender.start(outputs["MachineArn"], "moved", 4)
    until(lambda: sender.result(moved) == {"doubled": 8})
    assert running("Both") == 1
    unum("pause", "--reason", "moved to Step Functions", "--stack", "Both")
    # A sandbox that has looked for a pause does so again after 10 seconds.
    until(lambda: sender.is_refused(workflow, "StartsPaused"))
    until(lambda: running("Both") == 0)
    assert sender.result(held) == {"doubled": 6}
    machine = deploy("machine", definition=exported)["MachineArn"]
    given = {"name": "last", "input": json.dumps({"n": 5, "seconds": 0})}
    last = boto3.client("stepfunctions").start_execution(stateMachineArn=machine, **given)["executionArn"]
    until(lambda: boto3.client("stepfunctions").describe_execution(executionArn=last)["status"] != "RUNNING")
    assert json.loads(boto3.client("stepfunctions").describe_execution(executionArn=last)["output"]) == {"doubled": 10}
