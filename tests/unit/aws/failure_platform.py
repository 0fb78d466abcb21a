"""A workflow with a failure handler, on moto, whose Lambda is a table of versions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.unit.aws.control_platform import inline
from unum_client import Client, Description
from unum_compiler import compile_workflow
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.functions import configuration, definitions, runtime_factory
from unum_runtime.functions.configuration import ENTRY
from unum_runtime.functions.operations import failure_function, function_versions
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.take_over_request import TakeOver

TABLE = "state"
ACCOUNT = "arn:aws:lambda:us-east-1:123456789012:function"
CACHES = [
    each
    for module in (configuration, definitions, runtime_factory, function_versions)
    for each in vars(module).values()
    if hasattr(each, "cache_clear")
]
DIED = {
    "errorType": "Runtime.ExitError",
    "errorMessage": "RequestId: 1 Error: Runtime exited with error: exit status 3",
}
A_TO_B = {
    "StartAt": "A",
    "States": {
        "A": {
            "Type": "Task",
            "Resource": "A",
            "Next": "Held",
            "Retry": [{"ErrorEquals": ["Runtime.OutOfMemory"]}],
            "Catch": [{"ErrorEquals": ["Sandbox.Timedout"], "Next": "B", "ResultPath": "$.error"}],
        },
        "Held": {
            "Type": "Choice",
            "Choices": [{"Variable": "$.hold_s", "IsPresent": True, "Next": "Hold"}],
            "Default": "B",
        },
        "Hold": {"Type": "Wait", "SecondsPath": "$.hold_s", "Next": "B"},
        "B": {"Type": "Task", "Resource": "B", "End": True},
    },
}

Json = Any


@dataclass
class Context:
    """Of Lambda's context, what is looked at."""

    aws_request_id: str = "of the handler"
    invoked_function_arn: str = f"{ACCOUNT}:on-failure:1"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


AT_START = Context(invoked_function_arn=f"{ACCOUNT}:on-failure:start-intake-Flow")


@dataclass
class Functions:
    """Lambda: what functions are configured with, by qualified ARN, and what they were sent."""

    environments: dict[str, Json] = field(default_factory=dict)
    events: list[tuple[str, Json]] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    def get_function_configuration(self, **parameters: Any) -> Any:
        address = parameters["FunctionName"]
        self.looked_up.append(address)
        if address not in self.environments:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetFunctionConfiguration")
        version = address.rpartition(":")[2]
        return {
            "Version": version if version.isdecimal() else "7",
            "Environment": {"Variables": {"UNUM_WORKFLOWS": json.dumps(self.environments[address])}},
        }

    def invoke(self, **parameters: Any) -> None:
        self.events.append((parameters["FunctionName"], json.loads(parameters["Payload"])))

    def sent(self) -> list[tuple[str, Json]]:
        """Return events sent since the last call."""
        events, self.events = self.events, []
        return events


@dataclass
class Deployed:
    """Definition A, then B, both version 7, with their events kept."""

    functions: Functions
    client: Client
    timer: str

    def event(self) -> Json:
        """The event for A of a new execution called ``request``."""
        failure_function.handle(record({"n": 1}, DIED, qualifier="start-Flow"), AT_START)
        ((address, event),) = self.functions.sent()
        assert address == at("A")
        return event

    def fail(self, event: Json, answer: Json = None, **context: Any) -> None:
        is_start = context.get("qualifier", "7").startswith(("start-", "run-"))
        failure_function.handle(record(event, answer, **context), AT_START if is_start else Context())

    def describe(self) -> Description:
        return self.client.describe("request")

    def waiting(self) -> list[Json]:
        found = boto3.client("sqs").receive_message(QueueUrl=self.timer, WaitTimeSeconds=2).get("Messages", [])
        return [json.loads(message["Body"]) for message in found]


def at(function: str, qualifier: str = "7") -> str:
    return f"{ACCOUNT}:{function}:{qualifier}"


def record(event: Json, answer: Json = None, *, qualifier: str = "7", condition: str = "RetriesExhausted") -> Json:
    """As Lambda writes it; without an answer where the function did not run."""
    context = {
        "requestId": "request",
        "functionArn": at("A", qualifier),
        "condition": condition,
        "approximateInvokeCount": 0 if answer is None else 3,
    }
    ran = {"responseContext": {"statusCode": 200, "executedVersion": "7", "functionError": "Unhandled"}}
    return {
        "version": "1.0",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "requestContext": context,
        "requestPayload": event,
        **({} if answer is None else {**ran, "responsePayload": answer}),
    }


@pytest.fixture
def intake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("UNUM_CLIENT", "botocore")  # moto stands in its way
    workflow = compile_workflow(A_TO_B, name="Flow", functions=None)
    with mock_aws():
        timer = boto3.client("sqs").create_queue(QueueName="timer")["QueueUrl"]
        service = {"table": TABLE, "hosts": [], "routes": {}, "retention_s": 604_800}
        entry = {"start_alias": "start-Flow", "definition": inline(workflow.to_json())}
        first = {**service, "hosts": ["A"], "routes": {"B": at("B")}, "timer": timer, **entry}
        functions = Functions(
            {at("A"): {"Flow": first}, at("A", "start-Flow"): {"Flow": first}, at("A", "run-Flow"): {"Flow": first}}
        )
        monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": {**service, "definition": ENTRY}}))
        monkeypatch.setenv("UNUM_OTHERS", json.dumps({"Flow": {"Other": at("other-handler")}}))
        forget()
        monkeypatch.setattr(function_versions, "lambda_client", lambda: functions)
        monkeypatch.setattr(runtime_factory, "invoker", lambda: LambdaInvoker(functions))
        boto3.client("dynamodb").create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        )
        yield Deployed(functions, Client.connect(table=TABLE, workflow="Flow"), timer)
    forget()


def forget() -> None:
    definitions._stored.clear()
    definitions._kept.clear()
    for cache in CACHES:
        cache.cache_clear()


def service_at(function: str) -> configuration.Service:
    return function_versions.configured(at(function))[1]["Flow"]


def take_over(event: Json, **changes: Json) -> Json:
    """The request that A sends when it may not invoke B."""
    request = TakeOver(
        workflow=event["workflow"],
        digest=event["ir"],
        name=Envelope.from_json(event).name,
        state="A",
        address=at("A"),
    )
    return replace(request, **changes).to_json()
