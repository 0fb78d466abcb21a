"""Package for functions outside of a workflow that answer Tasks with boto3's method names."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_

from tests.synth.deployment import CODE, Deployment, flat, function
from tests.synth.machines import chain
from unum_constructs import UnumWorkflow

LAYER = "UnumTaskResponses"


def responder(stack: Stack, construct_id: str = "Who", **options: Any) -> lambda_.Function:
    given = {"runtime": lambda_.Runtime.PYTHON_3_12, "handler": "index.handle", **options}
    return lambda_.Function(stack, construct_id, code=lambda_.Code.from_inline(CODE), **given)


def deployed(*flows: str) -> tuple[Deployment, list[UnumWorkflow]]:
    deployment = Deployment.new()
    stack = deployment.stack
    return deployment, [
        deployment.flow(chain(f"{each}A"), {f"{each}A": function(stack, f"{each}A")}, each) for each in flows
    ]


def layers(deployment: Deployment, path: str) -> list[Any]:
    return [each["Ref"] for each in deployment.properties(path).get("Layers", [])]


def variable(deployment: Deployment, path: str) -> Any:
    found = deployment.properties(path).get("Environment", {}).get("Variables", {}).get("UNUM_TASK_RESPONSES")
    return found and flat(found)


def test_a_python_function_gets_the_client_and_the_address() -> None:
    deployment, (flow,) = deployed("Flow")
    assert flow.grant_task_response(responder(deployment.stack)).success
    assert layers(deployment, "Who") == [deployment.logical_id(LAYER)]
    assert variable(deployment, "Who") == deployment.logical_id("Flow/Respond")
    assert layers(deployment, "FlowA") != layers(deployment, "Who"), "the workflow's own layer is another"


def test_several_workflows_share_the_layer_and_each_is_named_once() -> None:
    deployment, (one, two) = deployed("One", "Two")
    who, other = responder(deployment.stack), responder(deployment.stack, "Other")
    for flow in (one, two, one):
        flow.grant_task_response(who)
    two.grant_task_response(other)
    assert layers(deployment, "Who") == layers(deployment, "Other") == [deployment.logical_id(LAYER)]
    assert variable(deployment, "Who") == ",".join(deployment.logical_id(f"{each}/Respond") for each in ("One", "Two"))
    assert variable(deployment, "Other") == deployment.logical_id("Two/Respond")


def test_the_layer_has_the_client_alone_and_it_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = App(outdir=str(tmp_path))
    deployment = Deployment(Stack(app, "Stack"))
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    flow.grant_task_response(responder(deployment.stack))
    app.synth()
    (file,) = tmp_path.glob("asset.*/python/unum_task_responses/__init__.py")
    assert [each for each in file.parents[2].rglob("*") if each.is_file()] == [file]
    assert file.stat().st_size < 6_000
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = runpy.run_path(str(file))["boto3"].client("stepfunctions")
    assert type(client).__name__ == "TaskResponses"


def test_functions_in_other_languages_get_the_permission_alone() -> None:
    deployment, (flow,) = deployed("Flow")
    node = responder(deployment.stack, runtime=lambda_.Runtime.NODEJS_20_X)
    assert flow.grant_task_response(node).success
    assert (layers(deployment, "Who"), variable(deployment, "Who")) == ([], None)
    assert deployment.all("Lambda::LayerVersion").keys() == {deployment.logical_id("UnumRuntime-python3.13")}
    assert deployment.statements("Who/ServiceRole/DefaultPolicy") == [
        (["lambda:InvokeFunction"], [deployment.logical_id("Flow/Respond")])
    ]


def test_function_without_room_for_a_layer_keeps_its_permission() -> None:
    deployment, (flow,) = deployed("Flow")
    arns = [f"arn:aws:lambda:us-east-1:123456789012:layer:l{number}:1" for number in range(5)]
    others = [
        lambda_.LayerVersion.from_layer_version_arn(deployment.stack, f"L{number}", arn)
        for number, arn in enumerate(arns)
    ]
    assert flow.grant_task_response(responder(deployment.stack, layers=others)).success
    assert deployment.properties("Who")["Layers"] == arns
    assert variable(deployment, "Who") == deployment.logical_id("Flow/Respond")
    (said,) = [each for each in deployment.notices() if each.path == "Stack/Who"]
    assert re.search("5 layers.*pip install unum-runtime", said.text)


def test_a_function_of_another_workflow_may_answer() -> None:
    deployment, (one, two) = deployed("One", "Two")
    own = deployment.stack.node.find_child("TwoA")
    assert isinstance(own, lambda_.Function)
    assert one.grant_task_response(own).success
    assert deployment.logical_id(LAYER) in layers(deployment, "TwoA")
    assert variable(deployment, "TwoA") == deployment.logical_id("One/Respond")
    assert two.workflow_name == "Two"


def test_a_function_of_another_stack() -> None:
    app = App()
    one, two = Deployment(Stack(app, "One")), Deployment(Stack(app, "Two"))
    flow = one.flow(chain("A"), {"A": function(one.stack, "A")})
    flow.grant_task_response(responder(two.stack))
    assert layers(two, "Who") == [two.logical_id(LAYER)]
    assert "Fn::ImportValue" in str(two.properties("Who")["Environment"])
