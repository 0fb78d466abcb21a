"""Functions of the workflow's own have no definition: which requests look it up, and where they find it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.unit.aws.control_platform import (
    CONTROL,
    NUDGING,
    SERVICE,
    Context,
    Deployed,
    Lambda,
    at,
    definition,
    forget,
    forget_stored_definitions,
    swept,
)
from unum_runtime.functions.operations import control_requests, execution_versions, failure_function
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Collection, Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER, describe_alias


class Counting(Lambda):
    """Lambda, which counts what it is asked for."""

    asked: int = 0

    def get_function_configuration(self, **parameters: Any) -> Any:
        self.asked += 1
        return super().get_function_configuration(**parameters)

    def get_alias(self, **parameters: Any) -> Any:
        self.asked += 1
        return super().get_alias(**parameters)


@pytest.fixture
def counted(deployed: Deployed) -> Callable[[Callable[[], Any]], int]:
    """Return how many questions to Lambda a request in a new sandbox takes."""
    deployed.functions.__class__ = Counting

    def count(request: Callable[[], Any]) -> int:
        forget()
        functions: Any = deployed.functions
        functions.asked = 0
        request()
        return int(functions.asked)

    return count


def describe(deployed: Deployed, name: str) -> Any:
    request = {"$unum": 1, "describe": name}
    return LambdaCaller(deployed.functions).call(f"{CONTROL}:{describe_alias('Flow')}", json.dumps(request).encode())


def pause(deployed: Deployed) -> Any:
    event = json.dumps({"$unum": 1, "control": "pause", "reason": "why not"}).encode()
    return LambdaCaller(deployed.functions).call(f"{CONTROL}:pause-Flow", event)


def test_requests_that_need_no_definition_ask_lambda_for_nothing(
    deployed: Deployed, counted: Callable[[Callable[[], Any]], int]
) -> None:
    deployed.begun()
    client = deployed.client
    assert counted(lambda: describe(deployed, "e")) == 0
    assert counted(lambda: pause(deployed)) == 0
    assert counted(lambda: swept(deployed.functions, {**NUDGING, "silent_ms": 3_600_000})) == 0
    assert counted(lambda: client.stop("e")) == 0
    assert counted(client.deployed_definition) == 2


def test_the_deployed_definition_changes_without_the_control_function(deployed: Deployed) -> None:
    first = deployed.client.deployed_definition()
    deployed.functions.deploy(2, "new")
    assert deployed.client.deployed_definition().digest != first.digest


def test_a_sandbox_that_keeps_the_deployed_definition_would_be_noticed(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed_runtime = execution_versions.deployed_runtime
    monkeypatch.setattr(
        control_requests, "deployed_runtime", lambda context, **_: deployed_runtime(context, recently=True)
    )
    with pytest.raises(AssertionError):
        test_the_deployed_definition_changes_without_the_control_function(deployed)


def test_failed_start_continues_by_the_definition_in_its_function(deployed: Deployed) -> None:
    """Nothing is stored before the first start."""
    context = {"requestId": "r", "functionArn": at("A", "start-Flow"), "condition": "EventAgeExceeded"}
    deployed.functions.use("on-failure")
    failure_function.handle(
        {"requestContext": context, "requestPayload": {"n": 1}}, Context(at("on-failure", "start-intake-Flow"), "1")
    )
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"]) == (at("A", 1), "A")
    assert deployed.client.definition("r").digest == event["ir"]


def test_execution_without_stored_definition_continues_by_its_entrys(deployed: Deployed) -> None:
    """A workflow with one function starts executions while its table refuses the definition."""
    deployed.begun()
    forget_stored_definitions()
    forget()
    deployed.functions.deploy(2, "new")
    assert deployed.client.nudge("e").missing
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]


def test_a_large_definition_is_in_a_layer(deployed: Deployed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / WORKFLOWS_FOLDER
    folder.mkdir()
    (folder / "Flow.json").write_text(definition("A", "B"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": SERVICE}))
    del deployed.functions.services[at("A", 1)]["definition"]
    forget()
    assert deployed.client.deployed_definition().to_json() == definition("A", "B")
    deployed.failed()
    assert deployed.client.redrive("e").on == "current"


def stopped(deployed: Deployed) -> int:
    """Return how many outcomes a stop has collected under eager collection."""
    eager = Workflow.from_json(definition("A", "B"))
    deployed.functions.definitions["eager"] = _eager(eager).to_json()
    deployed.functions.deploy(1, "eager")
    deployed.begun()
    forget()
    deployed.client.stop("e")
    assert deployed.client.describe("e").status is Status.ABORTED
    items = boto3.resource("dynamodb").Table("state").scan()["Items"]
    return sum("collected" in each for each in items)


def _eager(workflow: Workflow) -> Workflow:
    return Workflow(name=workflow.name, start_at=workflow.start_at, states=workflow.states, collection=Collection.EAGER)


def test_a_stop_collects_by_the_definition_of_the_execution(deployed: Deployed) -> None:
    assert stopped(deployed) == 1


def test_a_stop_without_the_definition_would_be_noticed(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_requests, "_on_own_definition", lambda here, *_: here)
    assert stopped(deployed) == 0
