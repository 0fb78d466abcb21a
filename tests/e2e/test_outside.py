"""Functions outside of a workflow that start and read its executions with boto3's methods, and IAM enforced."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.conftest import Deployment, until
from unum_emulator.process import Emulator

pytestmark = pytest.mark.e2e

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def machine(deployment: Deployment) -> str:
    return deployment.outputs["Outside"]["Machine"]


@pytest.fixture(scope="module")
def ask(deployment: Deployment) -> Ask:
    def call(who: str, operation: str, **arguments: Any) -> Any:
        name = deployment.outputs["Outside"][f"{who}Name"]
        return deployment.invoke(name, {"operation": operation, "arguments": arguments})

    return call


def test_function_starts_describes_and_lists_with_boto3_methods(ask: Ask, machine: str) -> None:
    given = {"stateMachineArn": machine, "name": "order-17", "input": '{"n": 4, "seconds": 0}'}
    started = ask("Everything", "start_execution", **given)
    arn = started["executionArn"]
    assert arn.endswith(":execution:" + machine.rpartition(":start-")[2] + ":order-17")
    until(lambda: ask("Everything", "describe_execution", executionArn=arn)["status"] != "RUNNING")
    found = ask("Everything", "describe_execution", executionArn=arn)
    assert (found["status"], json.loads(found["output"])) == ("SUCCEEDED", {"doubled": 8})
    assert (found["stateMachineArn"], found["startDate"]) == (machine, started["startDate"])
    until(lambda: ask("Everything", "list_executions", stateMachineArn=machine)["executions"] != [])
    listed = ask("Everything", "list_executions", stateMachineArn=machine, statusFilter="SUCCEEDED")["executions"]
    assert [(each["executionArn"], each["stopDate"]) for each in listed] == [(arn, found["stopDate"])]
    assert ask("Everything", "start_execution", **given)["error"] == "ExecutionAlreadyExists"


def test_function_stops_a_running_execution(ask: Ask, machine: str) -> None:
    given = {"stateMachineArn": machine, "name": "slow", "input": '{"n": 4, "seconds": 600}'}
    arn = ask("Everything", "start_execution", **given)["executionArn"]
    assert ask("Everything", "start_execution", **given)["executionArn"] == arn, "it is running"
    assert ask("Everything", "start_execution", **{**given, "input": "{}"})["error"] == "ExecutionAlreadyExists"
    assert "stopDate" in ask("Everything", "stop_execution", executionArn=arn, error="Enough", cause="of it")
    found = ask("Everything", "describe_execution", executionArn=arn)
    assert (found["status"], found["error"], found["cause"]) == ("ABORTED", "Enough", "of it")


def test_function_redrives_a_failed_execution(ask: Ask, machine: str) -> None:
    failed = ask("Everything", "start_sync_execution", stateMachineArn=machine, name="failed", input='{"seconds": 0}')
    assert (failed["status"], failed["error"]) == ("FAILED", "KeyError")
    assert "redriveDate" in ask("Everything", "redrive_execution", executionArn=failed["executionArn"])
    succeeded = ask("Everything", "start_sync_execution", stateMachineArn=machine, input='{"n": 1, "seconds": 0}')
    refused = ask("Everything", "redrive_execution", executionArn=succeeded["executionArn"])
    assert refused["error"] == "ExecutionNotRedrivable"


def test_function_waits_for_the_result_of_a_synchronous_start(ask: Ask, machine: str) -> None:
    found = ask("Everything", "start_sync_execution", stateMachineArn=machine, input='{"n": 5, "seconds": 1}')
    assert (found["status"], json.loads(found["output"])) == ("SUCCEEDED", {"doubled": 10})


def test_function_with_the_grant_to_start_does_nothing_else(ask: Ask, machine: str) -> None:
    arn = ask("Starting", "start_execution", stateMachineArn=machine, input='{"n": 1, "seconds": 0}')["executionArn"]
    for operation, arguments in [
        ("describe_execution", {"executionArn": arn}),
        ("stop_execution", {"executionArn": arn}),
        ("list_executions", {"stateMachineArn": machine}),
    ]:
        refused = ask("Starting", operation, **arguments)
        assert refused["error"] != "", operation  # it has no address of the alias, nor a permission
        assert "executionArn" not in refused, operation


def test_function_without_the_grant_is_denied_by_iam(ask: Ask, machine: str) -> None:
    refused = ask("Describing", "start_execution", stateMachineArn=machine, name="denied", input='{"n": 1}')
    assert refused["error"] == "AccessDeniedException"
    assert "grant_start" in refused["message"]
    time.sleep(1)
    arn = machine.replace(":lambda:", ":states:").partition(":function:")[0]
    execution = f"{arn}:execution:{machine.rpartition(':start-')[2]}:denied"
    assert ask("Describing", "describe_execution", executionArn=execution)["error"] == "ExecutionDoesNotExist"


def test_operations_that_workflows_lack_name_their_counterpart(ask: Ask, machine: str) -> None:
    assert "CDK" in ask("Everything", "update_state_machine", stateMachineArn=machine, definition="{}")["message"]


@pytest.mark.parametrize("kind", ["rest", "http", "url"])
def test_http_request_is_answered_with_the_result(bootstrapped: Emulator, deployment: Deployment, kind: str) -> None:
    outputs, endpoint = deployment.outputs["Outside"], bootstrapped.endpoint
    address = {
        "rest": f"{endpoint}/restapis/{outputs['RestId']}/prod/_user_request_/",
        "http": f"{endpoint}/_aws/execute-api/{outputs['HttpId']}/$default/double",
        "url": outputs["Url"],
    }[kind]

    def post(body: str) -> tuple[int, Any]:
        request = urllib.request.Request(address, data=body.encode(), headers={"content-type": "application/json"})  # noqa: S310 - ours
        try:
            with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    assert post('{"n": 21, "seconds": 1}') == (200, {"doubled": 42})
    status, found = post('{"seconds": 0}')
    assert (status, found["error"]) == (500, "KeyError")
    assert post("no JSON")[1]["error"] == "InvalidExecutionInput"
