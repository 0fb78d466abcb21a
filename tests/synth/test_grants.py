"""Exact rights of grantees, on workflows of this app and on imported ones."""

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from tests.synth.deployment import Deployment, flat, function
from tests.synth.machines import chain, machine, task
from unum_constructs import ConstructError, IUnumWorkflow, UnumWorkflow, UnumWorkflowTarget

INVOKE = ["lambda:InvokeFunction"]
CREATE = ["dynamodb:PutItem"]
READ = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"]
LIST = ["dynamodb:Query"]
ALIAS = "arn:aws:lambda:eu-west-1:123456789012:function:f:start-Flow"
DESCRIBE = "arn:aws:lambda:eu-west-1:123456789012:function:c:describe-Flow"


def who(stack: Stack) -> iam.Role:
    return iam.Role(stack, "Who", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))


Grant = Callable[[UnumWorkflow, iam.IGrantable], iam.Grant]


@pytest.mark.parametrize(
    "grant",
    [
        UnumWorkflow.grant_start,
        UnumWorkflow.grant_start_sync,
        UnumWorkflow.grant_describe,
        UnumWorkflow.grant_task_response,
        UnumWorkflow.grant_stop,
        lambda flow, own: flow.grant(own, "lambda:GetAlias"),
    ],
)
def test_what_would_be_a_circle_is_refused(grant: Grant) -> None:
    deployment = Deployment.new()
    own = function(deployment.stack, "A")
    flow = deployment.flow(chain("A"), {"A": own})
    with pytest.raises(
        ConstructError, match=r"^Stack/Flow: grant: expected neither the workflow nor .* or its role, got Stack/A,"
    ):
        grant(flow, own)
    assert own.role is not None
    with pytest.raises(
        ConstructError, match=r"^Stack/Flow: grant: expected neither .*, got Stack/ARole, which is depl"
    ):
        grant(flow, own.role)
    assert flow.grant_read(own).success
    own.add_environment("TABLE", flow.table.table_name)
    assert deployment.template, "without a circle"


@pytest.mark.parametrize("of", ["function", "alias", "role"])
def test_a_called_function_is_deployed_before_the_aliases_too(of: str) -> None:
    deployment = Deployment.new()
    own = function(deployment.stack, "A")
    live = own.add_alias("live")
    flow = deployment.flow(chain("A"), {"A": live})
    grantee: Any = {"function": own, "alias": live, "role": own.role}[of]
    for grant in (UnumWorkflow.grant_task_response, UnumWorkflow.grant_start):
        with pytest.raises(ConstructError, match=r"^Stack/Flow: grant: expected neither .*, got Stack/A(Role)?, which"):
            grant(flow, grantee)
    assert flow.grant_read(grantee).success
    assert deployment.template, "without a circle"


def test_a_called_function_answers_if_the_workflow_knows_it_by_name() -> None:
    deployment = Deployment.new()
    stack = deployment.stack
    long = function(stack, "A", function_name="long", runtime=lambda_.Runtime.PYTHON_3_12)
    waiting = {**task("arn:aws:states:::lambda:invoke.waitForTaskToken")}
    waiting["Parameters"] = {"FunctionName": "A", "Payload.$": "$$.Task"}
    flow = deployment.flow(machine(A=waiting), {"A": lambda_.Function.from_function_name(stack, "Long", "long")})
    assert flow.grant_task_response(long).success
    flow.add_task_response_url().grant_invoke_url(long)
    assert deployment.template, "without a circle"


@pytest.mark.parametrize(
    ("grant", "expected"),
    [
        (UnumWorkflow.grant_start, [(INVOKE, "Run", "Start")]),
        (UnumWorkflow.grant_start_sync, [(INVOKE, "Run", "Start"), (INVOKE, "Describe")]),
        (UnumWorkflow.grant_describe, [(INVOKE, "Describe")]),
        (UnumWorkflow.grant_read, [(READ, "Table"), (LIST, "index"), (INVOKE, "Describe")]),
        (UnumWorkflow.grant_task_response, [(INVOKE, "Respond")]),
        (
            lambda flow, role: flow.grant(role, "lambda:GetAlias", "dynamodb:Scan", "dynamodb:DescribeTable"),
            [(["lambda:GetAlias"], "Start"), (["dynamodb:DescribeTable", "dynamodb:Scan"], "Table")],
        ),
    ],
)
def test_grants(grant: Grant, expected: list[Any]) -> None:
    assert granted(grant) == expected


def granted(grant: Grant) -> list[Any]:
    """Actions of each statement, and the resources by their place in the workflow."""
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    assert grant(flow, who(deployment.stack)).success
    named = {deployment.logical_id(f"Flow/{each}"): each for each in ("Run", "Start", "Describe", "Respond")}
    table = f"{deployment.logical_id('Flow/Table')}.Arn"
    named |= {table: "Table", f"{table}/index/executions": "index"}
    return [(actions, *(named[arn] for arn in arns)) for actions, arns in deployment.statements("Who/DefaultPolicy")]


def test_readers_see_one_workflow_alone_and_no_tokens() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    flow.grant_read(who(deployment.stack))
    conditions = [
        each.get("Condition") for each in deployment.properties("Who/DefaultPolicy")["PolicyDocument"]["Statement"]
    ]
    assert conditions == [
        {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["start:Flow/*", "Flow/*", "definition:Flow/*"]}},
        {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["Flow/*"]}},
        None,
    ]


@pytest.mark.parametrize("actions", [(), ("sqs:SendMessage",), ("lambda:GetAlias", "s3:GetObject"), ("*",)])
def test_actions_that_have_nothing_to_do_with_it(actions: tuple[str, ...]) -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    with pytest.raises(ConstructError, match=r"^Stack/Flow: grant: expected actions of \['dynamodb', 'lambda'\], got"):
        flow.grant(who(deployment.stack), *actions)


def test_a_role_of_another_stack() -> None:
    app = App()
    deployment = Deployment(Stack(app, "Stack"))
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")})
    other = Deployment(Stack(app, "Web"))
    flow.grant_start(who(other.stack))
    ((invoke, arns),) = other.statements("Who/DefaultPolicy")
    assert invoke == INVOKE
    assert "FlowRun" in arns[0]


def imported(stack: Stack) -> IUnumWorkflow:
    queue = sqs.Queue.from_queue_arn(stack, "Work", "arn:aws:sqs:eu-west-1:123456789012:work")
    return UnumWorkflow.from_workflow_attributes(
        stack,
        "Flow",
        workflow_name="Flow",
        table="table",
        start_alias_arn=ALIAS,
        describe_alias_arn=DESCRIBE,
        activities={"work": queue},
    )


@pytest.mark.parametrize(
    ("option", "arn"),
    [
        ("start_alias_arn", ALIAS.rpartition(":")[0]),
        ("start_alias_arn", "start-Flow"),
        ("start_alias_arn", None),
    ],
)
def test_an_address_that_is_no_alias(option: str, arn: Any) -> None:
    named = {"workflow_name": "Flow", "table": "table", "start_alias_arn": ALIAS, option: arn}
    with pytest.raises(ConstructError, match=rf"/Flow: {option}: expected arn:PARTITION:.*:ALIAS, got {arn!r}$"):
        UnumWorkflow.from_workflow_attributes(Stack(), "Flow", **named)


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        (
            "start_alias_arn",
            ALIAS.replace("start-Flow", "start-Other"),
            "expected the alias 'start-Flow' of workflow 'Fl",
        ),
        (
            "start_alias_arn",
            ALIAS.replace("start-Flow", "7"),
            "expected the alias 'start-Flow' of workflow 'Flow', got",
        ),
        ("control_function_arn", ALIAS, "expected arn:PARTITION:.*:FUNCTION, without an alias, got"),
        ("table", None, "expected an aws_dynamodb.ITable, got None"),
        ("payload_bucket", 5, "expected an aws_s3.IBucket or its name, got 5"),
    ],
)
def test_what_the_workflow_cannot_have(option: str, given: Any, said: str) -> None:
    named = {"workflow_name": "Flow", "table": "table", "start_alias_arn": ALIAS, option: given}
    with pytest.raises(ConstructError, match=f"/Flow: {option}: {said}"):
        UnumWorkflow.from_workflow_attributes(Stack(), "Flow", **named)


def test_activities_are_queues_by_name() -> None:
    named: Any = {"workflow_name": "Flow", "table": "table", "start_alias_arn": ALIAS}
    for wrong, said in (
        ({"work": "https://"}, r"activities\['work'\]: expected an aws_sqs.IQueue"),
        (["w"], "activities: e"),
    ):
        with pytest.raises(ConstructError, match=f"/Flow: {said}"):
            UnumWorkflow.from_workflow_attributes(Stack(), "Flow", **named, activities=wrong)  # type: ignore[arg-type]


def test_a_table_may_be_named_by_its_arn() -> None:
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/table"
    flow = UnumWorkflow.from_workflow_attributes(Stack(), "F", workflow_name="Flow", table=arn, start_alias_arn=ALIAS)
    assert (flow.table.table_name, flow.table.table_arn) == ("table", arn)


def test_grants_on_what_is_imported() -> None:
    deployment = Deployment(Stack(App(), "Web", env=Environment(account="123456789012", region="eu-west-1")))
    flow, role = imported(deployment.stack), who(deployment.stack)
    flow.grant_start_sync(role)
    flow.grant_activity(role, "work")
    assert deployment.statements("Who/DefaultPolicy") == [
        (INVOKE, [ALIAS.replace("start-", "run-"), ALIAS]),
        (INVOKE, [DESCRIBE]),
        (["sqs:DeleteMessage", "sqs:ReceiveMessage"], ["arn:aws:sqs:eu-west-1:123456789012:work"]),
        (INVOKE, [ALIAS.replace("start-", "respond-")]),
    ]


def test_who_describes_an_imported_workflow_names_its_alias() -> None:
    stack = Stack()
    flow = UnumWorkflow.from_workflow_attributes(
        stack, "Flow", workflow_name="Flow", table="table", start_alias_arn=ALIAS
    )
    for grant in (flow.grant_describe, flow.grant_start_sync):
        with pytest.raises(ConstructError, match="describe_alias_arn: expected an ARN, got None"):
            grant(who(Stack()))
    assert flow.grant_read(who(stack)).success


def test_an_imported_workflow_as_a_target() -> None:
    deployment = Deployment(Stack(App(), "Web", env=Environment(account="123456789012", region="eu-west-1")))
    pattern = events.EventPattern(source=["shop"])
    events.Rule(
        deployment.stack, "Rule", event_pattern=pattern, targets=[UnumWorkflowTarget(imported(deployment.stack))]
    )
    assert deployment.only("Events::Rule")["Targets"] == [{"Arn": ALIAS, "Id": "Target0"}]
    assert deployment.only("Lambda::Permission")["FunctionName"] == ALIAS
    assert deployment.warnings() == []


def test_an_imported_alias_cannot_be_polled_for() -> None:
    deployment = Deployment.new()
    alias = imported(deployment.stack).start_alias
    alias.add_event_source_mapping("Poll", event_source_arn="arn:aws:sqs:eu-west-1:123456789012:q")
    with pytest.raises(
        RuntimeError, match="Poll: would invoke the function's unpublished version, not the start alias"
    ):
        _ = deployment.template


def test_a_workflow_is_found_by_its_name() -> None:
    app = App()
    deployment = Deployment(Stack(app, "Stack"))
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, workflow_name="my_flow", exported=True)
    web = Deployment(Stack(app, "Web"))
    flow = UnumWorkflow.from_workflow_name(web.stack, "Flow", "my_flow")
    flow.grant_start(who(web.stack))
    exports = {
        flat(output["Value"]): output["Export"]["Name"]
        for output in deployment.template["Outputs"].values()
        if "Export" in output
    }
    assert exports == {
        deployment.logical_id("Flow/Start"): "unum:my::flow:StartAlias",
        deployment.logical_id("Flow/Describe"): "unum:my::flow:DescribeAlias",
        f"{deployment.logical_id('Flow/ControlFunction/Function')}.Arn": "unum:my::flow:ControlFunction",
        deployment.logical_id("Flow/Table"): "unum:my::flow:Table",
    }
    (statement,) = web.properties("Who/DefaultPolicy")["PolicyDocument"]["Statement"]
    run, start = statement["Resource"]
    assert start == {"Fn::ImportValue": "unum:my::flow:StartAlias"}
    assert run["Fn::Join"][1][-1] == "run-my_flow"
    assert "unum:my::flow:StartAlias" in str(run)


def test_a_stack_exports_a_name_once() -> None:
    deployment = Deployment.new()
    where = {"workflow_name": "orders", "exported": True}
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, "One", **where)
    with pytest.raises(ConstructError, match=r"Two.*exported: another workflow of the stack is exported as 'orders'"):
        deployment.flow(chain("B"), {"B": function(deployment.stack, "B")}, "Two", **where)
