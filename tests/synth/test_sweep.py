"""Sweeps: rights, requests and refused options of the schedule."""

import json
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration
from aws_cdk import aws_dynamodb as dynamodb

from tests.synth.deployment import Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import chain
from unum_constructs import ConstructError, Store, Sweep
from unum_runtime.protocol.control.sweep import Sweep as Request

EXPLICIT = Sweep.every(Duration.hours(1))
UNLISTED = Store.dynamodb(list_executions=False)


def swept(sweep: Sweep | None, store: Store | None = None, **options: Any) -> Deployment:
    """A workflow with `sweep`, and a function with `options`."""
    deployment = Deployment.new()
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A", **options)}, store=store, sweep=sweep)
    return deployment


def default(**options: Any) -> Deployment:
    """A workflow that says nothing of sweeps."""
    deployment = Deployment.new()
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, **options)
    return deployment


@pytest.fixture(scope="module")
def hourly() -> Deployment:
    return default()


def test_the_default_is_a_sweep_each_hour(hourly: Deployment) -> None:
    assert hourly.template == swept(Sweep.every(Duration.hours(1), silent_for=Duration.hours(1))).template


def test_it_can_be_left_out(hourly: Deployment) -> None:
    without, added = swept(None), hourly.template["Resources"].keys()
    assert without.all("Scheduler::Schedule") == {}
    kinds = sorted(hourly.template["Resources"][name]["Type"] for name in added - without.template["Resources"].keys())
    assert kinds == [
        "AWS::IAM::Role",
        "AWS::Lambda::Alias",
        "AWS::Lambda::EventInvokeConfig",
        "AWS::Scheduler::Schedule",
    ]


def test_a_schedule_asks_the_control_function_through_an_alias(hourly: Deployment) -> None:
    schedule = hourly.only("Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "rate(1 hour)"
    assert schedule["Target"]["Arn"] == {"Ref": hourly.logical_id("Flow/ControlFunction/Sweep")}
    assert schedule["Target"]["RoleArn"] == {"Fn::GetAtt": [hourly.logical_id("Flow/Sweep/Role"), "Arn"]}
    asked = Request.from_json(json.loads(flat(schedule["Target"]["Input"])))
    assert asked == Request(silent_ms=3_600_000, nudges=True, letters=hourly.logical_id("Flow/Failures"))


def test_it_is_asked_for_what_one_likes() -> None:
    sweep = Sweep.every(Duration.minutes(5), nudge=False, silent_for=Duration.minutes(20))
    schedule = swept(sweep).only("Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "rate(5 minutes)"
    asked = Request.from_json(json.loads(flat(schedule["Target"]["Input"])))
    assert (asked.silent_ms, asked.nudges) == (1_200_000, False)


def test_the_schedule_may_invoke_that_alias_and_nothing_else(hourly: Deployment) -> None:
    control = hourly.logical_id("Flow/ControlFunction/Sweep")
    assert hourly.logical_id("Flow/ControlFunction/Permissions") in hourly.resource("Flow/Sweep/Schedule")["DependsOn"]
    (own,) = hourly.properties("Flow/Sweep/Role")["Policies"]
    (statement,) = own["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Allow", "lambda:InvokeFunction")
    assert statement["Resource"] == {"Ref": control}
    ((trust,),) = [hourly.properties("Flow/Sweep/Role")["AssumeRolePolicyDocument"]["Statement"]]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def test_the_handler_may_list_executions_of_this_workflow(hourly: Deployment) -> None:
    *_, statement, letters = hourly.properties("Flow/ControlFunction/Permissions")["PolicyDocument"]["Statement"]
    assert statement["Action"] == "dynamodb:Query"
    assert flat(statement["Resource"]).endswith("/index/executions")
    assert statement["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["Flow/*"]}}
    assert letters["Action"] == ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
    assert letters["Resource"] == {"Fn::GetAtt": [hourly.logical_id("Flow/Failures"), "Arn"]}


def test_sweeps_that_fail_are_dead_letters(hourly: Deployment) -> None:
    configuration = hourly.properties("Flow/Sweep/EventInvokeConfig")
    assert configuration["Qualifier"] == "sweep-Flow"
    assert configuration["DestinationConfig"]["OnFailure"]["Destination"] == {
        "Fn::GetAtt": [hourly.logical_id("Flow/Failures"), "Arn"]
    }
    assert (
        hourly.logical_id("Flow/ControlFunction/Sweep") in hourly.resource("Flow/Sweep/EventInvokeConfig")["DependsOn"]
    )


def test_linters_have_nothing_to_say(hourly: Deployment) -> None:
    assert complaints(hourly.template) == []


def test_a_table_that_lists_nothing_is_refused() -> None:
    with pytest.raises(ConstructError, match=r"Stack/Flow: sweep: expected a table that lists .*list_executions=True"):
        swept(EXPLICIT, UNLISTED)


def own_table(deployment: Deployment) -> dynamodb.Table:
    pk, sk = (dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING) for name in ("pk", "sk"))
    return dynamodb.Table(deployment.stack, "Own", partition_key=pk, sort_key=sk, time_to_live_attribute="ttl")


def imported_table(deployment: Deployment) -> dynamodb.ITable:
    return dynamodb.Table.from_table_name(deployment.stack, "Imported", "executions")


@pytest.mark.parametrize("table", [own_table, imported_table, None])
def test_default_without_anything_listed_is_no_sweep_and_says_so_once(table: Any) -> None:
    deployment = Deployment.new()
    store = UNLISTED if table is None else Store.dynamodb(table=table(deployment))
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, store=store)
    assert deployment.all("Scheduler::Schedule") == {}
    (reply,) = [each for each in deployment._messages("aws:cdk:info") if "NoSweep" in each.text]
    assert "sweep=None" in reply.text
    assert deployment.warnings() == []


def test_who_says_that_there_is_no_sweep_is_told_nothing() -> None:
    deployment = swept(None, UNLISTED)
    assert [each for each in deployment._messages("aws:cdk:info") if "NoSweep" in each.text] == []


def test_workflows_of_one_table_have_sweeps_of_their_own() -> None:
    deployment = default()
    table = deployment.stack.node.find_child("Flow").table  # type: ignore[attr-defined]
    functions = {"A": function(deployment.stack, "B")}
    deployment.flow(chain("A"), functions, "Second", store=Store.dynamodb(table=table))
    assert len(deployment.all("Scheduler::Schedule")) == 2


def test_a_table_of_which_nothing_is_known_is_taken() -> None:
    deployment = Deployment.new()
    table = dynamodb.Table.from_table_name(deployment.stack, "Table", "executions")
    functions = {"A": function(deployment.stack, "A")}
    deployment.flow(chain("A"), functions, store=Store.dynamodb(table=table), sweep=EXPLICIT)
    assert deployment.all("Scheduler::Schedule")


@pytest.mark.parametrize("interval", [Duration.seconds(59), Duration.seconds(90), Duration.millis(1)])
def test_intervals_are_whole_minutes(interval: Duration) -> None:
    with pytest.raises(ConstructError, match="Flow: sweep: every: expected whole minutes, at least one, got"):
        swept(Sweep.every(interval))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"interval": 60}, "sweep: every: expected an aws_cdk.Duration, got 60"),
        (
            {"interval": Duration.hours(1), "silent_for": "1h"},
            "sweep: silent_for: expected an aws_cdk.Duration, got '1h'",
        ),
        ({"interval": Duration.hours(1), "nudge": "no"}, "sweep: nudge: expected a bool, got 'no'"),
    ],
)
def test_what_is_of_another_kind(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConstructError) as caught:
        swept(Sweep.every(**options))
    assert str(caught.value) == f"Stack/Flow: {reason}"


def test_what_runs_is_not_silent() -> None:
    sweep = Sweep.every(Duration.hours(1), silent_for=Duration.seconds(30))
    with pytest.raises(ConstructError, match=r"silent_for: expected more than 30 s, .* Stack/A, got 30 s"):
        swept(sweep, timeout=Duration.seconds(30))
    assert swept(sweep, timeout=Duration.seconds(29)).all("Scheduler::Schedule")


def test_a_timeout_that_only_the_deployment_knows_is_not_compared() -> None:
    deployment = Deployment.new()
    timeout = CfnParameter(deployment.stack, "Timeout", type="Number", default=60).value_as_number
    functions = {"A": function(deployment.stack, "A", timeout=Duration.seconds(timeout))}
    sweep = Sweep.every(Duration.hours(1), silent_for=Duration.seconds(30))
    deployment.flow(chain("A"), functions, store=Store.dynamodb(list_executions=True), sweep=sweep)
    assert deployment.all("Scheduler::Schedule")
