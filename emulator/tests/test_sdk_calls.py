"""Custom resources of the CDK's `AwsCustomResource`."""

import json
from typing import Any

import pytest

NAME = "/sdk-calls/value"


def _call(action: str, service: str = "SSM", **others: Any) -> str:
    return json.dumps({"service": service, "action": action, **others})


@pytest.fixture
def function(cloud: Any) -> str:
    """Stand-in for the CDK's function, which would need Node.js: it would never answer."""
    name: str = cloud.function("def handler(event, context): return None")
    return f"arn:aws:lambda:us-east-1:000000000000:function:{name}"


def _ended(stacks: Any, name: str) -> str | None:
    status: str = stacks.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    return None if status.endswith("IN_PROGRESS") else status


def _deploy(cloud: Any, name: str, function: str, outputs: Any = (), **calls: str) -> tuple[str, dict[str, str], str]:
    """Create a stack with the resource; return its status, outputs, and the reason of a failure."""
    properties = {"ServiceToken": function, "InstallLatestAwsSdk": "false", **calls}
    template = {
        "Resources": {"Thing": {"Type": "Custom::AWS", "Properties": properties}},
        "Outputs": {
            "Id": {"Value": {"Ref": "Thing"}},
            **{f"Out{number}": {"Value": {"Fn::GetAtt": ["Thing", path]}} for number, path in enumerate(outputs)},
        },
    }
    stacks = cloud.client("cloudformation")
    stacks.create_stack(StackName=name, TemplateBody=json.dumps(template))
    status = cloud.until(lambda: _ended(stacks, name))
    (stack,) = stacks.describe_stacks(StackName=name)["Stacks"]
    events = stacks.describe_stack_events(StackName=name)["StackEvents"]
    reasons = [event.get("ResourceStatusReason", "") for event in events if event["LogicalResourceId"] == "Thing"]
    return status, {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())}, "".join(reasons)


def test_call_is_sent_at_creation_and_at_deletion(cloud: Any, function: str) -> None:
    ssm, stacks = cloud.client("ssm"), cloud.client("cloudformation")
    create = _call(
        "PutParameterCommand",
        "@aws-sdk/client-ssm",
        parameters={"Name": NAME, "Value": "PHYSICAL:RESOURCEID:", "Type": "String", "Overwrite": "true"},
        physicalResourceId={"id": "own-id"},
    )
    delete = _call("deleteParameter", parameters={"Name": NAME})
    status, outputs, reason = _deploy(cloud, "sdk-written", function, Create=create, Delete=delete)
    assert (status, outputs, reason) == ("CREATE_COMPLETE", {"Id": "own-id"}, "")
    assert ssm.get_parameter(Name=NAME)["Parameter"]["Value"] == "own-id"
    stacks.delete_stack(StackName="sdk-written")
    stacks.get_waiter("stack_delete_complete").wait(StackName="sdk-written", WaiterConfig={"Delay": 1})
    with pytest.raises(ssm.exceptions.ParameterNotFound):
        ssm.get_parameter(Name=NAME)


def test_response_gives_attributes_and_physical_id(cloud: Any, function: str) -> None:
    cloud.client("ssm").put_parameter(Name="/sdk-calls/read", Value="seen", Type="String")
    create = _call(
        "getParameter",
        parameters={"Name": "/sdk-calls/read"},
        physicalResourceId={"responsePath": "Parameter.Name"},
        outputPaths=["Parameter"],
    )
    status, outputs, reason = _deploy(cloud, "sdk-read", function, ["Parameter.Value"], Create=create)
    assert (status, reason) == ("CREATE_COMPLETE", "")
    assert outputs == {"Id": "/sdk-calls/read", "Out0": "seen"}


def test_names_of_the_javascript_sdk_are_understood(cloud: Any, function: str) -> None:
    create = _call("createLogGroup", "CloudWatchLogs", parameters={"logGroupName": "sdk-calls"})
    assert _deploy(cloud, "sdk-named", function, Create=create)[0] == "CREATE_COMPLETE"
    assert cloud.logs.describe_log_groups(logGroupNamePrefix="sdk-calls")["logGroups"]


def test_refused_call_fails_the_stack_unless_ignored(cloud: Any, function: str) -> None:
    call = {"action": "getParameter", "parameters": {"Name": "/sdk-calls/none"}}
    status, _, reason = _deploy(cloud, "sdk-refused", function, Create=_call(**call))
    assert status == "ROLLBACK_COMPLETE"
    assert "Custom resource Thing (Custom::AWS)" in reason
    assert "ParameterNotFound" in reason
    ignoring = _call(**call, ignoreErrorCodesMatching="ParameterNot.*")
    assert _deploy(cloud, "sdk-ignored", function, Create=ignoring)[0] == "CREATE_COMPLETE"


@pytest.mark.parametrize(("service", "action"), [("Nothing", "put"), ("SSM", "putNothing")])
def test_unknown_call_fails_the_stack_with_its_name(cloud: Any, function: str, service: str, action: str) -> None:
    status, _, reason = _deploy(cloud, f"sdk-{action}", function, Create=_call(action, service))
    assert status == "ROLLBACK_COMPLETE"
    assert (service if action == "put" else action) in reason
