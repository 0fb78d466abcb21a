"""Start address that stays when the definition changes, in templates."""

from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam

from tests.synth.deployment import Deployment, flat, function
from tests.synth.machines import Machine, chain
from tests.synth.test_control_function import ALWAYS, names_of
from tests.synth.test_step_functions_client import addresses
from tests.synth.test_task_responses import responder
from unum_constructs import UnumWorkflow
from unum_constructs.errors import ConstructError

CONTROL = "Flow/ControlFunction"
WAIT: Machine = {
    "StartAt": "W",
    "States": {"W": {"Type": "Wait", "Seconds": 1, "Next": "A"}, "A": {"Type": "Task", "Resource": "A", "End": True}},
}


def flow_of(definition: Machine, *keys: str, **options: Any) -> tuple[Deployment, UnumWorkflow]:
    deployment = Deployment.new()
    functions = {key: function(deployment.stack, key) for key in keys}
    return deployment, deployment.flow(definition, functions, **options)


def test_workflow_without_the_address_pays_nothing() -> None:
    deployment, _ = flow_of(chain("A"), "A")
    assert [each for each in deployment.template["Resources"] if "ControlFunctionStart" in each] == []


def test_address_is_two_aliases_of_the_control_function() -> None:
    without, with_it = flow_of(chain("A"), "A"), flow_of(chain("A"), "A")
    assert with_it[1].permanent_start_alias is with_it[1].permanent_start_alias
    deployment = with_it[0]
    more = deployment.template["Resources"].keys() - without[0].template["Resources"].keys()
    assert {deployment.template["Resources"][each]["Type"] for each in more} == {
        "AWS::Lambda::Alias",
        "AWS::Lambda::EventInvokeConfig",
    }
    assert len(more) == 4
    for kind in ("Start", "Run"):
        alias = deployment.properties(f"{CONTROL}/{kind}")
        assert alias["Name"] == f"{kind.lower()}-Flow"
        assert flat(alias["FunctionVersion"]) == f"{deployment.version(f'{CONTROL}/Function')}.Version"
    for kind in ("Start", "Run"):
        configuration = deployment.properties(f"{CONTROL}/{kind}/EventInvokeConfig")
        destination = configuration["DestinationConfig"]["OnFailure"]["Destination"]
        assert flat(destination) == deployment.logical_id("Flow/StartIntake")


@pytest.mark.parametrize("changed", [(WAIT, "A"), (chain("B", "A"), "A", "B")])
def test_address_stays_when_the_definition_begins_otherwise(changed: Any) -> None:
    """Its logical id and its function's are the same; those of the start alias lead to another function."""
    found = []
    for definition, *keys in ((chain("A"), "A"), changed):
        deployment, flow = flow_of(definition, *keys)
        arn = flat(deployment.stack.resolve(flow.permanent_start_alias.function_arn))
        permanent = deployment.properties(f"{CONTROL}/Start")
        found.append(
            (
                arn,
                flat(permanent["FunctionName"]),
                permanent["Name"],
                flat(deployment.properties("Flow/Start")["FunctionName"]),
            )
        )
    assert found[0][:3] == found[1][:3]
    assert found[0][3] != found[1][3]


def test_grant_allows_the_permanent_aliases_alone_and_brings_the_client() -> None:
    deployment, flow = flow_of(chain("A"), "A")
    who = responder(deployment.stack)
    flow.grant_permanent_start(who)
    allowed = {deployment.logical_id(f"{CONTROL}/{kind}") for kind in ("Run", "Start")}
    assert [{*arns} for _, arns in deployment.statements("Who/ServiceRole/DefaultPolicy")] == [allowed]
    assert addresses(deployment) == [deployment.logical_id(f"{CONTROL}/Start")]


def test_functions_of_the_workflow_get_no_grant() -> None:
    deployment, flow = flow_of(chain("A"), "A")
    with pytest.raises(ConstructError, match="neither the workflow nor a function of it"):
        flow.grant_permanent_start(deployment.stack.node.find_child("A"))  # type: ignore[arg-type]


def test_importers_of_the_address_do_not_import_the_start_alias() -> None:
    deployment, _ = flow_of(chain("A"), "A", exported=True)
    assert {"start", "run", "respond"} <= names_of(deployment)
    assert (
        len([each for each in deployment.all("Lambda::Alias").values() if each["Properties"]["Name"] == "start-Flow"])
        == 2
    )
    importing = Deployment(Stack(App(), "Importing"))
    flow = UnumWorkflow.from_workflow_name(importing.stack, "Flow", "Flow")
    flow.grant_permanent_start(iam.User(importing.stack, "Ann"))
    imported = str(importing.template["Resources"])
    assert "ControlFunction" in imported
    assert "StartAlias" not in imported, "CloudFormation would keep the exporting stack from changing it"


def test_workflow_imported_without_its_control_function_has_none() -> None:
    stack = Stack(App(), "Importing")
    arn = "arn:aws:lambda:us-east-1:123456789012:function:entry:start-orders"
    flow = UnumWorkflow.from_workflow_attributes(
        stack, "Flow", workflow_name="orders", table="orders", start_alias_arn=arn
    )
    with pytest.raises(ConstructError, match="control_function_arn"):
        flow.permanent_start_alias  # noqa: B018 - it is read


def test_aliases_of_a_default_workflow_are_those_of_before() -> None:
    assert names_of(flow_of(chain("A"), "A")[0]) == {*ALWAYS}
