"""Members of `StateMachine` in the installed CDK, and constructs of the CDK that take a workflow for one."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_pipes as pipes
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as scheduler_targets
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from tests.synth.deployment import CODE, Deployment, flat, function
from tests.synth.machines import chain
from unum_constructs import IUnumWorkflow, UnumWorkflow
from unum_constructs.errors import ConstructError
from unum_constructs.state_machine.interface import METHODS, PROPERTIES
from unum_constructs.state_machine.members import GRANTS

EVERY_FIVE_MINUTES = Duration.minutes(5)

OF_RESOURCES = {
    "PROPERTY_INJECTION_ID",
    "apply_cross_stack_reference_strength",
    "is_owned_resource",
    "is_resource",
}
"""Members of `Resource` about how the CDK makes resources, which a workflow is not."""


def flow_in(deployment: Deployment, **options: Any) -> UnumWorkflow:
    return deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, sweep=None, **options)


def caller(stack: Stack) -> lambda_.Function:
    """Return a function of no workflow."""
    code = lambda_.Code.from_inline(CODE)
    return lambda_.Function(stack, "Caller", runtime=lambda_.Runtime.PYTHON_3_13, handler="index.handle", code=code)


def allowed(deployment: Deployment) -> set[str]:
    """Return the logical ids that the caller may invoke."""
    policy = deployment.resource("Caller/ServiceRole/DefaultPolicy")["Properties"]["PolicyDocument"]
    found = [each["Resource"] for each in policy["Statement"]]
    return {flat(each) for given in found for each in (given if isinstance(given, list) else [given])}


def test_workflow_has_each_member_of_a_state_machine() -> None:
    wanted = {each for each in dir(sfn.StateMachine) if not each.startswith("_")} - OF_RESOURCES
    assert wanted - {*dir(UnumWorkflow)} == set()


def test_interface_declares_each_member_that_the_cdk_may_call() -> None:
    members = {each for each in dir(sfn.IStateMachine) if not each.startswith("_")}
    declared = {each.removesuffix("_to_service") for each in (*METHODS, *PROPERTIES)}
    declared = {f"{each.lstrip('_')}_execution" if each.startswith("_grant") else each for each in declared}
    own = {"node", "grant_principal", "with_"}  # of constructs, and of `IGrantable`
    assert members - own - OF_RESOURCES <= declared


def test_arn_is_the_start_alias_and_name_the_workflow() -> None:
    deployment = Deployment.new()
    flow = flow_in(deployment)
    CfnOutput(deployment.stack, "Arn", value=flow.state_machine_arn)
    assert flow.state_machine_name == "Flow"
    assert flow.state_machine_ref.state_machine_arn == flow.state_machine_arn
    assert flow.state_machine_type is sfn.StateMachineType.STANDARD
    assert flow.stack is deployment.stack
    output = deployment.template["Outputs"]["Arn"]["Value"]
    assert flat(output) == deployment.logical_id("Flow/Start")


@pytest.mark.parametrize(
    ("grant", "aliases"),
    [
        (lambda flow, to: flow.grant_start_execution(to), {"Run", "Start"}),
        (lambda flow, to: flow.grant_start_sync_execution(to), {"Run", "Start", "Describe"}),
        (lambda flow, to: flow.grant_redrive_execution(to), {"ControlFunction/Redrive"}),
        (lambda flow, to: flow.grant_execution(to, "states:StopExecution"), {"ControlFunction/Stop"}),
        (lambda flow, to: flow.grant_execution(to, "states:DescribeExecution"), {"Describe"}),
        (lambda flow, to: flow.grant(to, "states:StartExecution"), {"Run", "Start"}),
        (lambda flow, to: flow.grant(to, "states:SendTaskSuccess", "states:SendTaskFailure"), {"Respond"}),
        (lambda flow, to: flow.grants.start_execution(to), {"Run", "Start"}),
        (lambda flow, to: flow.grants.actions(to, "states:RedriveExecution"), {"ControlFunction/Redrive"}),
    ],
)
def test_grant_allows_what_its_name_says(grant: Callable[[IUnumWorkflow, Any], Any], aliases: set[str]) -> None:
    deployment = Deployment.new()
    grant(flow_in(deployment), caller(deployment.stack))
    assert allowed(deployment) == {deployment.logical_id(f"Flow/{each}") for each in aliases}


@pytest.mark.parametrize("actions", [[], ["states:CreateStateMachine"], ["lambda:InvokeFunction"], ["StartExecution"]])
def test_grant_of_unknown_actions_names_those_allowed(actions: list[str]) -> None:
    deployment = Deployment.new()
    with pytest.raises(ConstructError, match=r"expected actions"):
        flow_in(deployment).grant_execution(caller(deployment.stack), *actions)


def test_each_grant_for_an_action_exists() -> None:
    assert {name for name in GRANTS.values() if not hasattr(IUnumWorkflow, name)} == set()


def test_member_that_a_workflow_lacks_names_ours() -> None:
    flow = flow_in(Deployment.new())
    with pytest.raises(ConstructError, match=r"^Stack/Flow: state_machine_revision_id: .*docs/howto/migrate\.md"):
        _ = flow.state_machine_revision_id


def test_role_without_service_requests_is_one_that_nothing_uses() -> None:
    deployment = Deployment.new()
    flow = flow_in(deployment)
    function(deployment.stack, "B").grant_invoke(flow.role)
    flow.add_to_role_policy(iam.PolicyStatement(actions=["kms:Decrypt"], resources=["*"]))
    used = {flat(each["Properties"]["Role"]) for each in deployment.all("Lambda::Function").values()}
    assert f"{deployment.logical_id('Flow/Role')}.Arn" not in used
    (warned,) = deployment.warnings()
    assert (warned.path, "nothing uses this role" in warned.text) == ("Stack/Flow", True)


def test_workflow_whose_role_nobody_reads_has_none() -> None:
    deployment = Deployment.new()
    flow_in(deployment)
    with pytest.raises(RuntimeError, match="No child with id: 'Role'"):
        deployment.logical_id("Flow/Role")


def http_api(scope: Construct, flow: UnumWorkflow) -> None:
    apigatewayv2.CfnIntegration(
        scope,
        "Http",
        api_id="api",
        integration_type="AWS_PROXY",
        integration_subtype="StepFunctions-StartExecution",
        request_parameters={"Input": "$request.body", "StateMachineArn": flow.state_machine_arn},
    )


def rest_api(scope: Construct, flow: UnumWorkflow) -> None:
    template = {"application/json": f'{{"stateMachineArn": "{flow.state_machine_arn}"}}'}
    options = apigateway.IntegrationOptions(request_templates=template)
    integration = apigateway.AwsIntegration(service="states", action="StartExecution", options=options)
    apigateway.RestApi(scope, "Rest").root.add_method("POST", integration)


def pipe(scope: Construct, flow: UnumWorkflow) -> None:
    pipes.CfnPipe(
        scope,
        "Pipe",
        role_arn="arn:aws:iam::111122223333:role/pipe",
        source="arn:aws:sqs:eu-west-1:111122223333:orders",
        target=flow.state_machine_arn,
        target_parameters=pipes.CfnPipe.PipeTargetParametersProperty(
            step_function_state_machine_parameters=pipes.CfnPipe.PipeTargetStateMachineParametersProperty(
                invocation_type="FIRE_AND_FORGET"
            )
        ),
    )


@pytest.mark.parametrize(
    ("use", "remedy"), [(http_api, "HttpLambdaIntegration"), (rest_api, "LambdaIntegration"), (pipe, "FIRE_AND_FORGET")]
)
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_resource_that_gives_the_address_to_step_functions_is_refused(
    use: Callable[[Construct, UnumWorkflow], None], remedy: str, *, is_elsewhere: bool
) -> None:
    deployment = Deployment.new()
    flow = flow_in(deployment)
    app: Any = deployment.stack.node.root
    use(Stack(app, "Elsewhere") if is_elsewhere else deployment.stack, flow)
    with pytest.raises(RuntimeError, match=rf"uses? Step Functions, which has no state machine Stack/Flow: .*{remedy}"):
        app.synth()


def test_address_elsewhere_is_accepted() -> None:
    deployment = Deployment.new()
    flow = flow_in(deployment)
    CfnOutput(deployment.stack, "Arn", value=flow.state_machine_arn)
    integration = apigateway.LambdaIntegration(flow.run_alias, proxy=False)
    apigateway.RestApi(deployment.stack, "Rest").root.add_method("POST", integration)
    deployment.stack.node.root.synth()  # type: ignore[attr-defined] # an App


def test_import_by_arn_names_the_imports_of_workflows() -> None:
    stack = Deployment.new().stack
    with pytest.raises(ConstructError, match="from_workflow_name"):
        UnumWorkflow.from_state_machine_arn(stack, "Other", "arn:aws:states:eu-west-1:111122223333:stateMachine:Other")


def test_import_by_name_is_that_of_an_exported_workflow() -> None:
    stack = Deployment.new().stack
    assert UnumWorkflow.from_state_machine_name(stack, "Other", "Orders").state_machine_name == "Orders"


def test_removal_policy_is_that_of_the_table() -> None:
    deployment = Deployment.new()
    flow_in(deployment).apply_removal_policy(RemovalPolicy.RETAIN)
    assert deployment.resource("Flow/Table")["DeletionPolicy"] == "Retain"


def invoked_by(deployment: Deployment, role: Any) -> set[str]:
    """Return the logical ids that the role of the rule or schedule may invoke."""
    (name,) = [flat(role)] if not isinstance(role, dict) else [role["Fn::GetAtt"][0]]
    policies = deployment.template["Resources"].values()
    statements = [
        statement
        for each in policies
        if each["Type"] == "AWS::IAM::Policy" and {"Ref": name} in each["Properties"]["Roles"]
        for statement in each["Properties"]["PolicyDocument"]["Statement"]
    ]
    assert {statement["Action"] for statement in statements} == {"lambda:InvokeFunction"}
    found = [statement["Resource"] for statement in statements]
    return {flat(each) for given in found for each in (given if isinstance(given, list) else [given])}


def test_rule_with_sfn_state_machine_invokes_the_start_alias() -> None:
    deployment = Deployment.new()
    target = targets.SfnStateMachine(
        flow_in(deployment), input=events.RuleTargetInput.from_object({"order": 1}), retry_attempts=2
    )
    events.Rule(deployment.stack, "Rule", schedule=events.Schedule.rate(EVERY_FIVE_MINUTES), targets=[target])
    (found,) = deployment.only("Events::Rule")["Targets"]
    start = deployment.logical_id("Flow/Start")
    assert flat(found["Arn"]) == start
    assert found["Input"] == json.dumps({"order": 1}, separators=(",", ":"))
    assert start in invoked_by(deployment, found["RoleArn"])


def test_schedule_that_starts_executions_invokes_the_start_alias() -> None:
    deployment = Deployment.new()
    scheduler.Schedule(
        deployment.stack,
        "Nightly",
        schedule=scheduler.ScheduleExpression.rate(EVERY_FIVE_MINUTES),
        target=scheduler_targets.StepFunctionsStartExecution(flow_in(deployment)),
    )
    found = deployment.only("Scheduler::Schedule")["Target"]
    start = deployment.logical_id("Flow/Start")
    assert flat(found["Arn"]) == start
    assert start in invoked_by(deployment, found["RoleArn"])


def test_task_that_starts_executions_takes_a_workflow() -> None:
    deployment = Deployment.new()
    child = flow_in(deployment)
    task = tasks.StepFunctionsStartExecution(
        deployment.stack, "Start", state_machine=child, integration_pattern=sfn.IntegrationPattern.RUN_JOB
    )
    UnumWorkflow(deployment.stack, "Parent", definition=task)
    assert deployment.template


def role_of(service: str) -> Callable[[UnumWorkflow], Any]:
    """Return what makes a rule with a role that `service` assumes; the CDK makes such roles for its other targets."""

    def make(flow: UnumWorkflow) -> Any:
        role = iam.Role(flow, "Role", assumed_by=iam.ServicePrincipal(f"{service}.amazonaws.com"))
        return targets.SfnStateMachine(flow, role=role)

    return make


@pytest.mark.parametrize(
    ("use", "remedy"),
    [
        (lambda flow: apigateway.StepFunctionsRestApi(flow, "Api", state_machine=flow), "LambdaIntegration"),
        (
            lambda flow: apigateway.RestApi(flow, "Api").root.add_method(
                "POST", apigateway.StepFunctionsIntegration.start_execution(flow)
            ),
            "LambdaIntegration",
        ),
        (role_of("pipes"), "lambda_function_parameters"),
        (role_of("iot"), "start_alias"),
        (role_of("apigateway"), "LambdaIntegration"),
    ],
)
def test_construct_that_calls_step_functions_is_refused(use: Callable[[UnumWorkflow], Any], remedy: str) -> None:
    flow = flow_in(Deployment.new(), state_machine_type=sfn.StateMachineType.EXPRESS)
    with pytest.raises(RuntimeError, match=rf"Stack/Flow: expected a construct that invokes a function.*{remedy}"):
        use(flow)


def test_workflows_do_not_load_the_module_of_step_functions() -> None:
    code = "import sys, unum_constructs.workflow; print('aws_cdk.aws_stepfunctions' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - this Python
    assert printed.stdout.strip() == "False"
