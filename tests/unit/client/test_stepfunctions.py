"""The client in the shape of boto3's, against a memory store and a workflow that runs in this process."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from inspect import signature
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.validate import validate_parameters

from tests.unit.client.alias_caller import ALIAS, AliasCaller
from unum_client import Client
from unum_client.control import Control
from unum_client.polling import Waiter
from unum_client.stepfunctions import UNSUPPORTED, Exceptions, StepFunctionsClient
from unum_client.task_responses import Tasks
from unum_runtime.errors import ClientError, WaitTimedOut
from unum_runtime.features.activities import Activities
from unum_runtime.model.ir import Home

DOUBLE = {"StartAt": "Double", "States": {"Double": {"Type": "Task", "Resource": "double", "End": True}}}
HERE = "arn:aws:states:us-east-1:000000000000"
ARN = f"{HERE}:execution:w:n"
MODEL = botocore.session.get_session().get_service_model("stepfunctions")
PAGED_THERE = ("get_execution_history", "list_executions", "list_map_runs", "list_activities", "list_state_machines")


def double(event: Any, _context: Any) -> Any:
    return event["n"] * 2


@pytest.fixture
def deployment(deploy: Callable[..., Any]) -> Any:
    return deploy(DOUBLE, double=double)


@pytest.fixture
def client(deployment: Any) -> StepFunctionsClient:
    return StepFunctionsClient(deployment.client, definition=deployment.local.workflow)


def check_shape(operation: str, output: Any) -> None:
    """Make sure that `output` has the members and the types that AWS documents for the operation."""
    model = MODEL.operation_model(operation)
    assert set(output) <= set(model.output_shape.members)
    validate_parameters(output, model.output_shape)  # type: ignore[arg-type]  # has a shape


def test_an_execution_is_started_and_described(client: StepFunctionsClient) -> None:
    started = client.start_execution(stateMachineArn=f"{HERE}:stateMachine:w", name="n", input='{"n": 21}')
    check_shape("StartExecution", started)
    assert started["executionArn"] == ARN
    described = client.describe_execution(executionArn=started["executionArn"])
    check_shape("DescribeExecution", described)
    assert (described["status"], described["input"], described["output"]) == ("SUCCEEDED", '{"n":21}', "42")
    assert (described["name"], described["stateMachineArn"]) == ("n", f"{HERE}:stateMachine:w")
    assert started["startDate"] == described["startDate"] <= described["stopDate"]


def test_the_end_can_be_waited_for(client: StepFunctionsClient) -> None:
    ended = client.start_sync_execution(input='{"n": 4}')
    check_shape("StartSyncExecution", ended)
    assert (ended["status"], ended["output"]) == ("SUCCEEDED", "8")
    assert ended["executionArn"] == f"{HERE}:execution:w:{ended['name']}"


def test_a_failure_has_error_and_cause(client: StepFunctionsClient) -> None:
    ended = client.start_sync_execution()
    assert (ended["status"], ended["error"], ended["input"]) == ("FAILED", "KeyError", "{}")
    assert "errorMessage" in ended["cause"]
    assert "output" not in ended


def test_a_running_execution_has_no_end(deployment: Any, client: StepFunctionsClient) -> None:
    deployment.alias.is_open = False
    client.start_execution(name="n")
    described = client.describe_execution(executionArn="n")
    assert described["status"] == "RUNNING"
    assert described.keys().isdisjoint(("stopDate", "output", "error", "cause"))
    with pytest.raises(WaitTimedOut):
        client.start_sync_execution(name="n", timeout_s=1)


def test_executions_see_the_same_arns(deploy: Callable[..., Any]) -> None:
    definition = {
        "StartAt": "Tell",
        "States": {"Tell": {"Type": "Pass", "Parameters": {"Arn.$": "$$.Execution.Id"}, "End": True}},
    }
    deployment = deploy(definition)
    home = Home(region="us-east-1", account="000000000000")
    workflow = replace(deployment.local.workflow, home=home)
    replace(deployment.local, workflow=workflow).run("n", {})
    client = StepFunctionsClient(deployment.client)
    assert client.describe_execution(executionArn=ARN)["output"] == f'{{"Arn":"{ARN}"}}'


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"input": "{"}, "InvalidExecutionInput", "input: expected JSON text, got '{'"),
        ({"input": {"n": 1}}, "InvalidExecutionInput", "input: expected JSON text"),
        ({"input": "[" * 100_000}, "InvalidExecutionInput", "input: expected JSON text"),
        ({"name": "a b"}, "InvalidName", "name: expected 1 to 80 characters"),
        ({"name": 5}, "InvalidName", "name: expected 1 to 80 characters from A-Z a-z 0-9 - _, got 5"),
        ({"stateMachineArn": 5}, "InvalidArn", f"expected {HERE}:stateMachine:w"),
        ({"name": "n", "input": "1"}, "ExecutionAlreadyExists", "was started with another input"),
        ({"stateMachineArn": "a:b"}, "InvalidArn", f"expected {HERE}:stateMachine:w"),
        ({"stateMachineArn": ARN}, "InvalidArn", f"expected {HERE}:stateMachine:w"),
        ({"stateMachineArn": "v"}, "StateMachineDoesNotExist", "got 'v'"),
        ({"stateMachineArn": f"{HERE}:stateMachine:v"}, "StateMachineDoesNotExist", "this is a client of"),
    ],
)
def test_starts_that_are_refused(client: StepFunctionsClient, arguments: dict[str, Any], error: str, said: str) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    with pytest.raises(getattr(client.exceptions, error), match=said):
        client.start_execution(**arguments)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("nobody", "ExecutionDoesNotExist"),
        (f"{HERE}:execution:w:nobody", "ExecutionDoesNotExist"),
        (f"{HERE}:execution:v:n", "ExecutionDoesNotExist"),
        ("arn:aws:states:eu-west-1:000000000000:execution:w:n", "ExecutionDoesNotExist"),
        ("arn:aws:states:us-east-1:1:execution:w", "InvalidArn"),
        (f"{HERE}:stateMachine:w", "InvalidArn"),
        ("w:n", "InvalidArn"),
        ("ä" * 600, "ExecutionDoesNotExist"),
        (None, "InvalidArn"),
        (5, "InvalidArn"),
    ],
)
def test_executions_that_are_not_there(client: StepFunctionsClient, given: Any, error: str) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    for ask in (client.describe_execution, client.get_execution_history):
        with pytest.raises(getattr(client.exceptions, error)):
            ask(executionArn=given)


def test_where_nothing_tells_the_region_any_is_taken(deployment: Any) -> None:
    deployment.client.start({"n": 1}, name="n")
    client = StepFunctionsClient(replace(deployment.client, start_alias=None))
    assert client.describe_execution(executionArn=ARN)["output"] == "2"


def test_a_history_has_the_shape_of_boto3(client: StepFunctionsClient) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    shown = client.get_execution_history(executionArn=ARN)
    check_shape("GetExecutionHistory", shown)
    assert [event["type"] for event in shown["events"]] == [
        "ExecutionStarted",
        "TaskStateEntered",
        "LambdaFunctionScheduled",
        "LambdaFunctionStarted",
        "LambdaFunctionSucceeded",
        "TaskStateExited",
        "ExecutionSucceeded",
    ]
    assert all(isinstance(event["timestamp"], datetime) for event in shown["events"])
    assert "nextToken" not in shown


@pytest.mark.parametrize("reverse", [False, True])
def test_a_history_is_read_page_by_page(client: StepFunctionsClient, *, reverse: bool) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    pages = list(
        client.get_paginator("get_execution_history").paginate(
            executionArn="n", reverseOrder=reverse, PaginationConfig={"PageSize": 3}
        )
    )
    assert [len(page["events"]) for page in pages] == [3, 3, 1]
    ids = [event["id"] for page in pages for event in page["events"]]
    assert ids == (list(range(7, 0, -1)) if reverse else list(range(1, 8)))


def test_a_history_without_data(client: StepFunctionsClient) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    shown = client.get_execution_history(executionArn="n", includeExecutionData=False)
    assert "21" not in str([event["stateEnteredEventDetails"] for event in shown["events"][1:2]])
    assert shown["events"][0]["executionStartedEventDetails"] == {}


@pytest.mark.parametrize(
    "token",
    [
        "",
        "?",
        "WzFd",
        base64.b64encode(b'["m", 3, false]').decode(),
        "\xe4",
        5,
        base64.b64encode(b"[" * 99_999).decode(),
    ],
    ids=["empty", "no base64", "no JSON", "of another list", "no ASCII", "a number", "deep"],
)
def test_a_token_of_another_history_is_refused(client: StepFunctionsClient, token: Any) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    with pytest.raises(client.exceptions.InvalidToken, match="nextToken: expected what the page before returned"):
        client.get_execution_history(executionArn="n", nextToken=token)


def test_a_token_keeps_to_its_order(client: StepFunctionsClient) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    token = client.get_execution_history(executionArn="n", maxResults=2)["nextToken"]
    assert client.get_execution_history(executionArn="n", maxResults=2, nextToken=token)["events"][0]["id"] == 3
    with pytest.raises(client.exceptions.InvalidToken):
        client.get_execution_history(executionArn="n", maxResults=2, nextToken=token, reverseOrder=True)


def test_what_a_history_needs(deployment: Any, client: StepFunctionsClient) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    with pytest.raises(ClientError, match="expected the definition with digest"):
        StepFunctionsClient(deployment.client).get_execution_history(executionArn="n")
    for size in (1001, -1, "5", 1.5, True, None):
        with pytest.raises(ClientError, match=f"maxResults: expected 0 to 1000, got {size!r}"):
            client.get_execution_history(executionArn="n", maxResults=size)  # type: ignore[arg-type]
    with pytest.raises(ClientError, match=r"PaginationConfig: expected PageSize alone, got \['MaxItems'\]"):
        next(client.get_paginator("get_execution_history").paginate(PaginationConfig={"MaxItems": 1}, executionArn="n"))
    with pytest.raises(ClientError, match=r"operation_name: expected one of \['get_execution_history', "):
        client.get_paginator("list_activities")


def test_a_description_without_data(client: StepFunctionsClient) -> None:
    client.start_execution(name="n", input='{"n": 21}')
    described = client.describe_execution(executionArn="n", includedData="METADATA_ONLY")
    check_shape("DescribeExecution", described)
    assert described.keys().isdisjoint(("input", "output"))
    assert described["inputDetails"] == described["outputDetails"] == {"included": False}
    with pytest.raises(ClientError, match=r"includedData: expected one of \['ALL_DATA', 'METADATA_ONLY'\], got 'ALL'"):
        client.describe_execution(executionArn="n", includedData="ALL")


def test_tasks_are_answered_as_with_boto3() -> None:
    entry = AliasCaller.of_a_task_that_waits()
    tasks = Tasks(caller=entry, response_alias=ALIAS)
    client = StepFunctionsClient(Client(store=entry.platform.memory, workflow="w", start_alias=ALIAS, tasks=tasks))
    token = entry.begun()
    check_shape("SendTaskHeartbeat", client.send_task_heartbeat(taskToken=token))
    with pytest.raises(client.exceptions.InvalidOutput):
        client.send_task_success(taskToken=token, output="{")
    check_shape("SendTaskSuccess", client.send_task_success(taskToken=token, output='"yes"'))
    entry.platform.deliver_all()
    assert client.describe_execution(executionArn="e0")["output"] == '"yes"'
    with pytest.raises(client.exceptions.TaskTimedOut):
        client.send_task_failure(taskToken=token, error="E", cause="c")
    check_shape("SendTaskFailure", client.send_task_failure(taskToken=entry.begun(), error="E", cause="c"))
    entry.platform.deliver_all()
    described = client.describe_execution(executionArn="e1")
    assert (described["status"], described["error"], described["cause"]) == ("FAILED", "E", "c")


def test_an_activity_is_known_by_its_arn(deployment: Any) -> None:
    asked: list[Any] = []

    class Queue:
        """That of the activity."""

        def receive_message(self, **parameters: Any) -> Any:
            asked.append(parameters["QueueUrl"])
            return {}

    time = deployment.time
    tasks = Tasks(
        caller=deployment.alias,
        response_alias=ALIAS,
        activities=Activities(Queue(), {"work": "https://queue"}),
        waiter=Waiter(now_s=lambda: 100.0 * len(asked), sleep=time.sleep),
    )
    client = StepFunctionsClient(replace(deployment.client, tasks=tasks))
    for given in ("arn:aws:states:eu-west-1:1:activity:work", "work"):
        asked.clear()
        assert client.get_activity_task(activityArn=given, workerName="me") == {}
        assert asked == ["https://queue"]
    with pytest.raises(client.exceptions.ActivityDoesNotExist):
        client.get_activity_task(activityArn="arn:aws:states:eu-west-1:1:activity:play")
    for wrong in (ARN, "a:b", None):
        with pytest.raises(client.exceptions.InvalidArn, match="activityArn: expected arn:PARTITION:states:"):
            client.get_activity_task(activityArn=wrong)  # type: ignore[arg-type]


def test_each_operation_of_boto3_is_there_or_refused_with_what_to_do(client: StepFunctionsClient) -> None:
    operations = {xform_name(name) for name in MODEL.operation_names}
    there = {name for name in operations if hasattr(client, name)}
    assert operations - there == operations & UNSUPPORTED.keys()
    for name in UNSUPPORTED:
        with pytest.raises(AttributeError, match=f"^{name}: {re.escape(UNSUPPORTED[name])}$"):
            getattr(client, name)
    with pytest.raises(AttributeError, match=r"^start_job: boto3 has no such operation either$"):
        client.start_job()  # type: ignore[attr-defined]
    assert all(client.can_paginate(name) == hasattr(client, name) for name in PAGED_THERE)


def test_each_error_of_boto3_can_be_caught(client: StepFunctionsClient) -> None:
    errors = {*MODEL.shape_names} & {error.name for error in MODEL.error_shapes} | {"ClientError"}
    assert errors == {name for name in vars(Exceptions) if not name.startswith("_")}
    assert all(issubclass(getattr(client.exceptions, name), ClientError) for name in errors)


def test_arguments_are_those_of_boto3(client: StepFunctionsClient) -> None:
    for operation in MODEL.operation_names:
        method = getattr(client, xform_name(operation), None)
        if method is not None:
            shape = MODEL.operation_model(operation).input_shape
            given = {name for name in signature(method).parameters if name != "timeout_s"}
            assert given <= {*shape.members}
            assert {*shape.required_members} - {"stateMachineArn"} <= given


def test_stop_and_redrive_have_the_shapes_of_boto3(deployment: Any) -> None:
    asked: list[Any] = []

    class Alias:
        """The control alias."""

        def call(self, _address: str, payload: bytes) -> Any:
            asked.append(json.loads(payload))
            return {"stopped_ms": 1_000, "redriven_ms": 2_000, "on": "current", "reason": ""}

    control = Control(caller=Alias(), control_alias="alias", workflow="w")
    client = StepFunctionsClient(replace(deployment.client, control=control))
    stopped = client.stop_execution(executionArn=ARN, error="E", cause="c")
    check_shape("StopExecution", stopped)
    redriven = client.redrive_execution(executionArn="n")
    check_shape("RedriveExecution", redriven)
    assert (stopped["stopDate"].timestamp(), redriven["redriveDate"].timestamp()) == (1, 2)
    assert asked == [
        {"$unum": 1, "control": "stop", "execution": "n", "error": "E", "cause": "c"},
        {"$unum": 1, "control": "redrive", "execution": "n"},
    ]


def test_a_client_without_a_control_alias_says_so(client: StepFunctionsClient) -> None:
    with pytest.raises(ClientError, match="control_alias"):
        client.redrive_execution(executionArn="n")
