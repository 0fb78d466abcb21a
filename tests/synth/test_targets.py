"""Sources that start a workflow, and targets that a workflow starts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_notifications as notifications
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks

from tests.synth.deployment import Deployment, as_list, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import chain
from unum_constructs import (
    Definition,
    UnumScheduleTarget,
    UnumWorkflow,
    UnumWorkflowTarget,
    start_by_messages,
    start_event,
)

PATTERN = events.EventPattern(source=["shop"])


def flow_in(deployment: Deployment) -> UnumWorkflow:
    return deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, sweep=None)


def rule_target(alias: str = "Run", **options: Any) -> dict[str, Any]:
    deployment = Deployment.new()
    target = UnumWorkflowTarget(flow_in(deployment), **options)
    events.Rule(deployment.stack, "Rule", event_pattern=PATTERN, targets=[target])
    (found,) = deployment.only("Events::Rule")["Targets"]
    assert flat(found["Arn"]) == deployment.logical_id(f"Flow/{alias}")
    permission = deployment.only("Lambda::Permission")
    assert flat(permission["FunctionName"]) == deployment.logical_id(f"Flow/{alias}")
    assert complaints(deployment.template) == []
    return dict(found)


def test_a_whole_event_names_its_execution_itself() -> None:
    assert rule_target("Start").keys() == {"Arn", "Id"}


def test_a_part_of_an_event_takes_its_id_along() -> None:
    transformer = rule_target(input={"order": events.EventField.from_path("$.detail.order")})["InputTransformer"]
    assert transformer == {
        "InputPathsMap": {"id": "$.id", "detail-order": "$.detail.order"},
        "InputTemplate": '{"$unum":1,"start":<id>,"input":{"order":<detail-order>}}',
    }


def test_the_event_can_name_its_execution() -> None:
    name = f"order-{events.EventField.from_path('$.detail.order')}"
    transformer = rule_target(name=name)["InputTransformer"]
    assert transformer["InputTemplate"] == '{"$unum":1,"start":"order-<detail-order>","input":<f2>}'
    assert transformer["InputPathsMap"] == {"detail-order": "$.detail.order", "f2": "$"}


def test_what_cannot_be_delivered() -> None:
    deployment = Deployment.new()
    queue = sqs.Queue(deployment.stack, "Lost")
    target = UnumWorkflowTarget(
        flow_in(deployment), dead_letter_queue=queue, max_event_age=Duration.hours(1), retry_attempts=3
    )
    events.Rule(deployment.stack, "Rule", event_pattern=PATTERN, targets=[target])
    (found,) = deployment.only("Events::Rule")["Targets"]
    assert found["RetryPolicy"] == {"MaximumEventAgeInSeconds": 3600, "MaximumRetryAttempts": 3}
    assert flat(found["DeadLetterConfig"]["Arn"]) == f"{deployment.logical_id('Lost')}.Arn"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {},
            {
                "start": "<aws.scheduler.schedule-arn> <aws.scheduler.scheduled-time>",
                "input": {"schedule": "<aws.scheduler.schedule-arn>", "time": "<aws.scheduler.scheduled-time>"},
            },
        ),
        ({"name": "once", "input": {"n": 1}}, {"start": "once", "input": {"n": 1}}),
    ],
)
def test_a_schedule(options: dict[str, Any], expected: dict[str, Any]) -> None:
    deployment = Deployment.new()
    scheduler.Schedule(
        deployment.stack,
        "Nightly",
        schedule=scheduler.ScheduleExpression.rate(Duration.days(1)),
        target=UnumScheduleTarget(flow_in(deployment), retry_attempts=2, **options),
    )
    target = deployment.only("Scheduler::Schedule")["Target"]
    assert flat(target["Arn"]) == deployment.logical_id("Flow/Run")
    assert json.loads(target["Input"]) == {"$unum": 1, **expected}
    assert target["RetryPolicy"]["MaximumRetryAttempts"] == 2
    assert complaints(deployment.template) == []


def from_s3(stack: Stack, flow: UnumWorkflow) -> None:
    bucket = s3.Bucket(stack, "Bucket")
    bucket.add_event_notification(s3.EventType.OBJECT_CREATED, notifications.LambdaDestination(flow.start_alias))


def from_sns(stack: Stack, flow: UnumWorkflow) -> None:
    sns.Topic(stack, "Topic").add_subscription(subscriptions.LambdaSubscription(flow.start_alias))


def from_sqs(stack: Stack, flow: UnumWorkflow) -> None:
    flow.start_alias.add_event_source(event_sources.SqsEventSource(sqs.Queue(stack, "Queue"), batch_size=1))


def from_rest_api(stack: Stack, flow: UnumWorkflow) -> None:
    api = apigateway.RestApi(stack, "Api")
    template = '{"$unum": 1, "start": "$context.requestId", "input": $input.json("$")}'
    integration = apigateway.LambdaIntegration(
        flow.run_alias,
        proxy=False,
        request_templates={"application/json": template},
        integration_responses=[apigateway.IntegrationResponse(status_code="200")],
    )
    api.root.add_method("POST", integration, method_responses=[apigateway.MethodResponse(status_code="200")])


def from_http_api(stack: Stack, flow: UnumWorkflow) -> None:
    integration = integrations.HttpLambdaIntegration("Start", flow.start_alias)
    apigatewayv2.HttpApi(stack, "Api").add_routes(path="/orders", integration=integration)


@pytest.mark.parametrize(
    ("source", "kind", "field"),
    [
        (from_s3, "Lambda::Permission", "FunctionName"),
        (from_sns, "SNS::Subscription", "Endpoint"),
        (from_sqs, "Lambda::EventSourceMapping", "FunctionName"),
        (from_rest_api, "ApiGateway::Method", "Integration"),
        (from_http_api, "ApiGatewayV2::Integration", "IntegrationUri"),
    ],
)
def test_event_sources_have_the_start_alias(
    source: Callable[[Stack, UnumWorkflow], None], kind: str, field: str
) -> None:
    deployment = Deployment.new()
    source(deployment.stack, flow_in(deployment))
    alias = deployment.logical_id("Flow/Run" if source is from_rest_api else "Flow/Start")
    assert any(alias in json.dumps(each["Properties"][field]) for each in deployment.all(kind).values())
    permissions = deployment.all("Lambda::Permission").values()
    assert {flat(each["Properties"]["FunctionName"]) for each in permissions if "S3" not in str(each)} <= {alias}


def test_a_step_of_a_state_machine() -> None:
    deployment = Deployment.new()
    payload = start_event(sfn.JsonPath.string_at("$$.Execution.Name"), sfn.JsonPath.object_at("$"))
    step = tasks.LambdaInvoke(
        deployment.stack,
        "Start",
        lambda_function=flow_in(deployment).start_alias,
        payload=sfn.TaskInput.from_object(payload),
    )
    sfn.StateMachine(deployment.stack, "Machine", definition_body=sfn.DefinitionBody.from_chainable(step))
    definition = json.loads(flat(deployment.only("StepFunctions::StateMachine")["DefinitionString"]))
    assert definition["States"]["Start"]["Parameters"] == {
        "FunctionName": deployment.logical_id("Flow/Start"),
        "Payload": {"$unum": 1, "start.$": "$$.Execution.Name", "input.$": "$"},
    }
    (actions, arns), *_ = deployment.statements("Machine/Role/DefaultPolicy")
    assert actions == ["lambda:InvokeFunction"]
    assert deployment.logical_id("Flow/Start") in arns


def test_a_workflow_that_starts_a_state_machine() -> None:
    deployment = Deployment.new()
    machine = sfn.StateMachine(
        deployment.stack, "Machine", definition_body=sfn.DefinitionBody.from_chainable(sfn.Pass(deployment.stack, "P"))
    )
    step = tasks.StepFunctionsStartExecution(
        deployment.stack, "Start", state_machine=machine, integration_pattern=sfn.IntegrationPattern.RUN_JOB
    )
    UnumWorkflow(deployment.stack, "Flow", definition=Definition.from_chainable(step), workflow_name="Flow")
    statements = deployment.properties("Flow/Permissions/$services")["PolicyDocument"]["Statement"]
    actions = {action for each in statements for action in as_list(each["Action"])}
    assert {"states:StartExecution", "states:DescribeExecution"} <= actions


@pytest.mark.parametrize("target", [UnumWorkflowTarget, UnumScheduleTarget])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input": {"a": float("nan")}}, "input: expected JSON: "),
        ({"input": {"a": {1}}}, "input: expected JSON: set is not JSON"),
        ({"name": ""}, "name: expected text or None, got ''"),
        ({"name": 5}, "name: expected text or None, got 5"),
    ],
)
def test_what_starts_nothing_is_refused(target: Any, options: dict[str, Any], message: str) -> None:
    flow = flow_in(Deployment.new())
    with pytest.raises(ValueError, match=message):
        target(flow, **options)


def test_messages_start_executions_and_may_name_them() -> None:
    deployment = Deployment.new()
    flow, queues = flow_in(deployment), [sqs.Queue(deployment.stack, name) for name in ("Orders", "Other")]
    start_by_messages(flow, queues[0], name_from="$.order.id", batch_size=5)
    start_by_messages(flow, queues[1], name_from="$.id")
    mappings = [each["Properties"] for each in deployment.all("Lambda::EventSourceMapping").values()]
    assert {each.get("BatchSize") for each in mappings} == {5, None}
    assert {each["FunctionResponseTypes"][0] for each in mappings} == {"ReportBatchItemFailures"}
    variables = deployment.properties("A")["Environment"]["Variables"]
    paths = {f"{deployment.logical_id(name)}.Arn": path for name, path in (("Orders", "$.order.id"), ("Other", "$.id"))}
    assert json.loads(flat(variables["UNUM_QUEUES"])) == {"Flow": paths}


def test_messages_without_a_path_are_reported_one_by_one_too() -> None:
    deployment = Deployment.new()
    start_by_messages(flow_in(deployment), sqs.Queue(deployment.stack, "Orders"))
    settings = json.loads(flat(deployment.properties("A")["Environment"]["Variables"]["UNUM_QUEUES"]))
    assert settings == {"Flow": {f"{deployment.logical_id('Orders')}.Arn": ""}}


@pytest.mark.parametrize("path", ["", "id", "$", "$.", "$.a[0]", "$..a", "$.a b", 5])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    deployment = Deployment.new()
    flow, queue = flow_in(deployment), sqs.Queue(deployment.stack, "Orders")
    with pytest.raises(ValueError, match="name_from"):
        start_by_messages(flow, queue, name_from=path)
    assert deployment.all("Lambda::EventSourceMapping") == {}
