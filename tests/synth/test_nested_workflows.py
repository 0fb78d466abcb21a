"""Tasks that start executions of other workflows: exactly the start alias, and no circle of references."""

import json

import pytest
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks

from tests.synth.deployment import Deployment, function
from tests.synth.linting import complaints
from tests.synth.machines import Machine, chain, machine, task
from unum_constructs import Definition, UnumWorkflow

PERMISSIONS = "Parent/Permissions/$services"
ITSELF = {"StateMachineArn.$": "$$.StateMachine.Id"}


def starting(parameters: Machine, then: str | None = None) -> Machine:
    return {**task("arn:aws:states:::states:startExecution.sync:2", then), "Parameters": parameters}


def family(*, shared: bool = False) -> tuple[Deployment, UnumWorkflow]:
    """A parent and its child, whose function takes part in both if it is `shared`."""
    deployment = Deployment.new()
    first = function(deployment.stack, "A")
    child = deployment.flow(chain("A"), {"A": first if shared else function(deployment.stack, "B")}, "Child")
    definition = machine(A=task("A", "Start"), Start=starting({"StateMachineArn": child.start_alias.function_arn}))
    deployment.flow(definition, {"A": first}, "Parent")
    return deployment, child


def invoked(deployment: Deployment, policy: str = PERMISSIONS) -> list[str]:
    return [arn for actions, arns in deployment.statements(policy) for arn in arns if "lambda:" in actions[0]]


def called(deployment: Deployment, policy: str = PERMISSIONS) -> str:
    return json.dumps(deployment.properties(policy))


@pytest.fixture(scope="module")
def two() -> Deployment:
    return family()[0]


def test_parent_may_invoke_the_childs_run_alias_and_knows_its_start(two: Deployment) -> None:
    alias = two.logical_id("Child/Start")
    assert two.logical_id("Child/Run") in invoked(two)
    assert alias not in invoked(two)
    assert "states:" not in called(two)
    service = two.services("Parent/Services")["Parent"]
    assert service["routes"]["$start${Value1}"] == alias
    assert "values" not in service
    assert alias not in json.dumps(two.properties("A"))


def test_a_child_may_look_how_its_executions_are(two: Deployment) -> None:
    *_, executions = [actions for actions, _ in two.statements("Child/Permissions/A") if "dynamodb" in actions[0]]
    assert "dynamodb:Query" in executions


def test_a_function_may_take_part_in_both() -> None:
    deployment, _ = family(shared=True)
    assert deployment.routes("A", "Parent") == {}, "what leads back to it would be a circle"
    assert "$services" in deployment.services("Parent/Entry")["Parent"]["carried"]
    assert deployment.logical_id("Child/Run") in invoked(deployment)


def test_a_start_alias_that_is_used_in_a_text_too_is_put_in_everywhere() -> None:
    deployment = Deployment.new()
    child = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "Child")
    arn = child.start_alias.function_arn
    definition = machine(Start=starting({"StateMachineArn": arn, "Input": {"from": arn}}))
    deployment.flow(definition, {}, "Parent")
    alias = deployment.logical_id("Child/Start")
    assert deployment.services("Parent/Services")["Parent"]["values"] == {"Value1": alias}
    assert deployment.logical_id("Child/Run") in invoked(deployment)


@pytest.mark.parametrize(
    ("before", "start"),
    [({}, "Flow/Services"), ({"A": task("A", "Start")}, "A"), ({"P": {"Type": "Pass", "Next": "Start"}}, "Flow/Entry")],
)
def test_a_workflow_may_start_itself(before: dict[str, Machine], start: str) -> None:
    deployment = Deployment.of(machine(**before, Start=starting(ITSELF)), *(before.keys() & {"A"}))
    alias = f"{deployment.logical_id(start)}.Arn:run-Flow"
    assert alias in invoked(deployment, "Flow/Permissions/$services")
    assert deployment.services(start)["Flow"]["carried"] == ["$start"]
    assert deployment.properties(start)["RecursiveLoop"] == "Allow"


def test_an_arn_names_a_workflow_of_another_app() -> None:
    arn = "arn:aws:lambda:eu-west-1:123456789012:function:other:start-Other"
    deployment = Deployment.of(machine(Start=starting({"StateMachineArn": arn})))
    asked = invoked(deployment, "Flow/Permissions/$services")
    assert arn.replace("start-", "run-") in asked
    assert arn not in asked
    assert "states:" not in called(deployment, "Flow/Permissions/$services")


def test_substitutions_name_workflows() -> None:
    deployment = Deployment.new()
    child = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "Child")
    definition = Definition.from_asl(
        machine(Start=starting({"StateMachineArn": "${Child}"})),
        substitutions={"Child": child.start_alias.function_arn},
    )
    UnumWorkflow(deployment.stack, "Parent", definition=definition, workflow_name="Parent")
    assert deployment.logical_id("Child/Run") in invoked(deployment)


def test_a_chain_of_the_cdk_starts_a_workflow_as_an_imported_state_machine() -> None:
    deployment = Deployment.new()
    child = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "Child")
    stand_in = sfn.StateMachine.from_state_machine_arn(deployment.stack, "It", child.start_alias.function_arn)
    start = tasks.StepFunctionsStartExecution(
        deployment.stack,
        "StartIt",
        state_machine=stand_in,
        integration_pattern=sfn.IntegrationPattern.RUN_JOB,
    )
    UnumWorkflow(deployment.stack, "Parent", definition=Definition.from_chainable(start), workflow_name="Parent")
    assert deployment.logical_id("Child/Run") in invoked(deployment)
    assert "states:" not in called(deployment)


def test_others_are_state_machines_of_step_functions() -> None:
    deployment = Deployment.new()
    other = sfn.StateMachine(
        deployment.stack, "M", definition_body=sfn.DefinitionBody.from_chainable(sfn.Pass(deployment.stack, "P"))
    )
    deployment.flow(machine(Start=starting({"StateMachineArn": other.state_machine_arn})), {}, "Parent")
    assert "states:StartExecution" in called(deployment)


def test_templates_are_sound(two: Deployment) -> None:
    assert complaints(two.template) == []
