"""Existing functions become nodes, or stop the synthesis with the reason."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsii
import pytest
from aws_cdk import Aws, Duration, IStableStringProducer, Lazy, NestedStack, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_signer as signer
from aws_cdk import aws_sqs as sqs

from tests.synth.deployment import CODE, Deployment, function
from tests.synth.machines import chain, choice, machine, task
from unum_constructs import ConstructError, Delivery


def existing(stack: Stack, **options: Any) -> lambda_.Function:
    defaults = {"code": lambda_.Code.from_inline(CODE), "handler": "index.handle"}
    defaults["runtime"] = lambda_.Runtime.PYTHON_3_13
    return lambda_.Function(stack, "Existing", **{**defaults, **options})


def test_existing_function() -> None:
    deployment = Deployment.new()
    deployment.flow(chain("E"), {"E": existing(deployment.stack, environment={"MINE": "yes"})})
    properties = deployment.properties("Existing")
    assert properties["Handler"] == "unum_runtime.handler.handle"
    variables = properties["Environment"]["Variables"]
    assert (variables["UNUM_HANDLER"], variables["MINE"]) == ("index.handle", "yes")
    assert deployment.services("Existing")["Flow"]["hosts"] == ["E"]
    assert deployment.resource("Existing/CurrentVersion")["DeletionPolicy"] == "Retain"


def test_subclass_with_layers_of_its_own(tmp_path: Path) -> None:
    class Special(lambda_.Function):
        pass

    deployment = Deployment.new()
    special = Special(
        deployment.stack,
        "Special",
        code=lambda_.Code.from_inline(CODE),
        handler="folder/module.handle",
        runtime=lambda_.Runtime.PYTHON_3_11,
        layers=layers(deployment.stack, 4, tmp_path),
    )
    deployment.flow(chain("S"), {"S": special})
    assert len(deployment.properties("Special")["Layers"]) == 5


def layers(stack: Stack, count: int, folder: Path) -> list[lambda_.LayerVersion]:
    code = lambda_.Code.from_asset(str(folder))
    return [lambda_.LayerVersion(stack, f"Layer{index}", code=code) for index in range(count)]


def an_arn(_stack: Stack, _: Path) -> Any:
    return "arn:aws:lambda:us-east-1:123456789012:function:f"


def nested(stack: Stack, _: Path) -> Any:
    return existing(NestedStack(NestedStack(stack, "Nested"), "Deeper"))


def our_handler(stack: Stack, _: Path) -> Any:
    return existing(stack, handler="unum_runtime.handler.handle")


def no_module(stack: Stack, _: Path) -> Any:
    return existing(stack, handler="handle")


def own_destination(stack: Stack, _: Path) -> Any:
    made = existing(stack)
    made.current_version.configure_async_invoke(on_failure=destinations.SqsDestination(sqs.Queue(stack, "Mine")))
    return made


def own_options(stack: Stack, _: Path) -> Any:
    return existing(stack, current_version_options=lambda_.VersionOptions(retry_attempts=1))


def a_workflow(stack: Stack, _: Path) -> Any:
    return Deployment(stack).flow(chain("A"), {"A": function(stack, "A")}, "Child")


def its_start_alias(stack: Stack, folder: Path) -> Any:
    return a_workflow(stack, folder).start_alias


def durable(stack: Stack, _: Path) -> Any:
    config = lambda_.DurableConfig(execution_timeout=Duration.hours(1), retention_period=Duration.days(30))
    return existing(stack, durable_config=config)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (an_arn, "got 'arn:aws:lambda:us-east-1:123456789012:function:f'; pass the construct"),
        (nested, "a stack nested directly in it, got one of 'Stack/Nested/Deeper'"),
        (our_handler, "its handler is unum_runtime.handler.handle"),
        (no_module, "expected a handler \"module.function\", got 'handle'"),
        (own_destination, "its current version has an asynchronous configuration"),
        (
            own_options,
            "`on_success` and `retry_attempts` from `current_version_options`",
        ),
        (durable, "is a durable function"),
        (a_workflow, "got the workflow Stack/Child; a Task starts it by `arn:aws:states:::states:startExecution`"),
        (its_start_alias, "got an alias of the workflow Stack/Child; a Task starts it by"),
    ],
)
def test_what_cannot_be_a_node(make: Callable[[Stack, Path], Any], reason: str, tmp_path: Path) -> None:
    deployment = Deployment.new()
    with pytest.raises(ConstructError) as caught:
        deployment.flow(chain("E"), {"E": make(deployment.stack, tmp_path)})
    assert str(caught.value).startswith("Stack/Flow: functions['E']: ")
    assert reason in str(caught.value)


def test_configured_version_of_unum_function_is_refused() -> None:
    deployment = Deployment.new()
    made = function(deployment.stack, "A")
    made.current_version.configure_async_invoke(retry_attempts=0)
    with pytest.raises(ConstructError, match="Stack/A: its current version has an asynchronous configuration"):
        deployment.flow(chain("A"), {"A": made})


def test_no_place_for_another_layer(tmp_path: Path) -> None:
    deployment = Deployment.new()
    full = existing(deployment.stack, layers=layers(deployment.stack, 5, tmp_path))
    with pytest.raises(ConstructError, match="Stack/Existing: Lambda allows 5 layers; all workflows together need one"):
        deployment.flow(chain("E"), {"E": full})


def test_loop_through_a_function_that_forbids_it() -> None:
    deployment = Deployment.new()
    forbidding = function(deployment.stack, "A", recursive_loop=lambda_.RecursiveLoop.TERMINATE)
    loop = machine(A=task("A", "Again"), Again=choice("End", more="A"), End={"Type": "Succeed"})
    with pytest.raises(ConstructError, match=r"Stack/A: expected recursive_loop=ALLOW, got TERMINATE"):
        deployment.flow(loop, {"A": forbidding})


def test_unused_function() -> None:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in "AB"}
    with pytest.raises(
        ConstructError, match=r"Stack/Flow: functions\['B'\]: expected a Task that names it, found none"
    ):
        deployment.flow(chain("A"), functions)


def test_two_workflows_of_one_name_in_one_function() -> None:
    deployment = Deployment.new()
    shared = function(deployment.stack, "A")
    deployment.flow(chain("A"), {"A": shared}, "One", workflow_name="Same")
    with pytest.raises(ConstructError, match=r"Stack/Two: .* another workflow named 'Same'; change `workflow_name`"):
        deployment.flow(chain("A"), {"A": shared}, "Two", workflow_name="Same")


def test_two_workflows_that_disagree_about_failures() -> None:
    deployment = Deployment.new()
    shared = function(deployment.stack, "A")
    deployment.flow(chain("A"), {"A": shared}, "One")
    with pytest.raises(ConstructError, match=r"Stack/A: expected max_event_age and retry_attempts as in its first"):
        deployment.flow(chain("A"), {"A": shared}, "Two", delivery=Delivery(retry_attempts=0))


VARIABLES = ("UNUM_HANDLER", "UNUM_WORKFLOWS")


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("is_looked_at", [False, True])
def test_a_variable_of_ours_that_is_set_later(variable: str, *, is_looked_at: bool) -> None:
    deployment = Deployment.new()
    made = existing(deployment.stack)
    for flow in ("One", "Two"):
        deployment.flow(chain("E"), {"E": made}, flow)
    if is_looked_at:  # after which jsii shows an empty environment
        _ = made.node.default_child.environment
    made.add_environment(variable, "mine")
    with pytest.raises(RuntimeError, match=f"Stack/Existing: {variable} was set to 'mine' after the function"):
        _ = deployment.template


@pytest.mark.parametrize(("variable", "value"), [("UNUM_CLIENT", "boto3"), ("UNUM_MAINTAIN_LEASES", "false")])
def test_a_variable_that_the_runtime_would_take_for_another(variable: str, value: str) -> None:
    deployment = Deployment.new()
    deployment.flow(chain("E"), {"E": existing(deployment.stack, environment={variable: value})})
    with pytest.raises(RuntimeError, match=f"Stack/Existing: {variable}: expected one of .*, got '{value}'"):
        _ = deployment.template


def test_variables_that_are_the_users() -> None:
    deployment = Deployment.new()
    late = Lazy.string(_Late(known := []))
    mine = {"UNUM_CLIENT": Aws.REGION, "UNUM_MAINTAIN_LEASES": "0", "LATE": f"{late}, {late}"}
    deployment.flow(chain("E"), {"E": existing(deployment.stack, environment=mine)})
    known.append("known only now")
    variables = deployment.properties("Existing")["Environment"]["Variables"]
    assert {name: variables[name] for name in mine} == {
        "UNUM_CLIENT": {"Ref": "AWS::Region"},
        "UNUM_MAINTAIN_LEASES": "0",
        "LATE": "known only now, known only now",
    }


@jsii.implements(IStableStringProducer)
class _Late:
    def __init__(self, known: list[str]) -> None:
        self._known = known

    def produce(self) -> str:
        return self._known[0]


def largest(**options: Any) -> str:
    """A text with which an environment without the definition has exactly 4,096 bytes, as Lambda measures it."""
    deployment = Deployment.new()
    deployment.flow(chain("E"), {"E": existing(deployment.stack, environment={"MINE": "x" * 3000})}, **options)
    variables = deployment.properties("Existing")["Environment"]["Variables"]
    known = {**variables, "UNUM_WORKFLOWS": "".join(filter(is_text, variables["UNUM_WORKFLOWS"]["Fn::Join"][1]))}
    return "x" * (3000 + 4096 - len(json.dumps(known, separators=(",", ":"))))


def is_text(part: Any) -> bool:
    return isinstance(part, str)


@pytest.mark.parametrize("more", [0, 1])
def test_an_environment_that_is_larger_than_lambda_allows(more: int) -> None:
    deployment = Deployment.new()
    made = existing(deployment.stack, environment={"MINE": largest() + "x" * more})
    deployment.flow(chain("E"), {"E": made})
    if more:
        with pytest.raises(RuntimeError, match=r"Stack/Existing: its environment has at least 4097 bytes, \d+ of whic"):
            _ = deployment.template
    else:
        assert deployment.template


def test_quotation_marks_count_twice() -> None:
    deployment = Deployment.new()
    made = existing(deployment.stack, environment={"MINE": '"' * 2000, "TOKENS": Aws.REGION * 500})
    deployment.flow(chain("E"), {"E": made})
    with pytest.raises(RuntimeError, match="its environment has at least 42"):
        _ = deployment.template


def test_signed_code_gets_an_unsigned_layer_with_a_warning() -> None:
    deployment = Deployment.new()
    profile = signer.SigningProfile(deployment.stack, "Profile", platform=signer.Platform.AWS_LAMBDA_SHA384_ECDSA)
    signing = lambda_.CodeSigningConfig(deployment.stack, "Signing", signing_profiles=[profile])
    signed = function(deployment.stack, "A", code_signing_config=signing)
    deployment.flow(chain("A", "B"), {"A": signed, "B": function(deployment.stack, "B")})
    ((path, text),) = deployment.warnings()
    assert path == "Stack/A"
    assert "the runtime's is not signed" in text
