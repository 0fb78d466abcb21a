"""Answers in boto3's shape, sent through the alias of a real workflow; boto3's own client has the errors."""

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

import unum_task_responses
from tests.unit.client.alias_caller import ALIAS, AliasCaller
from unum_constructs.layer.task_responses import TASK_RESPONSES
from unum_runtime.errors import InvokeError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_task_responses import TaskResponses, boto3

OTHER = ALIAS.replace("respond-w", "respond-other")


class Functions:
    """Lambda as boto3 has it: the alias of the workflow, and one of another workflow, which knows no token."""

    def __init__(self, caller: AliasCaller) -> None:
        self.caller = caller
        self.asked: list[str] = []

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        self.asked.append(FunctionName)
        if FunctionName == OTHER:
            return reply({"error": "InvalidToken", "message": "not here"})
        try:
            return reply(self.caller.call(FunctionName, Payload))
        except InvokeError as error:
            if "connection" in str(error):
                raise EndpointConnectionError(endpoint_url="https://lambda") from error
            return reply({"errorMessage": str(error)}) | {"FunctionError": "Unhandled"}


def reply(value: Any) -> dict[str, Any]:
    return {"Payload": io.BytesIO(json.dumps(value).encode())}


class StateMachines:
    """Stand-in for Step Functions itself that keeps its requests."""

    def __init__(self, real: Any) -> None:
        self.exceptions, self.meta, self.asked = real.exceptions, real.meta, list[Any]()

    def send_task_success(self, **given: Any) -> dict[str, Any]:
        self.asked.append(("success", given))
        return {"of": "Step Functions"}

    def send_task_failure(self, **given: Any) -> dict[str, Any]:
        self.asked.append(("failure", given))
        return {"of": "Step Functions"}

    def send_task_heartbeat(self, **given: Any) -> dict[str, Any]:
        self.asked.append(("heartbeat", given))
        return {"of": "Step Functions"}

    def start_execution(self, **given: Any) -> dict[str, Any]:
        return given


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unum_task_responses.FIRST_PAUSE_S", 0)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.fixture
def caller() -> AliasCaller:
    return AliasCaller.of_a_task_that_waits()


@pytest.fixture
def machines() -> StateMachines:
    return StateMachines(boto3.session.Session().client("stepfunctions", region_name="us-east-1"))


@pytest.fixture
def functions(caller: AliasCaller) -> Functions:
    return Functions(caller)


@pytest.fixture
def client(machines: StateMachines, functions: Functions) -> TaskResponses:
    return TaskResponses(machines, functions, (OTHER, ALIAS))


def test_a_result_goes_to_the_workflow_whose_token_it_is(
    caller: AliasCaller, client: TaskResponses, functions: Functions, machines: StateMachines
) -> None:
    client.send_task_success(taskToken=caller.begun(), output='{"n": [1, null]}')
    assert caller.outcome == Success({"n": [1, None]})
    assert (functions.asked, machines.asked) == ([OTHER, ALIAS], [])


@pytest.mark.parametrize("failure", [{"error": "Bad", "cause": "because"}, {"error": "Bad"}, {}])
def test_a_failure(caller: AliasCaller, client: TaskResponses, failure: dict[str, str]) -> None:
    client.send_task_failure(taskToken=caller.begun(), **failure)
    assert caller.outcome == Failure(failure.get("error"), failure.get("cause"))


def test_a_heartbeat_ends_nothing(caller: AliasCaller, client: TaskResponses) -> None:
    client.send_task_heartbeat(taskToken=caller.begun())
    assert caller.outcome is None


def test_errors_are_those_of_boto3(caller: AliasCaller, client: TaskResponses) -> None:
    token = caller.begun()
    with pytest.raises(client.exceptions.InvalidOutput):
        client.send_task_success(taskToken=token, output="no JSON")
    with pytest.raises(client.exceptions.InvalidToken):
        client.send_task_success(taskToken="0" * 128, output="1")
    client.send_task_success(taskToken=token, output="1")
    with pytest.raises(ClientError) as refused:
        client.send_task_failure(taskToken=token)
    assert isinstance(refused.value, client.exceptions.TaskTimedOut)
    assert refused.value.response["Error"]["Code"] == "TaskTimedOut"
    assert refused.value.operation_name == "SendTaskFailure"


@pytest.mark.parametrize("failures", [["before"], ["after"], ["before", "after"]])
def test_an_answer_that_is_lost_is_sent_again_and_counts_once(
    caller: AliasCaller, client: TaskResponses, failures: list[str]
) -> None:
    token = caller.begun()
    caller.failures = [*failures]
    client.send_task_success(taskToken=token, output="1")
    assert caller.outcome == Success(1)
    assert len({event["request"] for event in caller.requests}) == 1
    assert len(caller.requests) == len(failures) + 1


def test_whoever_hears_nothing_is_told_to_call_again(caller: AliasCaller, client: TaskResponses) -> None:
    token = caller.begun()
    caller.failures = ["before"] * 3
    with pytest.raises(ClientError, match="call again") as unknown:
        client.send_task_success(taskToken=token, output="1")
    assert unknown.value.response["Error"]["Code"] == "ServiceUnavailable"
    client.send_task_success(taskToken=token, output="1")
    assert caller.outcome == Success(1)


def test_tokens_of_state_machines_and_all_else_go_to_step_functions(
    client: TaskResponses, machines: StateMachines, functions: Functions
) -> None:
    token = "AQCEAAAAKgAAAAMAAAAAAAAAAc" + "x" * 500
    assert client.send_task_success(taskToken=token, output="1") == {"of": "Step Functions"}
    client.send_task_failure(taskToken=token, error="Bad")
    client.send_task_heartbeat(taskToken=token)
    assert machines.asked == [
        ("success", {"taskToken": token, "output": "1"}),
        ("failure", {"taskToken": token, "error": "Bad"}),
        ("heartbeat", {"taskToken": token}),
    ]
    assert client.start_execution(name="n") == {"name": "n"}
    assert client.meta.service_model.service_name == "stepfunctions"
    assert functions.asked == []


def test_without_an_address_it_says_who_gives_one(machines: StateMachines, caller: AliasCaller) -> None:
    with pytest.raises(RuntimeError, match=r"UNUM_TASK_RESPONSES.*grant_task_response\(function\)"):
        TaskResponses(machines, Functions(caller), ()).send_task_heartbeat(taskToken=caller.begun())


def test_the_drop_in_is_boto3_but_for_step_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNUM_TASK_RESPONSES", f"{OTHER},{ALIAS}".replace("us-east-1", "eu-west-3"))
    client = boto3.client("stepfunctions", aws_access_key_id="id", aws_secret_access_key="key")
    assert isinstance(client, TaskResponses)
    functions = client._functions
    assert functions.meta.region_name == "eu-west-3"
    assert functions.meta.config.read_timeout == unum_task_responses.LONGEST_CALL_S
    assert functions._get_credentials().access_key == "id"
    assert client._aliases == tuple(each.replace("us-east-1", "eu-west-3") for each in (OTHER, ALIAS))
    assert boto3.client("sqs").meta.service_model.service_name == "sqs"
    assert boto3.Session.__name__ == "Session"


def test_words_that_the_package_repeats_because_it_stands_alone() -> None:
    assert (unum_task_responses._MARK, unum_task_responses._WIRE_VERSION) == (MARK, WIRE_VERSION)
    assert TASK_RESPONSES.variable == unum_task_responses.ALIASES
