"""Custom resources: deployments that wait no longer than an answer can come, and the CDK's own providers."""

import json
import time
from typing import Any

import pytest

ROLE = "arn:aws:iam::000000000000:role/any"
ANSWER = """
import json, urllib.request

def answer(request, **others):
    data = json.dumps({"Status": "SUCCESS", "PhysicalResourceId": "one"} | others).encode()
    urllib.request.urlopen(urllib.request.Request(request["ResponseURL"], data, method="PUT"))
"""


def _deploy(cloud: Any, name: str, function: str, **properties: Any) -> tuple[str, str, float]:
    """Create a stack with a custom resource; return its status, the reason of a failure, and the duration."""
    properties["ServiceToken"] = f"arn:aws:lambda:us-east-1:000000000000:function:{function}"
    resource = {"Type": "Custom::Thing", "Properties": properties}
    stacks, started_s = cloud.client("cloudformation"), time.monotonic()
    stacks.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": {"Thing": resource}}))
    status = cloud.until(lambda: _ended(stacks, name))
    events = stacks.describe_stack_events(StackName=name)["StackEvents"]
    reasons = [event.get("ResourceStatusReason", "") for event in events if event["LogicalResourceId"] == "Thing"]
    return status, "".join(reasons), time.monotonic() - started_s


def _ended(stacks: Any, name: str) -> str | None:
    status: str = stacks.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    return None if status.endswith("IN_PROGRESS") else status


def test_function_that_never_answers_fails_its_stack(cloud: Any) -> None:
    function = cloud.function("def handler(event, context): return 'fine'")
    status, reason, duration_s = _deploy(cloud, "silent", function)
    assert status == "ROLLBACK_COMPLETE"
    assert f"Custom resource Thing (Custom::Thing): function {function} returned without an answer" in reason
    assert duration_s < 30


def test_function_that_fails_in_all_attempts_fails_its_stack(cloud: Any) -> None:
    function = cloud.function("def handler(event, context): raise ValueError('no such thing')")
    status, reason, duration_s = _deploy(cloud, "failing", function)
    assert status == "ROLLBACK_COMPLETE"
    assert f"function {function} failed without an answer to CloudFormation: ValueError: no such thing" in reason
    assert duration_s < 30


def test_function_that_fails_once_is_invoked_again(cloud: Any) -> None:
    source = "waiting = [ValueError]\ndef handler(event, _):\n    if waiting: raise waiting.pop()\n    answer(event)"
    assert _deploy(cloud, "retried", cloud.function(ANSWER + source))[0] == "CREATE_COMPLETE"


def test_update_to_another_function_fails(cloud: Any) -> None:
    source = "def handler(event, _): answer(event)"
    first, second = cloud.function(ANSWER + source), cloud.function(ANSWER + source)
    assert _deploy(cloud, "moved", first)[0] == "CREATE_COMPLETE"
    stacks = cloud.client("cloudformation")
    token = f"arn:aws:lambda:us-east-1:000000000000:function:{second}"
    resource = {"Type": "Custom::Thing", "Properties": {"ServiceToken": token}}
    stacks.update_stack(StackName="moved", TemplateBody=json.dumps({"Resources": {"Thing": resource}}))
    assert cloud.until(lambda: _ended(stacks, "moved")) == "UPDATE_ROLLBACK_COMPLETE"
    events = stacks.describe_stack_events(StackName="moved")["StackEvents"]
    assert "Modifying service token is not allowed." in str([event.get("ResourceStatusReason") for event in events])


def test_function_without_a_runtime_here_fails_its_stack(cloud: Any) -> None:
    function = cloud.function("", Runtime="ruby3.4")
    status, reason, duration_s = _deploy(cloud, "foreign", function)
    assert status == "ROLLBACK_COMPLETE"
    assert f"function {function} failed" in reason
    assert "ruby3.4 not supported" in reason
    assert duration_s < 30


def test_service_timeout_ends_the_wait_for_a_running_function(cloud: Any) -> None:
    function = cloud.function("import time\ndef handler(event, context): time.sleep(60)", Timeout=60)
    status, reason, duration_s = _deploy(cloud, "slow", function, ServiceTimeout="1")
    assert status == "ROLLBACK_COMPLETE"
    assert "'Thing' timed out after 1s" in reason
    assert function in reason
    assert duration_s < 30


def test_function_may_leave_the_answer_to_a_state_machine(cloud: Any) -> None:
    answering = cloud.function(ANSWER + "def handler(event, _): answer(event)")
    states = {
        "Wait": {"Type": "Wait", "Seconds": 8, "Next": "Answer"},  # longer than the wait for a silent function
        "Answer": {
            "Type": "Task",
            "Resource": f"arn:aws:lambda:us-east-1:000000000000:function:{answering}",
            "End": True,
        },
    }
    machine = cloud.client("stepfunctions").create_state_machine(
        name="answering", definition=json.dumps({"StartAt": "Wait", "States": states}), roleArn=ROLE
    )["stateMachineArn"]
    source = f"""
        import boto3, json

        def handler(event, context):
            boto3.client("stepfunctions").start_execution(stateMachineArn="{machine}", input=json.dumps(event))
    """
    status, _, duration_s = _deploy(cloud, "delegated", cloud.function(source, Timeout=30))
    assert status == "CREATE_COMPLETE"
    assert duration_s >= 8


def _bucket_template(**tags: str) -> str:
    """Return a bucket as the CDK's `auto_delete_objects` creates it."""
    code = {"ZipFile": 'exports.handler = require("@aws-sdk/client-s3").handler;'}
    function = {"Runtime": "nodejs22.x", "Handler": "index.handler", "Role": ROLE, "Code": code}
    bucket = {
        "BucketName": "emptied",
        "VersioningConfiguration": {"Status": "Enabled"},
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }
    custom = {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}, "BucketName": {"Ref": "Bucket"}}
    resources = {
        "Bucket": {"Type": "AWS::S3::Bucket", "Properties": bucket, "DeletionPolicy": "Retain"},
        "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
        "Cleanup": {"Type": "Custom::S3AutoDeleteObjects", "Properties": custom},
    }
    return json.dumps({"Resources": resources})


@pytest.mark.parametrize(("tag", "left"), [("true", 0), ("false", 4)])
def test_bucket_is_emptied_when_its_stack_is_deleted(cloud: Any, tag: str, left: int) -> None:
    stacks, s3 = cloud.client("cloudformation"), cloud.client("s3")
    template = _bucket_template(**{"aws-cdk:auto-delete-objects": tag})
    stacks.create_stack(StackName="emptied", TemplateBody=template)
    stacks.get_waiter("stack_create_complete").wait(StackName="emptied", WaiterConfig={"Delay": 1})
    for key in ("a b/ü&<", "a b/ü&<", "c"):
        s3.put_object(Bucket="emptied", Key=key, Body=b"content")
    s3.delete_object(Bucket="emptied", Key="c")

    stacks.delete_stack(StackName="emptied")
    stacks.get_waiter("stack_delete_complete").wait(StackName="emptied", WaiterConfig={"Delay": 1})
    versions = s3.list_object_versions(Bucket="emptied")
    found = [*versions.get("Versions", []), *versions.get("DeleteMarkers", [])]
    assert len(found) == left
    for each in found:
        s3.delete_object(Bucket="emptied", Key=each["Key"], VersionId=each["VersionId"])
    s3.delete_bucket(Bucket="emptied")  # refused unless empty
