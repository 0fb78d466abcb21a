"""What the control function does for people, by the versions that executions began with."""

import io
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError as BotoError
from moto import mock_aws

from unum_compiler import compile_workflow
from unum_runtime.aws.caller import LambdaCaller
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.client import Client
from unum_runtime.client.control import Control
from unum_runtime.client.descriptions import ForkedFrom
from unum_runtime.errors import (
    ClientError,
    DefinitionNotStored,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
)
from unum_runtime.functions import (
    configuration,
    control_calls,
    control_function,
    control_requests,
    definitions,
    execution_versions,
    failure_function,
    function_versions,
    runtime_factory,
)
from unum_runtime.model.checkpoint import Began, Status
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Workflow
from unum_runtime.model.list_index import INDEX, PARTITION, PLACE
from unum_runtime.model.naming import WORKFLOWS_FOLDER, Execution
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.control.doors import Door
from unum_runtime.protocol.control.operator_requests import On, ValidationException, VersionGone
from unum_runtime.protocol.control.sweep import Sweep
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.history.definition_records import read_definition
from unum_runtime.protocol.history.pending import WaitsFor

ACCOUNT = "arn:aws:lambda:us-east-1:123456789012:function"
CONTROL = f"{ACCOUNT}:control"
DIRECTORIES = {"control": "nudge-Flow", "on-failure": "start-intake-Flow"}
"""What `UNUM_DIRECTORY` says in the environment of each function."""

OLD_RELEASE = "0.1.0"
"""A definition whose failure handler is of that release: what it answers is no code of this one."""

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
    denied: set[str] = field(default_factory=set)
    remaining_ms: int = 300_000

    def deploy(self, version: int, definition: str) -> None:
        """Deploy A before B, as `version` of all functions; `definition` names what is in the layer."""
        self.newest = version
        own = {**SERVICE, "timer": self.timer} if self.timer else SERVICE
        own |= {"carried": ["$start"]} if "$start" in self.starts else {}
        others = {key: alias for key, alias in self.starts.items() if key != "$start"}
        self.services[at("A", version)] = {**own, "hosts": ["A"], "routes": {"B": at("B", version), **others}}
        self.services[at("B", version)] = {**SERVICE, "hosts": ["B"]}
        self.handlers |= {at("A", version): at("on-failure", version), at("B", version): at("on-failure", version)}
        self.definitions[str(version)] = definition

    def get_function_configuration(self, **parameters: Any) -> Any:
        address = parameters["FunctionName"].replace("start-Flow", str(self.newest))
        if address not in self.services:
            raise BotoError({"Error": {"Code": "ResourceNotFoundException"}}, "GetFunctionConfiguration")
        variables = {"UNUM_WORKFLOWS": json.dumps({"Flow": self.services[address]})}
        return {"Version": address.rpartition(":")[2], "Environment": {"Variables": variables}}

    def get_alias(self, **parameters: Any) -> Any:
        function = parameters["FunctionName"].rpartition(":")[2]
        assert parameters["Name"] == DIRECTORIES[function] == os.environ["UNUM_DIRECTORY"]
        return {"Description": at("A", "start-Flow")}

    def get_function_event_invoke_config(self, **parameters: Any) -> Any:
        return {"DestinationConfig": {"OnFailure": {"Destination": self.handlers[parameters["FunctionName"]]}}}

    def invoke(self, **parameters: Any) -> Any:
        address, event = parameters["FunctionName"], json.loads(parameters["Payload"])
        if parameters.get("InvocationType") == "Event":
            self.events.append((address, event))
            return {}
        *_, function, qualifier = address.split(":")
        self.called.append(f"{function}:{qualifier}")
        if function in self.denied:
            raise BotoError({"Error": {"Code": "AccessDeniedException"}}, "Invoke")
        version = qualifier if qualifier.isdecimal() else str(self.newest)
        if self.definitions[version] == OLD_RELEASE:
            return {"Payload": io.BytesIO(json.dumps({"count": 0, "missing": [], "got": event}).encode())}
        self.use(function, version)
        handler = {"control": control_function, "on-failure": failure_function}[function]
        answer = handler.handle(event, Context(address, version, remaining_ms=self.remaining_ms))
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    def use(self, function: str, version: str) -> None:
        """Let this process be a function of the workflow's own, in `version`."""
        definitions.load_workflow.cache_clear()
        definitions.load_workflow_at.cache_clear()
        os.environ["UNUM_DIRECTORY"] = DIRECTORIES[function]
        Path(self.definitions["folder"], "Flow.json").write_text(self.definitions[self.definitions[version]])

    def sent(self) -> list[tuple[str, Any]]:
        """What was sent since it was last asked."""
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
        rt = runtime_factory.runtime_of("Flow", services["Flow"], address, Context(address, str(version)))
        step(replace(rt, call=lambda _, value: code(value)), Envelope.from_json(event))

    def failed(self, name: str = "e") -> None:
        """Let an execution fail in B."""
        self.begun(name)
        self.client.nudge(name)
        self.run("B", 1, _refuse)


def _refuse(_event: Any) -> Any:
    raise ValueError


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("UNUM_CLIENT", "botocore")  # moto stands in its way
    folder = tmp_path / WORKFLOWS_FOLDER
    folder.mkdir()
    functions = Lambda(definitions={"folder": folder, "old": definition("A", "B"), "new": definition("A", "B", "B2")})
    functions.deploy(1, "old")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": SERVICE}))
    monkeypatch.setenv("UNUM_CONTROL", CONTROL)
    monkeypatch.setenv("UNUM_DIRECTORY", "")  # set by each call, and restored
    for module in (function_versions, execution_versions, control_calls):
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
    return replace(client, invoker=LambdaInvoker(functions), control=control)


def forget() -> None:
    definitions._due_ms.clear()
    execution_versions._definitions.clear()
    for cache in CACHES:
        cache.cache_clear()


def definition(*states: str) -> str:
    pairs = zip(states, [*states[1:], None], strict=True)
    table = {
        state: {"Type": "Task", "Resource": state[0], **({"Next": after} if after else {"End": True})}
        for state, after in pairs
    }
    return compile_workflow({"StartAt": states[0], "States": table}, name="Flow", functions=None).to_json()


def test_an_execution_that_did_not_begin_begins_with_the_newest_versions(deployed: Deployed) -> None:
    deployed.started()
    deployed.functions.deploy(2, "old")
    (found,) = deployed.client.nudge("e").missing
    assert (found.state, found.index, found.waits_for) == ("A", (), WaitsFor.DELIVERY)
    assert [address for address, _ in deployed.functions.sent()] == [at("A", 2)]


def test_the_first_commit_says_which_versions_an_execution_began_with(deployed: Deployed) -> None:
    deployed.begun()
    (step,) = deployed.client.steps("e")
    assert step.checkpoint.began == Began(at("A", 1), {})


def test_a_nudge_goes_to_the_versions_that_the_execution_began_with(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "old")
    assert [each.state for each in deployed.client.why("e").missing] == ["B"]
    assert deployed.functions.sent() == []
    deployed.client.nudge("e")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"], event["step"]) == (at("B", 1), "B", 2)


def test_who_starts_executions_of_other_workflows_and_of_itself_goes_on_as_others_do(deployed: Deployed) -> None:
    deployed.functions.starts = {"$start": at("A", "start-Flow"), "$startOther": at("Other", "start-Other")}
    deployed.functions.deploy(1, "old")
    deployed.started()
    deployed.client.nudge("e")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["routes"]) == (at("A", 1), {"$start": at("A", "start-Flow")})
    deployed.functions.events = [(address, event)]
    deployed.run("A", 1, lambda found: found)
    deployed.functions.sent()
    deployed.client.nudge("e")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["routes"]) == (at("B", 1), {"$start": at("A", "start-Flow")})
    deployed.functions.events = [(address, event)]
    deployed.run("B", 1, _refuse)
    deployed.client.redrive("e")
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]


def test_a_redrive_goes_to_those_that_are_deployed_now_if_the_definition_is_the_same(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "old")
    deployed.client.redrive("e")
    deployed.run("B", 2, lambda _: "mended")
    assert (deployed.client.describe("e").status, deployed.client.describe("e").output) == (Status.SUCCEEDED, "mended")


def test_a_redrive_finds_the_way_back_to_the_function_that_executions_begin_at(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.services[at("A", 1)] |= {"carried": ["A"]}
    function_versions.configured.cache_clear()
    deployed.client.redrive("e")
    ((_, event),) = deployed.functions.sent()
    assert event["routes"] == {"A": at("A", 1)}


def test_a_nudge_after_a_redrive_goes_to_what_that_went_to(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "old")
    deployed.client.redrive("e")
    deployed.functions.sent()
    deployed.functions.deploy(3, "old")
    deployed.client.nudge("e")
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 2)]


def test_an_execution_of_another_definition_is_planned_by_that(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "new")
    deployed.functions.called.clear()
    redriven = deployed.client.redrive("e", on="original")
    assert deployed.functions.called == ["control:redrive-Flow"]
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    assert (redriven.on, redriven.reason) == (On.ORIGINAL, "it was asked for")


def test_a_redrive_goes_on_with_what_is_deployed_now_if_that_can_continue(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "new")
    redriven = deployed.client.redrive("e")
    assert (redriven.on, redriven.reason) == (On.CURRENT, "they can continue from what is committed")
    deployed.run("B", 2, lambda event: {"mended": event})
    assert deployed.client.describe("e").output == {"mended": {"mended": {"n": 1}}}, "of B, then of B2"
    with pytest.raises(ExecutionNotRedrivable, match="SUCCEEDED"):
        deployed.client.redrive("e")


def test_a_redrive_that_the_new_definition_cannot_continue_stays_on_the_old_one_and_says_why(
    deployed: Deployed,
) -> None:
    deployed.failed()
    deployed.functions.definitions["without A"] = definition("B", "B2")
    deployed.functions.deploy(2, "without A")
    with pytest.raises(ExecutionNotRedrivable, match=r"state 'A': execution 'e' has committed it.*does not exist"):
        deployed.client.redrive("e", on="current")
    assert deployed.functions.sent() == []
    redriven = deployed.client.redrive("e")
    assert redriven.on is On.ORIGINAL
    assert redriven.reason.startswith("not on the current ones: state 'A'")
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    assert deployed.client.redrive("e").reason == "an earlier redrive runs on them"


def test_a_redrive_on_the_original_versions_runs_the_code_of_before(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "old")
    assert deployed.client.redrive("e", on="original").on is On.ORIGINAL
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]


def of_old_release(deployed: Deployed) -> None:
    """Let version 1 be one of release 0.1.0, which stored no definitions."""
    forget_stored_definitions()
    forget()
    deployed.functions.deploy(2, "new")
    deployed.functions.definitions["1"] = OLD_RELEASE
    deployed.functions.called.clear()


def test_an_execution_of_release_0_1_0_is_for_the_handler_of_its_version(deployed: Deployed) -> None:
    deployed.begun()
    of_old_release(deployed)
    assert deployed.client.nudge("e").count == 0
    assert deployed.functions.called == ["control:nudge-Flow", "on-failure:1"]
    answer = LambdaCaller(deployed.functions).call(f"{CONTROL}:nudge-Flow", json.dumps(NUDGE).encode())
    assert answer["got"] == {**NUDGE, "handed_on": True}


def test_without_the_definition_of_before_a_redrive_stays_on_it(deployed: Deployed) -> None:
    deployed.failed()
    of_old_release(deployed)
    with pytest.raises(DefinitionNotStored):
        deployed.client.redrive("e", on="current")
    redrive = json.dumps({**NUDGE, "control": "redrive"}).encode()
    answer = LambdaCaller(deployed.functions).call(f"{CONTROL}:redrive-Flow", redrive)
    assert (answer["on"], answer["got"]["control"]) == ("original", "redrive")


def test_a_handler_that_this_role_may_not_invoke_is_that_of_another_workflow(deployed: Deployed) -> None:
    deployed.begun()
    of_old_release(deployed)
    deployed.functions.denied.add("on-failure")
    with pytest.raises(VersionGone, match="'e' runs on IR"):
        deployed.client.nudge("e")


def test_a_definition_that_this_layer_cannot_plan_is_refused_by_name(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "new")

    def missing(*_: Any) -> None:
        raise ModuleNotFoundError("no module", name="unum_runtime.asl.jsonata")

    monkeypatch.setattr(operator_requests, "answer", missing)
    with pytest.raises(VersionGone, match=r"needs unum_runtime\.asl\.jsonata"):
        deployed.client.nudge("e")


def test_many_are_redriven_and_each_says_how_it_went(deployed: Deployed) -> None:
    for name in ("e", "f", "g"):
        deployed.failed(name)
    deployed.functions.sent()
    deployed.client.redrive("f")
    deployed.functions.sent()
    results = {result.name: result for result in deployed.client.redrive_all("FAILED")}
    assert {name for name, result in results.items() if result.redriven} == {"e", "g"}
    assert [*deployed.client.redrive_all("FAILED")] == []
    with pytest.raises(ClientError, match="status: expected one of"):
        deployed.client.redrive_all("RUNNING")
    with pytest.raises(ClientError, match="on: expected one of"):
        deployed.client.redrive_all("FAILED", on="newest")
    with pytest.raises(ClientError, match="expected a time with a time zone"):
        deployed.client.redrive_all("FAILED", since=datetime.now())  # noqa: DTZ005 - that is the mistake


@pytest.mark.parametrize("request_", ["redrive", "fork", "nudge"])
def test_what_continues_an_execution_stores_the_definition_that_it_runs_on(deployed: Deployed, request_: str) -> None:
    deployed.failed()
    definitions._due_ms.clear()
    forget_stored_definitions()
    assert deployed.client.why("e").count == 0
    assert not is_stored(deployed, "old")
    if request_ == "fork":
        deployed.functions.deploy(2, "new")
        deployed.client.fork("e", from_node="B", new_name="f", input={})
        assert (is_stored(deployed, "old"), is_stored(deployed, "new")) == (False, True)
    else:
        getattr(deployed.client, request_)("e")
        assert (is_stored(deployed, "old"), is_stored(deployed, "new")) == (True, False)


def test_the_deployed_definition_is_that_of_the_newest_version(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "new")
    assert deployed.client.definition("e").to_json() == deployed.functions.definitions["old"]
    assert deployed.client.deployed_definition().to_json() == deployed.functions.definitions["new"]


def forget_stored_definitions() -> None:
    table = boto3.resource("dynamodb").Table("state")
    for item in table.scan()["Items"]:
        if str(item["pk"]).startswith("definition:"):
            table.delete_item(Key={name: item[name] for name in ("pk", "sk")})


def is_stored(deployed: Deployed, name: str) -> bool:
    try:
        digest = Workflow.from_json(deployed.functions.definitions[name]).digest
        read_definition(deployed.client.store, "Flow", digest)
    except DefinitionNotStored:
        return False
    return True


def test_a_fork_runs_on_what_is_deployed_now(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "new")
    started = deployed.client.fork("e", from_node="B", new_name="f", input={"n": 2})
    assert started.name == "f"
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"], event["input"]) == (at("B", 2), "B", {"n": 2})
    assert [step.state for step in deployed.client.steps("f")] == ["A", "B"]


def test_a_fork_that_ran_out_of_time_is_finished_by_deliveries_that_follow(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.remaining_ms = 30_000
    started = deployed.client.fork("e", from_node="B", new_name="f", input={"n": 2})
    assert started.name == "f"
    origin = deployed.client.describe("f").forked_from
    assert origin == ForkedFrom(execution="e", node="B", visit=1, is_finished=False)
    ((address, rest),) = deployed.functions.sent()
    assert (address, rest["control"]) == (at("control", 1), "fork")
    deployed.functions.deploy(2, "new")  # what follows stays on the version of the copies
    deployed.functions.remaining_ms = 300_000
    deployed.functions.invoke(FunctionName=address, Payload=json.dumps(rest))
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"], event["input"]) == (at("B", 1), "B", {"n": 2})


@pytest.mark.parametrize("verb", ["fork", "nudge", "sweep"])
def test_an_unfinished_fork_of_another_version_is_finished_on_that(deployed: Deployed, verb: str) -> None:
    deployed.failed()
    deployed.functions.remaining_ms = 30_000
    deployed.client.fork("e", from_node="B", new_name="f")
    deployed.functions.sent()
    deployed.functions.remaining_ms = 300_000
    deployed.functions.deploy(2, "new")
    (wait,) = deployed.client.why("f").missing
    assert (wait.state, wait.waits_for) == ("B", WaitsFor.DELIVERY)
    if verb == "fork":
        deployed.client.fork("e", from_node="B", new_name="f")
    elif verb == "nudge":
        deployed.client.nudge("f")
    else:
        swept(deployed.functions, NUDGING)
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    assert [step.checkpoint.digest for step in deployed.client.steps("f")] == [
        step.checkpoint.digest for step in deployed.client.steps("e")
    ]
    with pytest.raises(ExecutionAlreadyExists, match="'f'"):
        deployed.client.fork("e", from_node="B", new_name="f", input=1)
    with pytest.raises(ExecutionAlreadyExists, match="'f' of workflow 'Flow' is a fork of 'e' at 'B'"):
        deployed.client.start({"n": 1}, name="f")


def test_what_is_wrong_comes_back_by_the_name_that_boto3_has_for_it(deployed: Deployed) -> None:
    with pytest.raises(ExecutionDoesNotExist, match="'x'"):
        deployed.client.nudge("x")
    deployed.begun()
    with pytest.raises(ExecutionNotRedrivable, match="RUNNING"):
        deployed.client.redrive("e")


def test_a_wait_that_was_lost_comes_back_to_the_function_before_it(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = boto3.client("sqs")
    url = queues.create_queue(QueueName="timer")["QueueUrl"]
    deployed.functions.timer = url
    service = {**SERVICE, "timer": url}
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": service}))
    forget()
    states = {
        "A": {"Type": "Task", "Resource": "A", "Next": "W"},
        "W": {"Type": "Wait", "Seconds": 1, "End": True},
    }
    waiting = compile_workflow({"StartAt": "A", "States": states}, name="Flow", functions=None).to_json()
    deployed.functions.definitions["waiting"] = waiting
    deployed.functions.deploy(1, "waiting")
    deployed.started()
    deployed.client.nudge("e")
    deployed.run("A", 1, lambda event: event)
    queues.purge_queue(QueueUrl=url)
    assert [each.waits_for for each in deployed.client.nudge("e").missing] == [WaitsFor.TIME]
    (message,) = queues.receive_message(QueueUrl=url, WaitTimeSeconds=3)["Messages"]
    body = json.loads(message["Body"])
    assert body["address"] == at("A", 1)
    deployed.functions.events = [(body["address"], body["event"])]
    deployed.run("A", 1, _refuse)
    assert deployed.client.describe("e").status is Status.SUCCEEDED


def swept(functions: Lambda, event: Any) -> Any:
    time.sleep(0.01)
    return LambdaCaller(functions).call(SWEEPS, json.dumps(event).encode())


SWEEPS = f"{CONTROL}:sweep-Flow"
NUDGE = {"$unum": 1, "control": "nudge", "execution": "e"}
NUDGING = Sweep(silent_ms=5, nudges=True).to_json()


def test_a_sweep_finds_what_stands_still(deployed: Deployed, capsys: pytest.CaptureFixture[str]) -> None:
    deployed.begun()
    assert swept(deployed.functions, NUDGING) == {"looked_at": 1, "silent": 1, "is_done": True}
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    (told,) = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if line["message"] == "silent"]
    assert (told["execution"], told["state"], told["nudged"], told["ExecutionsSilent"]) == ("e", "B", True, 1)


def test_the_retention_of_an_execution_is_that_of_the_version_that_it_began_with(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.services[at("A", 1)]["retention_s"] = 99_999
    deployed.functions.deploy(2, "old")
    forget()
    here = execution_versions.deployed_runtime(Context(SWEEPS, "2"))
    assert control_requests._retention_s(here, Execution("e", 0)) == 99_999
    deployed.started("young")
    assert control_requests._retention_s(here, Execution("young", 0)) == here.retention_s
    with pytest.raises(ExecutionDoesNotExist):
        control_requests._retention_s(here, Execution("gone", 0))


def test_a_sweep_goes_on_in_another_delivery(deployed: Deployed) -> None:
    deployed.started("e")
    deployed.started("f")
    deployed.functions.remaining_ms = 30_000
    assert not swept(deployed.functions, NUDGING)["is_done"]
    (_, first), (address, rest) = deployed.functions.sent()
    assert address == SWEEPS
    assert swept(deployed.functions, rest) == {"looked_at": 1, "silent": 1, "is_done": True}
    ((_, second),) = deployed.functions.sent()
    assert {first["execution"][0], second["execution"][0]} == {"e", "f"}


def test_a_sweep_plans_by_the_definitions_that_executions_have(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "new")
    assert swept(deployed.functions, NUDGING)["silent"] == 1
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        {"$unum": 1, "workflow": "Flow", "execution": ["e", 1], "frames": [], "step": 1, "state": "B"},
        {"requestContext": {}, "requestPayload": {}},
        {"$unum": 1, "control": "delete", "execution": "e"},
        {"$unum": 1, "control": "nudge", "execution": 1},
        {"$unum": 1, "control": "nudge", "execution": "e", "silent_ms": "long"},
        {"$unum": 1, "control": "stop", "execution": "e", "error": 1},
        {"$unum": 99, "control": "stop", "execution": "e"},
        {"$unum": 99, "control": "sweep", "silent_ms": 1, "nudge": True},
        {"$unum": 1, "control": "sweep"},
        {"$unum": 1, "control": "sweep", "silent_ms": 1, "nudge": True, "after": 1},
        {"$unum": 1, "control": "fork", "execution": "e", "node": "B", "name": "not a name"},
    ],
)
@pytest.mark.parametrize("qualifier", [*(f"{door}-Flow" for door in Door), "1"])
def test_nothing_is_taken_for_anything_but_a_request(deployed: Deployed, event: Any, qualifier: str) -> None:
    answer = control_function.handle(event, Context(f"{CONTROL}:{qualifier}", "1"))
    assert answer["error"] == ValidationException.__name__
    assert deployed.functions.sent() == []


REQUESTS: dict[Door, dict[str, Any]] = {
    Door.STOP: {"control": "stop"},
    Door.REDRIVE: {"control": "redrive"},
    Door.FORK: {"control": "fork", "node": "B", "name": "f", "input": 1},
    Door.NUDGE: {"control": "nudge"},
    Door.SWEEP: {"control": "sweep", "silent_ms": 1, "nudge": True},
}


@pytest.mark.parametrize("door", Door)
@pytest.mark.parametrize("asked", REQUESTS)
def test_a_door_takes_no_other_request(deployed: Deployed, door: Door, asked: Door) -> None:
    deployed.begun()
    before = deployed.client.describe("e")
    event = {"$unum": 1, "execution": "e", **REQUESTS[asked]}
    time.sleep(0.01)
    deployed.functions.use("control", "1")
    answer = control_function.handle(event, Context(f"{CONTROL}:{door}-Flow", "1"))
    if door is asked:
        assert answer.get("error") in (None, "ExecutionNotRedrivable", "NodeNotForkable")
        return
    said = f"the alias '{door}-Flow' takes .*, got '{event['control']}': invoke '{asked}-Flow'"
    assert answer["error"] == ValidationException.__name__
    assert re.search(said, answer["message"])
    assert deployed.functions.sent() == []
    assert deployed.client.describe("e") == before
    with pytest.raises(ExecutionDoesNotExist):
        deployed.client.describe("f")


@pytest.mark.parametrize("control", ["why", "definition"])
def test_questions_have_the_door_of_nudges(deployed: Deployed, control: str) -> None:
    deployed.begun()
    event = {"$unum": 1, "execution": "e", "control": control}
    deployed.functions.use("control", "1")
    for door in Door:
        answer = control_function.handle(event, Context(f"{CONTROL}:{door}-Flow", "1"))
        assert ("error" in answer) is (door is not Door.NUDGE)


def test_another_alias_is_no_door(deployed: Deployed) -> None:
    deployed.begun()
    answer = control_function.handle(NUDGE, Context(f"{CONTROL}:live", "1"))
    assert (answer["error"], deployed.functions.sent()) == (ValidationException.__name__, [])


def test_clients_of_release_0_1_0_are_answered_through_the_alias_that_they_know(deployed: Deployed) -> None:
    deployed.begun()
    former = Control(caller=LambdaCaller(deployed.functions), control_alias=at("on-failure", "control-Flow"))
    client = replace(deployed.client, control=former)
    assert client.nudge("e").count == 1
    client.stop("e")
    assert client.describe("e").status is Status.ABORTED
    with pytest.raises(ValidationException, match="control: expected one of"):
        former._send({"$unum": 1, "control": "delete", "execution": "e"})
    assert [each for each in deployed.functions.called if each.startswith("control")] == [
        f"control:{each}-Flow" for each in ("nudge", "nudge", "stop", "nudge")
    ]
