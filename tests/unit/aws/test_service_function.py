"""The service function, against moto."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from unum_runtime.errors import StatesError
from unum_runtime.features.services import Clients, service_function
from unum_runtime.model.states import READ_ITEMS, WRITE_RESULTS, Pattern
from unum_runtime.protocol.runtime import Call, CallbackPending, JobPending

HERE: dict[str, Any] = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[boto3.Session]:
    monkeypatch.setattr(service_function, "_clients", lambda: Clients(options=HERE))
    with mock_aws():
        yield boto3.Session(**HERE)


@pytest.fixture
def queue(aws: boto3.Session) -> str:
    return aws.client("sqs").create_queue(QueueName="orders")["QueueUrl"]


def a_call(resource: str, pattern: Pattern = Pattern.RESPONSE, **fields: Any) -> Call:
    return Call("e", "e/1", "Ask", "$services", "flow/e/1", resource=resource, pattern=pattern, **fields)


def received(aws: boto3.Session, queue: str) -> list[str]:
    return [each["Body"] for each in aws.client("sqs").receive_message(QueueUrl=queue).get("Messages", [])]


def test_response(aws: boto3.Session, queue: str, clock: Any) -> None:
    parameters = {"QueueUrl": queue, "MessageBody": {"n": 1}}
    response = service_function.handle(a_call("sqs:sendMessage"), parameters, clock)
    assert isinstance(response, dict)
    assert response["MessageId"]
    assert [json.loads(body) for body in received(aws, queue)] == [{"n": 1}]


def test_callback(aws: boto3.Session, queue: str, clock: Any) -> None:
    parameters = {"QueueUrl": queue, "MessageBody": "token"}
    called = service_function.handle(a_call("sqs:sendMessage", Pattern.CALLBACK), parameters, clock)
    assert isinstance(called, CallbackPending)
    assert received(aws, queue) == ["token"]


def test_failures_have_the_names_of_step_functions(aws: boto3.Session, clock: Any) -> None:  # noqa: ARG001 - in moto
    with pytest.raises(StatesError) as caught:
        service_function.handle(a_call("dynamodb:getItem"), {"TableName": "none", "Key": {"id": {"S": "1"}}}, clock)
    assert caught.value.error == "DynamoDB.ResourceNotFoundException"


@pytest.fixture
def machine(aws: boto3.Session) -> str:
    created = aws.client("stepfunctions").create_state_machine(
        name="child",
        definition='{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}',
        roleArn="arn:aws:iam::123456789012:role/child",
    )
    return str(created["stateMachineArn"])


def test_a_job_is_begun_once_and_looked_at_until_it_is_over(aws: boto3.Session, machine: str, clock: Any) -> None:
    parameters = {"StateMachineArn": machine, "Input": {"n": 1}}
    begin = a_call("states:startExecution", Pattern.SYNC)
    first, again = (service_function.handle(begin, parameters, clock) for _ in range(2))
    assert isinstance(first, JobPending)
    assert first == again
    executions = aws.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
    assert len(executions) == 1
    looked = service_function.handle(a_call("states:startExecution", Pattern.SYNC, job=first.job), parameters, clock)
    assert isinstance(looked, JobPending)
    assert looked.job == {**first.job, "polls": 1}
    assert looked.delay_ms > first.delay_ms
    aws.client("stepfunctions").stop_execution(executionArn=executions[0]["executionArn"], error="Stopped")
    with pytest.raises(StatesError, match=r"States\.TaskFailed"):
        service_function.handle(a_call("states:startExecution", Pattern.SYNC, job=looked.job), parameters, clock)


def test_another_try_is_another_job(machine: str, aws: boto3.Session, clock: Any) -> None:
    parameters = {"StateMachineArn": machine}
    for attempt in (0, 1):
        service_function.handle(a_call("states:startExecution", Pattern.SYNC, attempt=attempt), parameters, clock)
    assert len(aws.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]) == 2


def test_a_job_that_takes_too_long_is_stopped(machine: str, aws: boto3.Session, clock: Any) -> None:
    limited = a_call("states:startExecution", Pattern.SYNC, timeout_s=2.0)
    begun = service_function.handle(limited, {"StateMachineArn": machine}, clock)
    assert isinstance(begun, JobPending)
    clock.ms += 1_500
    looked = service_function.handle(replace(limited, job=begun.job), {}, clock)
    assert isinstance(looked, JobPending)
    assert looked.delay_ms == 500
    clock.ms += 500
    with pytest.raises(StatesError, match=r"States.Timeout: state 'Ask': its job was not over after 2 s"):
        service_function.handle(replace(limited, job=looked.job), {}, clock)
    (execution,) = aws.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
    assert execution["status"] == "ABORTED"


def test_items_of_a_data_set_are_read_and_results_written(aws: boto3.Session, clock: Any) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="shelf")
    s3.put_object(Bucket="shelf", Key="items.json", Body=b"[1, 2]")
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        "Parameters": {"Bucket": "shelf", "Key": "items.json"},
        "ReaderConfig": {"InputType": "JSON"},
    }
    assert service_function.handle(a_call(READ_ITEMS), reader, clock) == [1, 2]
    writer = {
        "Resource": "arn:aws:states:::s3:putObject",
        "Parameters": {"Bucket": "shelf", "Prefix": "out"},
        "Results": [3],
        "StateMachine": "arn:aws:states:us-east-1:123456789012:stateMachine:flow",
        "Label": "m",
    }
    written = [service_function.handle(a_call(WRITE_RESULTS), writer, clock) for _ in range(2)]
    assert isinstance(written[0], dict)
    assert written[0]["ResultWriterDetails"]["Bucket"] == "shelf"
    assert written[0] == written[1]
