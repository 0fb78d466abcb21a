"""Tasks that wait for somebody: who may invoke whom, and what an activity brings along."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import aws_iam as iam

from tests.synth.deployment import Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import Machine, a_map, chain, machine, task
from unum_cli.commands.stack import all_deployed
from unum_constructs import ConstructError
from unum_constructs.workflow import UnumWorkflow

INVOKE = ["lambda:InvokeFunction"]
SEND = ["sqs:SendMessage"]
WORK = "arn:aws:states:us-east-1:123456789012:activity:work"


def waiting(key: str, then: str | None = None, **fields: Any) -> Machine:
    parameters = {"FunctionName": key, "Payload": {"token.$": "$$.Task.Token"}}
    return {**task("arn:aws:states:::lambda:invoke.waitForTaskToken", then), "Parameters": parameters, **fields}


def invoked(deployment: Deployment, key: str) -> set[str]:
    """The functions that `key` may invoke, beside the handler of failures."""
    statements = deployment.statements(f"Flow/Permissions/{key}")
    every = (arn for actions, arns in statements if actions == INVOKE for arn in arns)
    found = {arn.removesuffix(".Arn:*") for arn in every if arn.endswith(":*")}
    return found - {deployment.logical_id("Flow/OnFailure/Handler")}


@pytest.fixture(scope="module")
def asking() -> Deployment:
    return Deployment.of(machine(A=task("A", "B"), B=waiting("B", "C"), C=task("C")), *"ABC")


@pytest.fixture(scope="module")
def working() -> Deployment:
    definition = machine(A=task("A", "Work"), Work=task(WORK, "More"), More=task(WORK))
    return Deployment.of(definition, "A")


def test_who_starts_lets_those_go_on_that_wait(asking: Deployment) -> None:
    a, b, c = (asking.logical_id(key) for key in "ABC")
    assert a not in invoked(asking, "A")
    assert invoked(asking, "A") == {b}
    assert invoked(asking, "B") == {b, c}
    assert invoked(asking, "C") == set()


def test_who_starts_reaches_all_that_wait() -> None:
    definition = machine(A=task("A", "B"), B=task("B", "M"), M=a_map(machine(C=waiting("C"))))
    deployment = Deployment.of(definition, *"ABC")
    assert invoked(deployment, "A") == {deployment.logical_id(key) for key in "BC"}
    assert invoked(deployment, "B") == {deployment.logical_id("C")}


def test_a_workflow_that_begins_with_no_task() -> None:
    definition = machine(P={"Type": "Pass", "Next": "A"}, A=task("A", "B"), B=waiting("B"))
    deployment = Deployment.of(definition, *"AB")
    assert invoked(deployment, "$entry") == {deployment.logical_id(key) for key in "AB"}


def test_who_waits_reads_what_was_handed_in(asking: Deployment) -> None:
    found = [actions for actions, _ in asking.statements("Flow/Permissions/B") if actions[0].startswith("dynamodb")]
    definitions = ["dynamodb:Query"]
    assert found == [definitions, ["dynamodb:PutItem"], ["dynamodb:BatchGetItem", "dynamodb:GetItem"]]


def test_recursion_is_allowed_where_answers_pass(asking: Deployment) -> None:
    loops = [asking.properties(key).get("RecursiveLoop") for key in "ABC"]
    assert loops == ["Allow", "Allow", None]


def test_no_timer_without_a_limit(asking: Deployment) -> None:
    assert asking.all("Lambda::EventSourceMapping") == {}
    assert len(asking.all("SQS::Queue")) == 1


@pytest.mark.parametrize("limit", [{"TimeoutSeconds": 60}, {"HeartbeatSecondsPath": "$.s"}])
def test_a_limit_needs_a_timer(limit: Mapping[str, Any]) -> None:
    deployment = Deployment.of(machine(A=task("A", "B"), B=waiting("B", **limit)), *"AB")
    assert "timer" in deployment.services("B")["Flow"]
    assert "timer" not in deployment.services("A")["Flow"]


def test_an_activity_is_a_queue(working: Deployment) -> None:
    url = {"work": working.logical_id("Flow/Activities/work")}
    assert working.services("Flow/Services")["Flow"]["activities"] == url
    assert "activities" not in working.services("A")["Flow"]
    assert len(working.all("SQS::Queue")) == 2
    queue = working.properties("Flow/Activities/work")
    assert queue["SqsManagedSseEnabled"] is True
    assert queue["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_its_tasks_are_sent_there_and_nothing_else(working: Deployment) -> None:
    sends = [arns for actions, arns in working.statements("Flow/Permissions/$services") if actions == SEND]
    assert sends == [[f"{working.logical_id('Flow/Activities/work')}.Arn"]]
    actions = {action for actions, _ in working.statements("Flow/Permissions/$services") for action in actions}
    assert {action.split(":")[0] for action in actions} == {"dynamodb", "lambda", "sqs"}


def test_the_stack_says_where_activities_are(working: Deployment, asking: Deployment) -> None:
    queues = {"work": working.logical_id("Flow/Activities/work")}
    outputs = {name: flat(output["Value"]) for name, output in working.template["Outputs"].items()}
    assert json.loads(outputs["FlowWorkflow"])["Activities"] == queues
    (found,) = all_deployed(outputs)
    assert found.activities == queues
    assert "Activities" not in json.loads(flat(asking.template["Outputs"]["FlowWorkflow"]["Value"]))
    every = Deployment.of(machine(A=task(WORK)), outputs="all")
    assert json.loads(flat(every.template["Outputs"]["FlowActivities"]["Value"])).keys() == {"work"}


def flow_and_role() -> tuple[Deployment, UnumWorkflow, iam.Role]:
    deployment = Deployment.new()
    flow = deployment.flow(machine(A=task("A", "Work"), Work=task(WORK)), {"A": function(deployment.stack, "A")})
    role = iam.Role(deployment.stack, "Who", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    return deployment, flow, role


def test_grant_task_response() -> None:
    deployment, flow, role = flow_and_role()
    assert flow.grant_task_response(role).success
    assert deployment.statements("Who/DefaultPolicy") == [(INVOKE, [deployment.logical_id("Flow/Respond")])]


def test_grant_activity() -> None:
    deployment, flow, role = flow_and_role()
    assert flow.grant_activity(role, "work").success
    queue = f"{deployment.logical_id('Flow/Activities/work')}.Arn"
    assert deployment.statements("Who/DefaultPolicy") == [
        (["sqs:DeleteMessage", "sqs:ReceiveMessage"], [queue]),
        (INVOKE, [deployment.logical_id("Flow/Respond")]),
    ]


def test_a_url_for_answers_and_nothing_else() -> None:
    deployment, flow, role = flow_and_role()
    flow.add_task_response_url().grant_invoke_url(role)
    alias = deployment.logical_id("Flow/Respond")
    url = deployment.only("Lambda::Url")
    assert (url["AuthType"], url["Qualifier"], "Cors" in url) == ("AWS_IAM", "respond-Flow", False)
    assert flat(url["TargetFunctionArn"]) == f"{deployment.logical_id('A')}.Arn"
    assert (
        deployment.properties("Flow/Respond")["FunctionVersion"]
        == deployment.properties("Flow/Start")["FunctionVersion"]
    )
    assert deployment.logical_id("Flow/Start") in deployment.resource("Flow/Respond")["DependsOn"]
    assert deployment.statements("Who/DefaultPolicy") == [(["lambda:InvokeFunctionUrl"], [alias]), (INVOKE, [alias])]
    granted = deployment.properties("Who/DefaultPolicy")["PolicyDocument"]["Statement"]
    assert granted[1]["Condition"] == {"Bool": {"lambda:InvokedViaFunctionUrl": True}}
    assert "FlowTaskResponseUrl" in deployment.template["Outputs"]
    assert complaints(deployment.template) == []


def test_a_url_changes_no_function() -> None:
    deployment, flow, _ = flow_and_role()
    plain, _, _ = flow_and_role()
    flow.add_task_response_url()
    assert deployment.version("A") == plain.version("A")
    assert plain.all("Lambda::Url") == {}


def test_no_url_where_nothing_is_answered() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    with pytest.raises(ConstructError, match="expected a Task that waits for a response, found none"):
        flow.add_task_response_url()


def test_no_such_activity() -> None:
    _, flow, role = flow_and_role()
    with pytest.raises(ConstructError, match=r"activity 'play': expected one of \['work'\]"):
        flow.grant_activity(role, "play")


def test_nothing_without_need() -> None:
    deployment = Deployment.of(chain("A", "B"), *"AB")
    assert invoked(deployment, "A") == {deployment.logical_id("B")}
    assert "RecursiveLoop" not in deployment.properties("A")


def test_cfn_lint(working: Deployment) -> None:
    assert complaints(working.template) == []
    assert working.warnings() == []
