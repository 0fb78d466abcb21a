"""Control planes that workflows share: what they contain, what a workflow more adds, and what is refused."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns

from tests.synth.deployment import Deployment, flat, function
from tests.synth.machines import a_map, chain, machine, task
from unum_constructs import ConstructError, Store, Sweep, UnumControlPlane, UnumFunction
from unum_runtime.model.naming import control_alias_name

FUNCTION = "Plane/Control/Function"
INVOKE = ["lambda:InvokeFunction"]


def several(number: int, **options: Any) -> Deployment:
    """Workflows of one function each, with one control plane."""
    deployment = Deployment.new()
    plane = UnumControlPlane(deployment.stack, "Plane", **options)
    for name in [f"W{each}" for each in range(number)]:
        keys = {f"{name}A": "index.a", f"{name}B": "index.b"}
        own = UnumFunction(deployment.stack, name + "Both", code=lambda_.Code.from_inline("pass"), handlers=keys)
        deployment.flow(chain(*keys), own, name, control_plane=plane)
    return deployment


def count(deployment: Deployment) -> int:
    return len(deployment.template["Resources"])


@pytest.fixture(scope="module")
def two() -> Deployment:
    return several(2)


@pytest.fixture(scope="module")
def different() -> Deployment:
    """One workflow of two functions, and one of a single function."""
    deployment = Deployment.new()
    plane = UnumControlPlane(deployment.stack, "Plane")
    deployment.flow(chain("A", "B"), {key: function(deployment.stack, key) for key in "AB"}, "Two", control_plane=plane)
    deployment.flow(chain("C"), {"C": function(deployment.stack, "C")}, "One", control_plane=plane)
    return deployment


def test_a_workflow_more_adds_few_resources(two: Deployment) -> None:
    """Beside its function with log group, role, version and configuration."""
    assert count(two) - count(several(1)) - 5 == 12


def test_ten_workflows_fit_into_a_stack_and_into_the_role() -> None:
    deployment = several(10)
    assert count(deployment) == 185
    role = {"Ref": deployment.logical_id(f"{FUNCTION}Role")}
    attached = [
        each["Properties"] for each in deployment.all("IAM::Policy").values() if role in each["Properties"]["Roles"]
    ]
    longest = sum(len(flat_arns(each["PolicyDocument"])) for each in attached)
    assert longest < 10_240
    managed = deployment.all("IAM::ManagedPolicy").values()
    assert 0 < len(managed) <= 10
    assert all(len(flat_arns(each["Properties"]["PolicyDocument"])) <= 6_144 for each in managed)


def flat_arns(document: Mapping[str, Any]) -> str:
    """Return a policy document with texts as long as ARNs for references."""
    return json.dumps(_deployed(document), separators=(",", ":"))


def _deployed(value: Any) -> Any:
    match value:
        case {"Fn::GetAtt": _} | {"Ref": _} | {"Fn::Sub": _}:
            return "x" * 90
        case {"Fn::Join": [str() as separator, [*parts]]}:
            return separator.join(map(_deployed, parts))
        case dict():
            return {key: _deployed(each) for key, each in value.items()}
        case list():
            return [*map(_deployed, value)]
    return value


def test_the_function_serves_each_workflow_by_its_name(two: Deployment) -> None:
    properties = two.properties(FUNCTION)
    assert properties["Handler"] == "unum_runtime.shared_control.handle"
    assert two.services(FUNCTION).keys() == {"W0", "W1"}
    variables = properties["Environment"]["Variables"]
    assert json.loads(flat(variables["UNUM_KEPT"])).keys() == {"W0", "W1"}
    assert variables["UNUM_DIRECTORY"] == "intake"


def test_functions_of_one_role_send_failed_starts_to_the_same_alias(different: Deployment) -> None:
    services = different.services(FUNCTION)
    assert [services[name].get("takes_starts", False) for name in ("One", "Two")] == [True, False]
    names = {each["Properties"]["Name"] for each in different.all("Lambda::Alias").values()}
    assert {"intake-One", "intake-Two", "start-intake-Two"} <= names
    assert "start-intake-One" not in names


def test_function_may_invoke_the_intake_of_its_own_workflow_alone(different: Deployment) -> None:
    plane = f"{different.logical_id(FUNCTION)}.Arn"
    invoked = {
        key: {
            arn.removeprefix(plane)
            for path in paths
            for actions, arns in different.statements(path)
            if actions == INVOKE
            for arn in arns
            if arn.startswith(plane)
        }
        for key, paths in {"A": ["Two/Permissions/A"], "B": ["Two/Permissions/B"], "C": ["One/Permissions/C"]}.items()
    }
    assert invoked == {"A": {":intake-Two", ":start-intake-Two"}, "B": {":intake-Two"}, "C": {":intake-One"}}


def test_failed_events_go_to_the_alias_of_the_workflow(different: Deployment) -> None:
    def destination(path: str) -> str:
        return flat(different.properties(f"{path}/EventInvokeConfig")["DestinationConfig"]["OnFailure"]["Destination"])

    arn = f"{different.logical_id(FUNCTION)}.Arn"
    assert [destination(f"{key}/CurrentVersion") for key in "ABC"] == [
        *[f"{arn}:intake-Two"] * 2,
        f"{arn}:intake-One",
    ]
    assert destination("Two/Start") == different.logical_id("Two/StartIntake")
    assert destination("One/Start") == different.logical_id("One/Intake/Alias")


def test_policy_comes_after_the_alias_that_it_names(different: Deployment) -> None:
    for workflow, key in (("Two", "A"), ("Two", "B"), ("One", "C")):
        needed = different.resource(f"{workflow}/Permissions/{key}")["DependsOn"]
        assert different.logical_id(f"{workflow}/Intake/Alias") in needed


def test_workflows_of_a_control_plane_may_start_each_other() -> None:
    deployment = Deployment.new()
    plane = UnumControlPlane(deployment.stack, "Plane")
    child = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "Child", control_plane=plane)
    starter = function(deployment.stack, "B")
    starter.add_environment("CHILD", child.start_alias.function_arn)
    deployment.flow(chain("B"), {"B": starter}, "Parent", control_plane=plane)
    assert deployment.template, "without a circular dependency"


def test_workflows_may_share_a_function() -> None:
    deployment = Deployment.new()
    plane = UnumControlPlane(deployment.stack, "Plane")
    shared = function(deployment.stack, "A")
    deployment.flow(chain("A"), {"A": shared}, "One", control_plane=plane)
    deployment.flow(chain("A"), {"A": shared}, "Two", control_plane=plane)
    others = deployment.properties(FUNCTION)["Environment"]["Variables"]["UNUM_OTHERS"]
    assert json.loads(flat(others)) == {"One": {"Two": ""}}


def test_workflow_of_its_own_may_share_a_function_with_a_member() -> None:
    deployment = Deployment.new()
    plane = UnumControlPlane(deployment.stack, "Plane")
    shared = function(deployment.stack, "A")
    deployment.flow(chain("A"), {"A": shared}, "One")
    deployment.flow(chain("A"), {"A": shared}, "Two", control_plane=plane)
    others = deployment.properties("One/OnFailure/Handler")["Environment"]["Variables"]["UNUM_OTHERS"]
    arn = f"{deployment.logical_id(FUNCTION)}.Arn:intake-Two"
    assert json.loads(flat(others)) == {"One": {"Two": arn}}
    assert (INVOKE, [arn]) in deployment.statements("One/OnFailure/Permissions")


def test_aliases_of_operators_exist_when_they_are_granted() -> None:
    deployment = several(1)
    workflow = deployment.stack.node.find_child("W0")
    role = lambda_.Function(
        deployment.stack,
        "Operator",
        code=lambda_.Code.from_inline("pass"),
        handler="index.handle",
        runtime=lambda_.Runtime.PYTHON_3_13,
    )
    before = {each["Properties"]["Name"] for each in deployment_aliases(deployment.stack)}
    workflow.grant_stop(role)  # type: ignore[attr-defined]
    after = {each["Properties"]["Name"] for each in deployment_aliases(deployment.stack)}
    assert after - before == {control_alias_name("stop", "W0")}


def deployment_aliases(stack: Stack) -> list[Any]:
    found = [each for each in stack.node.find_all() if isinstance(each, lambda_.CfnAlias)]
    return [{"Properties": {"Name": each.name}} for each in found]


def test_one_schedule_sweeps_all(two: Deployment) -> None:
    (schedule,) = two.all("Scheduler::Schedule").values()
    request = json.loads(flat(schedule["Properties"]["Target"]["Input"]))
    assert (request["control"], request["letters"]) == ("sweep", two.logical_id("Plane/Control/Failures"))
    names = Counter(each["Properties"]["Name"] for each in two.all("Lambda::Alias").values())
    assert names["sweep"] == names["operate"] == 1


def test_control_plane_without_a_sweep() -> None:
    deployment = several(1, sweep=None)
    assert not deployment.all("Scheduler::Schedule")


def test_wide_workflows_need_control_planes_of_their_own() -> None:
    deployment = Deployment.new()
    plane = UnumControlPlane(deployment.stack, "Plane")
    keys = [f"F{each}" for each in range(80)]
    functions = {key: function(deployment.stack, key) for key in keys}
    with pytest.raises(ConstructError, match=r"Flow/Control: control_plane: .* make a second `UnumControlPlane`"):
        deployment.flow(chain(*keys), functions, control_plane=plane)


def test_members_are_refused_that_a_control_plane_cannot_serve() -> None:
    app = App()
    here, elsewhere = Stack(app, "Stack"), Stack(app, "Elsewhere")
    deployment, plane = Deployment(here), UnumControlPlane(here, "Plane")
    functions = {"A": function(here, "A")}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"control_plane": UnumControlPlane(elsewhere, "Plane")}, "expected one of the stack 'Stack', got one of"),
        ({"control_plane": plane, "sweep": Sweep.every(Duration.hours(2))}, "sweep: expected none beside"),
        ({"control_plane": plane, "encryption_key": kms.Key(here, "Key")}, "encryption_key: expected the key of"),
        (
            {"control_plane": plane, "store": Store.dynamodb(list_executions=False)},
            "sweep: expected a table that lists",
        ),
        ({"control_plane": "Plane"}, "control_plane: expected a UnumControlPlane"),
    ]
    for number, (options, message) in enumerate(cases):
        with pytest.raises(ConstructError, match=message):
            deployment.flow(chain("A"), functions, f"Flow{number}", **options)


def test_name_of_another_member_is_refused() -> None:
    deployment = several(1)
    plane: Any = deployment.stack.node.find_child("Plane")
    with pytest.raises(
        ConstructError, match="workflow_name: expected a name of its own in Stack/Plane/Control, got 'W0'"
    ):
        deployment.flow(
            chain("A"), {"A": function(deployment.stack, "A")}, "Other", workflow_name="W0", control_plane=plane
        )


def test_name_that_makes_an_alias_ambiguous_is_refused() -> None:
    deployment = several(1)
    plane: Any = deployment.stack.node.find_child("Plane")
    functions = {"A": function(deployment.stack, "A")}
    with pytest.raises(ConstructError, match="workflow_name: expected a name whose aliases differ"):
        deployment.flow(chain("A"), functions, "Other", workflow_name="events-W0", control_plane=plane)


def test_the_page_says_how_many_resources_there_are() -> None:
    """Of workflows with one function each, as `README` counts one."""
    page = (Path(__file__).parents[2] / "docs" / "construct.md").read_text()
    numbers = (1, 2, 10)
    shared = " | ".join(str(count(several(number))) for number in numbers)
    assert f"| one control plane for all | {shared} |" in page
    one = count(Deployment.of(chain("A"), "A"))
    # All have the layer in common.
    own = " | ".join(str(number * (one - 1) + 1) for number in numbers)
    assert f"| a control plane for each | {own} |" in page


def guard_of(control_plane: str | None) -> str:
    """Return the logical id of the guard of a workflow with this control plane, or its own."""
    deployment = Deployment.new()
    planes = {name: UnumControlPlane(deployment.stack, name) for name in ("Plane", "Other")}
    plane = None if control_plane is None else planes[control_plane]
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, control_plane=plane)
    resources = deployment.template["Resources"]
    (found,) = [name for name, each in resources.items() if each["Type"] == "Custom::UnumDeploymentGuard"]
    return str(found)


def test_guard_of_another_function_is_another_resource() -> None:
    """CloudFormation allows no other service token in an update."""
    assert len({guard_of(None), guard_of("Plane"), guard_of("Other")}) == 3


def test_control_plane_takes_a_role_of_another_team() -> None:
    deployment = Deployment.new()
    iam.Role.customize_roles(deployment.stack, use_precreated_roles={"Stack/Plane/Control/FunctionRole": "theirs"})
    UnumControlPlane(deployment.stack, "Plane")
    variables = deployment.properties(FUNCTION)["Environment"]["Variables"]
    assert json.loads(flat(variables["UNUM_SENDERS"])) == {"workflow": "", "trusted": []}


def test_action_of_two_workflows_is_added_to_the_shared_alarm_once() -> None:
    deployment = several(2)
    action = actions.SnsAction(sns.Topic(deployment.stack, "Topic"))
    for name in ("W0", "W1"):
        workflow: Any = deployment.stack.node.find_child(name)
        workflow.add_alarms(actions=[action])
    assert deployment.properties("Plane/Control/Alarm")["AlarmActions"] == [{"Ref": deployment.logical_id("Topic")}]


def test_more_workflows_than_the_environment_has_room_for_are_refused() -> None:
    with pytest.raises(ConstructError, match=r"Stack/Plane/Control: control_plane: expected an environment of at most"):
        several(20)


def test_timers_hand_failed_events_to_the_intake() -> None:
    deployment = Deployment.new()
    plane = UnumControlPlane(deployment.stack, "Plane")
    waits = machine(
        Each=a_map(chain("A"), then="Later"), Later={"Type": "Wait", "Seconds": 5, "Next": "B"}, B=task("B")
    )
    deployment.flow(waits, {key: function(deployment.stack, key) for key in "AB"}, control_plane=plane)
    variables = deployment.properties("Flow/Timer/Forwarder")["Environment"]["Variables"]
    assert flat(variables["UNUM_INTAKE"]) == f"{deployment.logical_id(FUNCTION)}.Arn:intake-Flow"
