"""What Lambda calls with records of events that it has given up; the table is in moto."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from unum_constructs.compiler import compile_workflow
from unum_runtime import failure_handler, handler
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.client import Client, Description
from unum_runtime.errors import InconsistentHistory, InvokeError, NotOurEvent
from unum_runtime.failure_handler import MAX_REDELIVERIES, THROTTLED, GivenUp
from unum_runtime.model.checkpoint import Status

TABLE = "state"
ACCOUNT = "arn:aws:lambda:us-east-1:123456789012:function"
CACHES = [each for module in (handler, failure_handler) for each in vars(module).values() if hasattr(each, "cache_clear")]
DIED = {"errorType": "Runtime.ExitError", "errorMessage": "RequestId: 1 Error: Runtime exited with error: exit status 3"}
CHAIN = {
    "StartAt": "A",
    "States": {
        "A": {"Type": "Task", "Resource": "A", "Next": "B"},
        "B": {
            "Type": "Task",
            "Resource": "B",
            "Next": "C",
            "Retry": [{"ErrorEquals": ["Runtime.OutOfMemory"]}],
            "Catch": [{"ErrorEquals": ["Sandbox.Timedout"], "Next": "C", "ResultPath": "$.error"}],
        },
        "C": {"Type": "Task", "Resource": "C", "End": True},
    },
}

Json = Any


@dataclass
class Context:
    """Of Lambda's context, what is looked at."""

    invoked_function_arn: str = f"{ACCOUNT}:handler:3"
    aws_request_id: str = "of the handler"
    function_version: str = "3"

    def get_remaining_time_in_millis(self) -> int:
        return 30_000


@dataclass
class Functions:
    """Lambda: what functions are configured with by qualified ARN, and what they were sent."""

    environments: dict[str, dict[str, Json]] = field(default_factory=dict)
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
            "Environment": {"Variables": {"UNUM_WORKFLOWS": json.dumps({"Flow": self.environments[address]})}},
        }

    def invoke(self, **parameters: Any) -> None:
        self.events.append((parameters["FunctionName"], json.loads(parameters["Payload"])))

    def sent(self) -> list[tuple[str, Json]]:
        """What was sent since it was last asked."""
        events, self.events = self.events, []
        return events


@dataclass
class Deployed:
    """A before B before C, as function versions 7; the events that they send are kept."""

    functions: Functions
    client: Client
    timer: str

    def given_up(self, value: Any = None) -> Json:
        """The event for B."""
        failure_handler.handle(record({"n": 1} if value is None else value, qualifier="start-Flow", function="A"), Context())
        ((_, event),) = self.functions.sent()
        service = handler.services_in({"UNUM_WORKFLOWS": json.dumps({"Flow": self.functions.environments[at("A")]})})
        runtime = handler.runtime_of("Flow", service["Flow"], at("A"), Context())
        from dataclasses import replace

        from unum_runtime.model.envelope import Envelope
        from unum_runtime.protocol.step import step

        step(replace(runtime, call=lambda _call, value: value), Envelope.from_json(event))
        ((address, event),) = self.functions.sent()
        assert address == at("B")
        return event

    def describe(self) -> Description:
        return self.client.describe("request")
