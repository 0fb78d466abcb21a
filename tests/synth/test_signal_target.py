"""Event sources that send signals: what the rule sends, where, and who may."""

from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk import aws_events as events

from tests.synth.deployment import Deployment, flat, function
from tests.synth.linting import complaints
from tests.synth.machines import chain
from unum_constructs import ConstructError, UnumSignalTarget, UnumWorkflow

PATTERN = events.EventPattern(source=["shop"])
WAITS = {"StartAt": "W", "States": {"W": {"Type": "Task", "Resource": "unum:signal:paid", "End": True}}}
ORDER = events.EventField.from_path("$.detail.order")


def flow_in(deployment: Deployment) -> UnumWorkflow:
    return deployment.flow(WAITS, {}, sweep=None)


def test_rule_may_invoke_the_signal_alias_only_and_its_failures_are_kept() -> None:
    deployment = Deployment.new()
    flow = flow_in(deployment)
    for number in (1, 2):  # two rules share the alias
        target = UnumSignalTarget(flow, "paid", key=ORDER, value=events.EventField.from_path("$.detail"))
        events.Rule(deployment.stack, f"Rule{number}", event_pattern=PATTERN, targets=[target])
    path = "Flow/ControlFunction/Signal-events"
    alias = deployment.properties(path)
    assert alias["Name"] == "signal-events-Flow"
    permissions = [each["Properties"] for each in deployment.all("Lambda::Permission").values()]
    assert [flat(each["FunctionName"]) for each in permissions] == [deployment.logical_id(path)] * 2
    assert {each["Principal"] for each in permissions} == {"events.amazonaws.com"}
    assert all("SourceArn" in each for each in permissions)
    configured = [
        each["Properties"]
        for each in deployment.all("Lambda::EventInvokeConfig").values()
        if each["Properties"]["Qualifier"] == "signal-events-Flow"
    ]
    (failures,) = configured
    assert "Failures" in flat(failures["DestinationConfig"]["OnFailure"]["Destination"])
    assert complaints(deployment.template) == []


def test_the_request_takes_from_the_event_what_it_was_told_alone() -> None:
    deployment = Deployment.new()
    target = UnumSignalTarget(flow_in(deployment), "paid", key=ORDER, keep=Duration.hours(2))
    events.Rule(deployment.stack, "Rule", event_pattern=PATTERN, targets=[target])
    (found,) = deployment.only("Events::Rule")["Targets"]
    transformer = found["InputTransformer"]
    assert transformer["InputPathsMap"] == {"detail-order": "$.detail.order", "f2": "$", "id": "$.id"}
    assert transformer["InputTemplate"] == (
        '{"$unum":1,"control":"signal","signal":"paid","key":<detail-order>,"keep_s":7200,"value":<f2>,"id":<id>}'
    )


def test_workflows_without_such_a_target_have_no_such_alias() -> None:
    deployment = Deployment.new()
    flow_in(deployment)
    assert "signal-events-Flow" not in {each["Properties"]["Name"] for each in deployment.all("Lambda::Alias").values()}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "got neither"),
        ({"execution": ORDER, "keep": Duration.hours(2)}, "keep"),
        ({"key": ORDER, "value": float("nan")}, "value: expected JSON"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        UnumSignalTarget(flow_in(Deployment.new()), "paid", **options)


def test_a_workflow_that_waits_for_nothing_and_an_invalid_name_are_refused() -> None:
    deployment = Deployment.new()
    flow = deployment.flow(chain("A"), {"A": function(deployment.stack, "A")}, sweep=None)
    with pytest.raises(ConstructError, match="a Task that waits for one"):
        UnumSignalTarget(flow, "paid", key="7")
    with pytest.raises(ValueError, match="signal: expected"):
        UnumSignalTarget(flow, "not a name", key="7")
