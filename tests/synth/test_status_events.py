"""Status events: who may put them, rules for them, and what cannot be."""

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sqs as sqs

from tests.synth.deployment import Deployment, function
from tests.synth.linting import complaints
from tests.synth.machines import chain
from unum_constructs import ConstructError, Monitoring, Store, UnumWorkflow
from unum_constructs.layer.features import LayerFacts, unused_folders

PUT = "events:PutEvents"
THERE = "arn:aws:events:us-east-1:210987654321:event-bus/there"


def announced(**options: Any) -> tuple[Deployment, UnumWorkflow]:
    """A workflow with a bus of the stack."""
    deployment = Deployment.new()
    bus = events.EventBus(deployment.stack, "Bus")
    functions = {key: function(deployment.stack, key) for key in ("A", "B")}
    return deployment, deployment.flow(chain(*functions), functions, monitoring=Monitoring(events=bus), **options)


def putting(deployment: Deployment) -> dict[str, Any]:
    """Resources on which policies allow to put events, by the policy's logical id."""
    found: dict[str, Any] = {}
    for name, policy in deployment.all("IAM::Policy").items():
        for each in policy["Properties"]["PolicyDocument"]["Statement"]:
            if PUT in each["Action"]:
                assert each["Action"] == PUT
                found[name] = each["Resource"]
    return found


def test_each_function_that_commits_may_put_events_on_that_bus_alone() -> None:
    waiting = chain("A", "B")
    waiting["States"]["A"]["Next"] = "W"
    waiting["States"]["W"] = {"Type": "Wait", "Seconds": 5, "Next": "B"}
    deployment = Deployment.new()
    bus = events.EventBus(deployment.stack, "Bus")
    deployment.flow(waiting, {key: function(deployment.stack, key) for key in "AB"}, monitoring=Monitoring(events=bus))
    arn = {"Fn::GetAtt": [deployment.logical_id("Bus"), "Arn"]}
    policies = (
        "Flow/Permissions/A",
        "Flow/Permissions/B",
        "Flow/OnFailure/Permissions",
        "Flow/ControlFunction/Permissions",
    )
    assert putting(deployment) == {deployment.logical_id(path): arn for path in policies}


def test_functions_know_the_bus() -> None:
    deployment, _ = announced()
    bus = deployment.logical_id("Bus")
    for path in ("A", "B", "Flow/OnFailure/Handler", "Flow/ControlFunction/Function"):
        assert bus in deployment.services(path)["Flow"]["events"]


def test_without_events_nothing_is_there() -> None:
    deployment = Deployment.of(chain("A"), "A")
    assert putting(deployment) == {}
    assert "events" not in deployment.services("A")["Flow"]
    assert deployment.all("Events::Rule") == {}


def test_modules_for_events_are_in_layers_of_workflows_with_events_alone() -> None:
    _, flow = announced()
    own = unused_folders(LayerFacts(flow._workflow)) - unused_folders(LayerFacts(flow._workflow, events=True))
    assert own == {"features/status_events"}


def test_an_encrypted_bus_needs_no_permission_of_functions() -> None:
    deployment = Deployment.new()
    bus = events.EventBus(deployment.stack, "Bus", kms_key=kms.Key(deployment.stack, "Key"))
    deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, monitoring=Monitoring(events=bus))
    assert len(putting(deployment)) == 3
    actions = [
        action
        for policy in deployment.all("IAM::Policy").values()
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
        for action in ([each["Action"]] if isinstance(each["Action"], str) else each["Action"])
    ]
    assert not [action for action in actions if action.startswith("kms:")]


def test_a_bus_of_another_account() -> None:
    deployment = Deployment(Stack(App(), "Stack", env=Environment(account="123456789012", region="us-east-1")))
    bus = events.EventBus.from_event_bus_arn(deployment.stack, "Bus", THERE)
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, monitoring=Monitoring(events=bus))
    with pytest.raises(
        ConstructError, match=r"expected a bus of the account 123456789012 for a rule, got .*there: make"
    ):
        flow.on_execution_failed("Failed")
    assert {*putting(deployment).values()} == {THERE}
    assert deployment.services("A")["Flow"]["events"] == THERE


@pytest.mark.parametrize(
    ("method", "status"),
    [
        ("on_execution_started", "RUNNING"),
        ("on_execution_succeeded", "SUCCEEDED"),
        ("on_execution_failed", "FAILED"),
        ("on_execution_timed_out", "TIMED_OUT"),
        ("on_execution_aborted", "ABORTED"),
    ],
)
def test_a_rule_for_each_status(method: str, status: str) -> None:
    deployment, flow = announced()
    queue = sqs.Queue(deployment.stack, "Queue")
    rule = getattr(flow, method)("Rule", target=targets.SqsQueue(queue), rule_name="told", description="Tells somebody")
    assert isinstance(rule, events.Rule)
    assert rule.node.path == "Stack/Flow/Rule"
    found = deployment.only("Events::Rule")
    machine = {
        "Fn::Join": [
            "",
            [
                *("arn:", {"Ref": "AWS::Partition"}, ":states:", {"Ref": "AWS::Region"}, ":"),
                *({"Ref": "AWS::AccountId"}, ":stateMachine:Flow"),
            ],
        ]
    }
    assert found["EventPattern"] == {
        "source": ["unum"],
        "detail-type": ["Unum Execution Status Change"],
        "detail": {"stateMachineArn": [machine], "status": [status]},
    }
    assert found["EventBusName"] == {"Ref": deployment.logical_id("Bus")}
    assert (found["Name"], found["Description"]) == ("told", "Tells somebody")
    assert found["Targets"][0]["Arn"] == {"Fn::GetAtt": [deployment.logical_id("Queue"), "Arn"]}


def test_a_rule_for_some_statuses_and_further_conditions_in_another_stack() -> None:
    app = App()
    deployment, other = Deployment(Stack(app, "Stack")), Deployment(Stack(app, "Other"))
    bus = events.EventBus(deployment.stack, "Bus")
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, monitoring=Monitoring(events=bus))
    flow.on_execution_status_change(
        "Rule",
        statuses=["FAILED", "TIMED_OUT"],
        event_pattern=events.EventPattern(detail={"error": ["Lambda.Unknown"]}),
        cross_stack_scope=other.stack,
    )
    flow.on_execution_status_change("Every")
    detail = other.only("Events::Rule")["EventPattern"]["detail"]
    assert (detail["status"], detail["error"]) == (["FAILED", "TIMED_OUT"], ["Lambda.Unknown"])
    assert [*deployment.only("Events::Rule")["EventPattern"]["detail"]] == ["stateMachineArn"]


def test_rules_of_imported_workflows() -> None:
    deployment = Deployment.new()
    alias = "arn:aws-cn:lambda:cn-north-1:123456789012:function:f:start-W"
    given: dict[str, Any] = {"workflow_name": "W", "table": "t", "start_alias_arn": alias}
    bus = events.EventBus(deployment.stack, "Bus")
    flow = UnumWorkflow.from_workflow_attributes(deployment.stack, "Imported", **given, events=bus)
    flow.on_execution_failed("Failed")
    by_name = UnumWorkflow.from_workflow_name(deployment.stack, "ByName", "V", events=bus)
    by_name.on_execution_failed("Failed")
    machines = [
        rule["Properties"]["EventPattern"]["detail"]["stateMachineArn"]
        for rule in deployment.all("Events::Rule").values()
    ]
    assert ["arn:aws-cn:states:cn-north-1:123456789012:stateMachine:W"] in machines
    assert len(machines) == 2
    other = UnumWorkflow.from_workflow_attributes(deployment.stack, "Other", **given)
    with pytest.raises(ConstructError, match="events: expected a bus for status events, got None"):
        other.on_execution_failed("Failed")
    with pytest.raises(ConstructError, match=r"events: expected an aws_events\.IEventBus, got 'bus'"):
        UnumWorkflow.from_workflow_attributes(deployment.stack, "Wrong", **given, events="bus")  # type: ignore[arg-type]


@pytest.mark.parametrize("statuses", ["FAILED", ["failed"], [1]])
def test_other_statuses_are_refused(statuses: Any) -> None:
    _, flow = announced()
    with pytest.raises(ConstructError, match=r"statuses: expected some of \['RUNNING', "):
        flow.on_execution_status_change("Rule", statuses=statuses)


def test_what_is_no_bus_is_refused() -> None:
    with pytest.raises(ConstructError, match=r"events: expected an aws_events\.IEventBus, got 'default'"):
        Deployment.of(chain("A"), "A", monitoring=Monitoring(events="default"))  # type: ignore[arg-type]


def test_without_a_sweep_events_are_refused() -> None:
    with pytest.raises(ConstructError, match="events: expected a sweep"):
        announced(sweep=None)
    with pytest.raises(ConstructError, match="events: expected a sweep"):
        announced(store=Store.dynamodb(list_executions=False))


def test_a_bus_of_another_region_is_refused() -> None:
    deployment = Deployment(Stack(App(), "Stack", env=Environment(account="123456789012", region="eu-west-1")))
    bus = events.EventBus.from_event_bus_arn(deployment.stack, "Bus", THERE)
    with pytest.raises(ConstructError, match=f"expected a bus of the region eu-west-1, got {THERE}"):
        deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, monitoring=Monitoring(events=bus))


def test_functions_of_other_stacks_need_a_bus_that_they_know() -> None:
    app = App()
    deployment, early = Deployment(Stack(app, "Stack")), Stack(app, "Early")
    functions = {"A": function(early, "A")}
    bus = events.EventBus(deployment.stack, "Bus")
    with pytest.raises(
        ConstructError, match="expected a bus that functions of 'Early' know, got 'Stack/Bus' of 'Stack'"
    ):
        deployment.flow(chain("A"), functions, monitoring=Monitoring(events=bus))
    given = events.EventBus.from_event_bus_arn(deployment.stack, "Given", THERE)
    deployment.flow(chain("A"), {"A": function(early, "A2")}, "Flow2", monitoring=Monitoring(events=given))
    assert len(putting(deployment)) >= 3
    assert Deployment(early).services("A2")["Flow2"]["events"] == THERE


def test_state_in_a_bucket() -> None:
    deployment, _ = announced(store=Store.s3())
    assert len(putting(deployment)) == 4


def test_cloudformation_accepts_the_template() -> None:
    deployment, flow = announced()
    flow.on_execution_failed("Failed")
    assert complaints(deployment.template) == []
