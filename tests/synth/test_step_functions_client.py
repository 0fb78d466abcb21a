"""Client with boto3's method names for functions that start and read executions."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_

from tests.synth.deployment import Deployment, flat, function
from tests.synth.machines import chain
from tests.synth.test_task_responses import LAYER as RESPONSES
from tests.synth.test_task_responses import deployed, layers, responder
from unum_constructs import UnumWorkflow
from unum_constructs.grants import IUnumWorkflow

LAYER = "UnumStepFunctions"


def addresses(deployment: Deployment, path: str = "Who") -> list[str]:
    found = deployment.properties(path).get("Environment", {}).get("Variables", {}).get("UNUM_ADDRESSES")
    return str(flat(found)).split(",") if found else []


@pytest.mark.parametrize(
    ("grant", "expected"),
    [
        (IUnumWorkflow.grant_start, ["Flow/Start"]),
        (IUnumWorkflow.grant_start_execution, ["Flow/Start"]),
        (IUnumWorkflow.grant_start_sync, ["Flow/Start", "Flow/Describe"]),
        (IUnumWorkflow.grant_describe, ["Flow/Describe"]),
        (IUnumWorkflow.grant_stop, ["Flow/ControlFunction/Stop"]),
        (IUnumWorkflow.grant_redrive, ["Flow/ControlFunction/Redrive"]),
        (IUnumWorkflow.grant_operate, ["Flow/ControlFunction/Operate"]),
        (IUnumWorkflow.grant_read, ["Flow/Describe", "Flow=", "Flow/Table"]),
        (IUnumWorkflow.grant_fork, []),
        (IUnumWorkflow.grant_task_response, []),
    ],
)
def test_function_gets_the_client_and_the_addresses_of_its_grant(grant: Any, expected: list[str]) -> None:
    deployment, (flow,) = deployed("Flow")
    assert grant(flow, responder(deployment.stack)).success
    wanted = [each if each.endswith("=") else deployment.logical_id(each) for each in expected]
    assert "".join(addresses(deployment)) == "".join(wanted)
    made = [each for each in deployment.all("Lambda::LayerVersion") if each.startswith(LAYER)]
    assert [each for each in layers(deployment, "Who") if each.startswith(LAYER)] == made
    assert len(made) == bool(expected)


def test_grants_of_several_workflows_share_one_layer() -> None:
    deployment, (one, two) = deployed("One", "Two")
    who = responder(deployment.stack)
    for flow in (one, two, one):
        flow.grant_start(who)
        flow.grant_task_response(who)
    assert layers(deployment, "Who") == [deployment.logical_id(each) for each in (LAYER, RESPONSES)]
    assert addresses(deployment) == [deployment.logical_id(f"{each}/Start") for each in ("One", "Two")]


def test_who_uses_no_grant_pays_nothing() -> None:
    deployment, (flow,) = deployed("Flow")
    responder(deployment.stack)
    flow.start_alias.grant_invoke(responder(deployment.stack, "Invoking"))
    assert layers(deployment, "Who") == layers(deployment, "Invoking") == []
    assert [each for each in deployment.template["Resources"] if each.startswith(LAYER)] == []


def test_functions_of_the_workflow_keep_their_layers() -> None:
    deployment, (flow,) = deployed("Flow")
    own = deployment.stack.node.find_child("FlowA")
    assert isinstance(own, lambda_.Function)
    before = layers(deployed("Flow")[0], "FlowA")
    flow.grant_read(own)
    assert layers(deployment, "FlowA") == before
    assert addresses(deployment, "FlowA") == []


def test_importing_stack_names_the_imported_workflow() -> None:
    app = App()
    deployment = Deployment(Stack(app, "Two"))
    arn = "arn:aws:lambda:eu-west-3:123456789012:function:entry:start-orders"
    flow = UnumWorkflow.from_workflow_attributes(
        deployment.stack, "Imported", workflow_name="orders", table="orders-table", start_alias_arn=arn
    )
    who = responder(deployment.stack)
    flow.grant_start(who)
    flow.grant_read(who)
    assert addresses(deployment) == [arn, "orders=orders-table"]


def test_layer_is_small_and_loads_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = App(outdir=str(tmp_path))
    deployment = Deployment(Stack(app, "Stack"))
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    flow.grant_start(responder(deployment.stack))
    app.synth()
    (file,) = tmp_path.glob("asset.*/python/unum_stepfunctions/__init__.py")
    files = [each for each in file.parents[2].rglob("*") if each.is_file()]
    assert {each.parent for each in files} == {file.parent}
    assert sum(each.stat().st_size for each in files) < 25_000
    for name in [each for each in sys.modules if each.startswith(("unum_stepfunctions", "unum_task_responses"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "unum_task_responses", None)  # in another layer, of functions that answer
    monkeypatch.syspath_prepend(str(file.parents[1]))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = runpy.run_path(str(file))["boto3"].client("stepfunctions")
    assert type(client).__name__ == "StepFunctions"
    assert Path(sys.modules[type(client).__module__].__file__ or "").parent == file.parent
