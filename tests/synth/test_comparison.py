"""Messages at synth about earlier definitions and the deployed one."""

import json
import sys
from dataclasses import dataclass, replace
from typing import Any

import boto3
import pytest
from aws_cdk import App, Environment, Stack
from botocore.exceptions import ClientError as BotoError

from tests.synth.deployment import Deployment, function
from tests.synth.machines import chain
from tests.unit.client.test_stored_definitions import client_of, deployed
from tests.unit.protocol import platform
from unum_constructs import ConstructError, Definition, Keep, Limits, Upgrades
from unum_constructs.assembly import comparison
from unum_constructs.assembly.comparison import Deployed

BOTH = Definition.from_asl(chain("A", "B"))
GONE = "function B: is removed: executions that reach it cannot continue"


def compared(
    context: Any = None, *, keeps: bool = False, earlier: Any = (), on_removed: Any = None, **options: Any
) -> Deployment:
    """A workflow of A alone."""
    deployment = Deployment.new(**({} if context is None else {comparison.CONTEXT: context}))
    keep = Keep(functions={"B": function(deployment.stack, "B")}) if keeps else None
    functions = {"A": function(deployment.stack, "A")}
    upgrades = Upgrades(keep=keep, earlier=earlier, on_removed=on_removed)
    deployment.flow(chain("A"), functions, upgrades=upgrades, workflow_name="w", **options)
    return deployment


def reply(deployment: Deployment, kind: str) -> list[str]:
    return [each.text for each in deployment._messages(f"aws:cdk:{kind}") if "cold starts" not in each.text]


def test_what_the_deployment_would_refuse_is_an_error() -> None:
    deployment = compared(earlier=[BOTH])
    (error,) = reply(deployment, "error")
    assert GONE in error
    assert "keep=Keep(...)" in error
    assert any("loses the permission to invoke function B" in text for text in reply(deployment, "warning"))


def test_with_what_is_kept_nothing_breaks() -> None:
    deployment = compared(earlier=[BOTH], keeps=True)
    assert reply(deployment, "error") == reply(deployment, "warning") == []
    assert any(text.startswith("taken over function A") for text in reply(deployment, "info"))


def test_what_the_deployment_lets_pass_is_a_warning() -> None:
    deployment = compared(earlier=[BOTH], on_removed="fail-executions")
    assert reply(deployment, "error") == []
    assert any(GONE in text for text in reply(deployment, "warning"))


def test_an_equal_definition_is_worth_no_word() -> None:
    same = compared(earlier=[Definition.from_asl(chain("A"))], limits=Limits(hop_budget=7), guard="lease")
    assert [*reply(same, "error"), *reply(same, "warning"), *reply(same, "info")] == []


def test_the_template_is_the_same() -> None:
    assert compared(earlier=[BOTH]).template == compared().template


def test_only_definitions_are_compared() -> None:
    with pytest.raises(ConstructError, match=r"upgrades.earlier\[0\]: expected a Definition, got 'v1'"):
        compared(earlier=["v1"])


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the deployed definition: A before B."""
    old = deployed(platform.chain("A", "B"))
    client = replace(client_of(old), index=old.memory)
    monkeypatch.setattr(comparison, "read_deployed", lambda *_: Deployed(client, client.deployed_definition()))
    return old


@pytest.mark.parametrize("context", [True, "true"])
def test_what_running_executions_need_is_an_error(found: Any, context: Any) -> None:
    found.start("first")
    (error,) = reply(compared(context), "error")
    assert GONE in error
    assert "running executions need it (first)" in error


def test_what_no_execution_needs_is_a_warning(found: Any) -> None:
    found.run("first")
    deployment = compared(context=True)
    assert reply(deployment, "error") == []
    assert any(GONE in text for text in reply(deployment, "warning"))


@pytest.mark.usefixtures("found")
@pytest.mark.parametrize("context", [None, False, "false"])
def test_nothing_is_read_unless_somebody_asks(context: Any) -> None:
    assert reply(compared(context), "warning") == []


@dataclass
class CloudFormation:
    """CloudFormation with one stack, or none."""

    stack: str = ""

    def client(self, service: str, **_: Any) -> "CloudFormation":
        assert service == "cloudformation"
        return self

    def describe_stacks(self, **parameters: Any) -> Any:
        name = parameters["StackName"]
        if name != self.stack:
            message = f"Stack with id {name} does not exist"
            raise BotoError({"Error": {"Code": "ValidationError", "Message": message}}, "DescribeStacks")
        return {"Stacks": [{"StackId": f"arn:aws:cloudformation:us-east-1:222222222222:stack/{name}/id"}]}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> CloudFormation:
    found = CloudFormation()
    monkeypatch.setattr(boto3, "Session", lambda **_: found)
    return found


def not_compared() -> str:
    (text,) = [each for each in reply(compared(context=True), "info") if "Not compared" in each]
    return text


@pytest.mark.usefixtures("aws")
def test_a_stack_that_does_not_exist_yet_is_no_failure() -> None:
    assert "does not exist" in not_compared()


def test_a_stack_without_the_workflow_is_no_failure(aws: CloudFormation) -> None:
    aws.stack = "Stack"
    assert "stack Stack has no such workflow yet" in not_compared()


def test_addresses_are_read_from_one_output_or_from_many() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    addresses = {"ControlFunction": "arn", "Retention": "60", "Table": "t", "Workflow": "Flow"}
    many = {f"Flow{kind}": address for kind, address in addresses.items()}
    one = {"FlowWorkflow": json.dumps({**addresses, "StartAlias": "a"})}
    assert comparison._addresses(flow, one) == comparison._addresses(flow, many) == addresses


def test_another_account_is_no_failure(aws: CloudFormation) -> None:
    aws.stack = "Other"
    other = Stack(
        App(context={comparison.CONTEXT: True}), "Other", env=Environment(account="1" * 12, region="us-east-1")
    )
    deployment = Deployment(other)
    deployment.flow(chain("A"), {"A": function(other, "A")})
    assert any("the stack is for account 111111111111" in text for text in reply(deployment, "info"))


@pytest.mark.usefixtures("aws")
def test_no_boto3_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert "pip install" in not_compared()


def test_no_network_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    assert "127.0.0.1:1" in not_compared()
