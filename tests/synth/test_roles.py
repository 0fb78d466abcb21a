"""Roles that the app must not change: they get no policy, and what they need is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_iam as iam

from tests.synth.deployment import Deployment, as_list, function
from tests.synth.machines import chain, machine, task
from unum_constructs import UnumWorkflow

ROLE = "arn:aws:iam::111111111111:role/service/own"
WAITING = machine(A=task("A", "Wait"), Wait={"Type": "Wait", "Seconds": 86_400, "Next": "B"}, B=task("B"))


def flow(stack: Stack, definition: Any = None, **roles: iam.IRole) -> UnumWorkflow:
    functions = {key: function(stack, key, **({"role": roles[key]} if key in roles else {})) for key in ("A", "B")}
    return Deployment(stack).flow(definition or chain("A", "B"), functions)


def attached(deployment: Deployment, role: Any) -> list[Any]:
    """The policies in the template that `role` gets."""
    policies = [*deployment.all("IAM::Policy").values(), *deployment.all("IAM::ManagedPolicy").values()]
    return [each for each in policies if role in each["Properties"].get("Roles", ())]


def statements(policies: list[Any]) -> list[Any]:
    return [each for policy in policies for each in policy["Properties"]["PolicyDocument"]["Statement"]]


def warned(deployment: Deployment) -> list[Any]:
    """The statements in warnings about roles."""
    texts = [each.text for each in deployment.warnings() if "unum:rolePolicy" in each.text]
    return [one for text in texts for one in json.loads(text[text.index("[{") : text.rindex("}]") + 2])]


def test_immutable_role_gets_no_policy_and_its_statements_are_told() -> None:
    free, fixed = Deployment.new(), Deployment.new()
    for deployment, mutable in ((free, True), (fixed, False)):
        role = iam.Role.from_role_arn(deployment.stack, "Own", ROLE, mutable=mutable)
        flow(deployment.stack, A=role)
    expected = statements(attached(free, "own"))
    assert expected
    assert attached(fixed, "own") == []
    assert warned(fixed) == expected
    assert warned(free) == []
    assert {*fixed.template["Resources"]} < {*free.template["Resources"]}


def test_message_names_the_role_and_can_be_acknowledged() -> None:
    deployment = Deployment.new()
    role = iam.Role.from_role_arn(deployment.stack, "Own", ROLE, mutable=False)
    flow(deployment.stack, A=role)
    (reply,) = [each for each in deployment.warnings() if "unum:rolePolicy" in each.text]
    assert reply.path == "Stack/Flow/Permissions/A"
    assert "role Stack/Own gets no policy of this app, because it is imported with mutable=False" in reply.text
    assert "[ack: unum:rolePolicy[Stack/Own]]" in reply.text


def test_role_without_policy_updates_gets_no_policy() -> None:
    deployment = Deployment.new()
    made = iam.Role(deployment.stack, "Made", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    flow(deployment.stack, A=made.without_policy_updates())
    assert attached(deployment, {"Ref": deployment.logical_id("Made")}) == []
    assert warned(deployment)


def test_role_of_another_account_gets_no_policy() -> None:
    app = App()
    deployment = Deployment(Stack(app, "Stack", env={"account": "222222222222", "region": "eu-west-1"}))
    flow(deployment.stack, A=iam.Role.from_role_arn(deployment.stack, "Own", ROLE))
    assert attached(deployment, "own") == []
    assert warned(deployment)


def test_roles_of_many_functions_share_no_policy_with_an_immutable_one() -> None:
    deployment = Deployment.new()
    role = iam.Role.from_role_arn(deployment.stack, "Own", ROLE, mutable=False)
    keys = "ABCDEF"
    functions = {key: function(deployment.stack, key, **({"role": role} if key == "A" else {})) for key in keys}
    deployment.flow(chain(*keys), functions)
    assert attached(deployment, "own") == []
    assert any("dynamodb:PutItem" in as_list(each["Action"]) for each in warned(deployment))


def customized(stack: Stack, **options: Any) -> None:
    iam.Role.customize_roles(stack, **options)


def roles_of(definition: Any) -> dict[str, str]:
    """A name for each role that an app with `definition` makes, by its path."""
    deployment = Deployment.new()
    flow(deployment.stack, definition)
    assert deployment.template
    found = [each for each in deployment.stack.node.find_all() if isinstance(each, iam.Role)]
    return {each.node.path: f"precreated-{number}" for number, each in enumerate(found)}


def report(app: App) -> dict[str, Any]:
    folder = Path(app.synth().directory)
    roles = json.loads((folder / "iam-policy-report.json").read_text())["roles"]
    return {each["roleConstructPath"]: each for each in roles}


@pytest.mark.parametrize("definition", [chain("A", "B"), WAITING], ids=["plain", "with timer and schedules"])
def test_report_has_roles_of_another_team_with_all_statements(definition: Any) -> None:
    ordinary = Deployment.new()
    flow(ordinary.stack, definition)
    names = roles_of(definition)
    app = App()
    deployment = Deployment(Stack(app, "Stack"))
    customized(deployment.stack, use_precreated_roles=names)
    flow(deployment.stack, definition)
    reply = report(app)
    assert deployment.all("IAM::Role") == deployment.all("IAM::Policy") == deployment.all("IAM::ManagedPolicy") == {}
    assert names.items() <= {path: each["roleName"] for path, each in reply.items()}.items()
    for path, role in ((path, reply[path]) for path in names):
        given = {"Ref": ordinary.logical_id(path.removeprefix("Stack/"))}
        expected = statements(attached(ordinary, given))
        inline = ordinary.resource(path.removeprefix("Stack/"))["Properties"].get("Policies", [])
        expected += [each for one in inline for each in one["PolicyDocument"]["Statement"]]
        assert actions(role["identityPolicyStatements"]) == actions(expected), path


def actions(given: list[Any]) -> list[Any]:
    """Effects and actions of statements: the report has references in words of its own."""
    return sorted((each["Effect"], sorted(as_list(each["Action"])), len(as_list(each["Resource"]))) for each in given)


def test_report_alone_changes_no_resource() -> None:
    ordinary = Deployment.new()
    flow(ordinary.stack, WAITING)
    app = App()
    deployment = Deployment(Stack(app, "Stack"))
    customized(deployment.stack, prevent_synthesis=False)
    flow(deployment.stack, WAITING)
    reply = report(app)
    assert deployment.all("IAM::Policy").keys() == ordinary.all("IAM::Policy").keys()
    assert deployment.all("IAM::Role").keys() == ordinary.all("IAM::Role").keys()
    allowed = reply["Stack/ARole"]["identityPolicyStatements"]
    assert any("lambda:InvokeFunction" in as_list(each["Action"]) for each in allowed)


def test_messages_of_such_roles_are_trusted_by_their_session_name() -> None:
    names = roles_of(WAITING)
    deployment = Deployment.new()
    customized(deployment.stack, use_precreated_roles=names)
    flow(deployment.stack, WAITING)
    variables = deployment.properties("Flow/Timer/Forwarder")["Environment"]["Variables"]
    trusted = json.dumps(variables["UNUM_SENDERS"])
    for path in ("Flow/OnFailure/Handler", "Flow/ControlFunction/Function"):
        assert deployment.logical_id(path) in trusted
    assert '\\":\\"' in trusted, "the forwarder itself"
    assert "RoleId" not in trusted
