"""A workflow with a control function, on moto, whose Lambda is a table of versions."""

import binascii
import io
import json
import os
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError as BotoError
from moto import mock_aws

from tests.unit.client.run_alias import RUN, Answering
from unum_client import Client
from unum_client.control import Control
from unum_client.starting import Starts
from unum_compiler import compile_workflow
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.functions import configuration, definitions, runtime_factory
from unum_runtime.functions.configuration import ENTRY, INLINE, STORE
from unum_runtime.functions.operations import (
    control_entry,
    execution_versions,
    failure_function,
    function_versions,
    permanent_address,
    runtime_in_place,
)
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Workflow
from unum_runtime.model.list_index import INDEX, PARTITION, PLACE
from unum_runtime.protocol.control.sweep import Sweep
from unum_runtime.protocol.delivery.deliver import step

ACCOUNT = "arn:aws:lambda:us-east-1:123456789012:function"
CONTROL = f"{ACCOUNT}:control"
DIRECTORIES = {"control": "nudge", "on-failure": "start-intake"}
"""What `UNUM_DIRECTORY` says in the environment of each function."""

CACHES = [
    each
    for module in (configuration, definitions, runtime_factory, function_versions)
    for each in vars(module).values()
    if hasattr(each, "cache_clear")
]
SERVICE = {"table": "state", "hosts": [], "routes": {}, "retention_s": 604_800}


def at(function: str, version: int | str) -> str:
    return f"{ACCOUNT}:{function}:{version}"


@dataclass
class Context:
    """Of Lambda's context, what is looked at."""

    invoked_function_arn: str
    function_version: str
    aws_request_id: str = "request"
    remaining_ms: int = 300_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


@dataclass
class Lambda:
    """Lambda: how versions are configured, which version the start alias leads to, and what was sent.

    A function that is called at once is the control function or the failure handler, in the version that is called.
    """

    services: dict[str, Any] = field(default_factory=dict)
    newest: int = 1
    handlers: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, Any] = field(default_factory=dict)
    timer: str | None = None
    starts: dict[str, Any] = field(default_factory=dict)
    events: list[tuple[str, Any]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    start_alias: str = ""
    gone: set[str] = field(default_factory=set)
    remaining_ms: int = 300_000

    def deploy(self, version: int, definition: str) -> None:
        """Deploy A before B, as `version` of all functions; `definition` names what A brings."""
        self.newest = version
        own = {**SERVICE, "timer": self.timer} if self.timer else SERVICE
        own |= {"carried": ["$start"]} if "$start" in self.starts else {}
        others = {key: alias for key, alias in self.starts.items() if key != "$start"}
        entry = {"definition": inline(self.definitions[definition]), "start_alias": "start-Flow"}
        routes = {"B": at("B", version), **others}
        self.services[at("A", version)] = {**own, "hosts": ["A"], "routes": routes, **entry}
        self.services[at("B", version)] = {**SERVICE, "hosts": ["B"], "definition": STORE}
        self.handlers |= {at("A", version): at("on-failure", version), at("B", version): at("on-failure", version)}
        self.definitions[str(version)] = definition

    def get_function_configuration(self, **parameters: Any) -> Any:
        function, _, qualifier = parameters["FunctionName"].rpartition(":")
        address = f"{function}:{self.newest if qualifier in ('start-Flow', 'run-Flow') else qualifier}"
        if address not in self.services:
            raise BotoError({"Error": {"Code": "ResourceNotFoundException"}}, "GetFunctionConfiguration")
        variables = {"UNUM_WORKFLOWS": json.dumps({"Flow": self.services[address]})}
        return {"Version": address.rpartition(":")[2], "Environment": {"Variables": variables}}

    def get_alias(self, **parameters: Any) -> Any:
        function = parameters["FunctionName"].rpartition(":")[2]
        assert parameters["Name"] == f"{DIRECTORIES[function]}-Flow"
        assert os.environ["UNUM_DIRECTORY"] == DIRECTORIES[function]
        return {"Description": self.start_alias or at("A", "start-Flow")}

    def get_function_event_invoke_config(self, **parameters: Any) -> Any:
        return {"DestinationConfig": {"OnFailure": {"Destination": self.handlers[parameters["FunctionName"]]}}}

    def invoke(self, **parameters: Any) -> Any:
        address, event = parameters["FunctionName"], json.loads(parameters["Payload"])
        if address in self.gone:
            raise BotoError({"Error": {"Code": "ResourceNotFoundException"}}, "Invoke")
        if address in self.answers and "InvocationType" not in parameters:
            self.called.append(address)
            return {"Payload": io.BytesIO(json.dumps(self.answers[address]).encode())}
        if parameters.get("InvocationType") == "Event":
            self.events.append((address, event))
            return {}
        *_, function, qualifier = address.split(":")
        self.called.append(f"{function}:{qualifier}")
        version = qualifier if qualifier.isdecimal() else str(self.newest)
        self.use(function)
        handler = {"control": control_entry, "on-failure": failure_function}[function]
        answer = handler.handle(event, Context(address, version, remaining_ms=self.remaining_ms))
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def use(self, function: str) -> None:
        """Let this process be a function of the workflow's own."""
        os.environ["UNUM_DIRECTORY"] = DIRECTORIES[function]

    def sent(self) -> list[tuple[str, Any]]:
        """Return events sent since the last call."""
        events, self.events = self.events, []
        return events


@dataclass
class Deployed:
    """A before B in version 1, and a client."""

    functions: Lambda
    client: Client

    def started(self, name: str = "e") -> None:
        """Let an execution begin; its event for A is lost."""
        self.client.start({"n": 1}, name=name)
        self.functions.sent()

    def begun(self, name: str = "e", version: int = 1) -> None:
        """Let an execution come to B; its event for B is lost."""
        self.started(name)
        self.client.nudge(name)
        self.run("A", version, lambda event: event)
        self.functions.sent()

    def run(self, function: str, version: int, code: Any) -> None:
        """Deliver the event that was sent to a function."""
        ((address, event),) = self.functions.sent()
        assert address == at(function, version)
        services = configuration.services_in({"UNUM_WORKFLOWS": json.dumps({"Flow": self.functions.services[address]})})
        context, digest = Context(address, str(version)), event["ir"]
        rt = runtime_in_place.runtime_of("Flow", services["Flow"], address, context, digest)
        step(replace(rt, call=lambda _, value: code(value)), Envelope.from_json(event))

    def failed(self, name: str = "e") -> None:
        """Let an execution fail in B."""
        self.begun(name)
        self.client.nudge(name)
        self.run("B", 1, _refuse)


def _refuse(_event: Any) -> Any:
    raise ValueError


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("UNUM_CLIENT", "botocore")  # moto stands in its way
    functions = Lambda(definitions={"old": definition("A", "B"), "new": definition("A", "B", "B2")})
    functions.deploy(1, "old")
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": {**SERVICE, "definition": ENTRY}}))
    monkeypatch.setenv("UNUM_CONTROL", CONTROL)
    monkeypatch.setenv("UNUM_DIRECTORY", "")  # set by each call, and restored
    for module in (function_versions, failure_function):
        monkeypatch.setattr(module, "lambda_client", lambda: functions)
    monkeypatch.setattr(runtime_factory, "invoker", lambda: LambdaInvoker(functions))
    forget()
    with mock_aws():
        boto3.client("dynamodb").create_table(
            TableName="state",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", PARTITION, PLACE)
            ],
            KeySchema=keys("pk", "sk"),
            GlobalSecondaryIndexes=[
                {"IndexName": INDEX, "KeySchema": keys(PARTITION, PLACE), "Projection": {"ProjectionType": "ALL"}}
            ],
        )
        yield Deployed(functions, client_of(functions))
    forget()


def keys(*names: str) -> list[Any]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=True)]


def client_of(functions: Lambda) -> Client:
    client = Client.connect(table="state", workflow="Flow", start_alias=at("A", "start-Flow"))
    control = Control(caller=LambdaCaller(functions), control_alias=CONTROL, workflow="Flow")
    invoker, workflow = LambdaInvoker(functions), Workflow.from_json(definition("A", "B"))
    starts = Starts(caller=Answering(workflow, client.store, invoker), invoker=invoker, run_alias=RUN)
    return replace(client, starts=starts, control=control)


def forget() -> None:
    definitions._due_ms.clear()
    definitions._stored.clear()
    definitions._kept.clear()
    execution_versions._recent.clear()
    permanent_address._known.clear()
    for cache in CACHES:
        cache.cache_clear()


def inline(text: str) -> str:
    """Return a definition as the environment of the function in which executions start has it."""
    return INLINE + binascii.b2a_base64(zlib.compress(text.encode()), newline=False).decode()


def forget_stored_definitions() -> None:
    table = boto3.resource("dynamodb").Table("state")
    for item in table.scan()["Items"]:
        if str(item["pk"]).startswith("definition:"):
            table.delete_item(Key={name: item[name] for name in ("pk", "sk")})


def definition(*states: str) -> str:
    pairs = zip(states, [*states[1:], None], strict=True)
    table = {
        state: {"Type": "Task", "Resource": state[0], **({"Next": after} if after else {"End": True})}
        for state, after in pairs
    }
    return compile_workflow({"StartAt": states[0], "States": table}, name="Flow", functions=None).to_json()


def swept(functions: Lambda, event: Any) -> Any:
    time.sleep(0.01)
    return LambdaCaller(functions).call(SWEEPS, json.dumps(event).encode())


SWEEPS = f"{CONTROL}:sweep-Flow"
NUDGE = {"$unum": 1, "control": "nudge", "execution": "e"}
NUDGING = Sweep(silent_ms=5, nudges=True).to_json()
