"""Stacks: properties of functions, and configurations of versions."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

FUNCTION = {
    "Type": "AWS::Lambda::Function",
    "Properties": {
        "FunctionName": "stack-function",
        "Runtime": "python3.12",
        "Handler": "index.handler",
        "Role": "arn:aws:iam::000000000000:role/any",
        "Code": {"ZipFile": "def handler(event, context):\n    raise ValueError(event)\n"},
        "ReservedConcurrentExecutions": 5,
        "RecursiveLoop": "Allow",
    },
}


def _template(**properties: Any) -> str:
    function = {**FUNCTION, "Properties": {**FUNCTION["Properties"], **properties}}
    return json.dumps({"Resources": {"Function": function}})


def _settings(cloud: Any) -> tuple[int | None, str]:
    concurrency = cloud.awslambda.get_function_concurrency(FunctionName="stack-function")
    recursion = cloud.awslambda.get_function_recursion_config(FunctionName="stack-function")
    return concurrency.get("ReservedConcurrentExecutions"), recursion["RecursiveLoop"]


def test_concurrency_and_recursion_are_set_at_creation_and_at_update(cloud: Any) -> None:
    stacks = cloud.client("cloudformation")
    stacks.create_stack(StackName="settings", TemplateBody=_template())
    stacks.get_waiter("stack_create_complete").wait(StackName="settings", WaiterConfig={"Delay": 1})
    assert _settings(cloud) == (5, "Allow")

    template = json.loads(_template(Description="changed"))
    for name in ("ReservedConcurrentExecutions", "RecursiveLoop"):
        del template["Resources"]["Function"]["Properties"][name]
    stacks.update_stack(StackName="settings", TemplateBody=json.dumps(template))
    stacks.get_waiter("stack_update_complete").wait(StackName="settings", WaiterConfig={"Delay": 1})
    assert _settings(cloud) == (None, "Terminate")

    stacks.delete_stack(StackName="settings")
    stacks.get_waiter("stack_delete_complete").wait(StackName="settings", WaiterConfig={"Delay": 1})


def test_alarm_on_an_expression_is_created(cloud: Any) -> None:
    metric = {"Metric": {"Namespace": "N", "MetricName": "M"}, "Period": 60, "Stat": "Sum"}
    properties = {
        "AlarmName": "sum",
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "Metrics": [
            {"Id": "one", "MetricStat": metric, "ReturnData": False},
            {"Id": "all", "Expression": "one + one"},
        ],
    }
    template = {"Resources": {"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": properties}}}
    cloud.client("cloudformation").create_stack(StackName="alarms", TemplateBody=json.dumps(template))
    watch = cloud.client("cloudwatch")
    cloud.until(lambda: watch.describe_alarms(AlarmNames=["sum"])["MetricAlarms"])
    (alarm,) = watch.describe_alarms(AlarmNames=["sum"])["MetricAlarms"]
    assert alarm["StateValue"] == "INSUFFICIENT_DATA"


def test_stacks_set_change_and_remove_tags_of_buckets(cloud: Any) -> None:
    stacks, s3 = cloud.client("cloudformation"), cloud.client("s3")
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "tagged", "Tags": [{"Key": "a", "Value": "1"}]}}
    stacks.create_stack(StackName="tagged", TemplateBody=json.dumps({"Resources": {"Bucket": bucket}}))
    stacks.get_waiter("stack_create_complete").wait(StackName="tagged", WaiterConfig={"Delay": 1})
    assert s3.get_bucket_tagging(Bucket="tagged")["TagSet"] == [{"Key": "a", "Value": "1"}]

    bucket["Properties"] = {"BucketName": "tagged"}
    stacks.update_stack(StackName="tagged", TemplateBody=json.dumps({"Resources": {"Bucket": bucket}}))
    stacks.get_waiter("stack_update_complete").wait(StackName="tagged", WaiterConfig={"Delay": 1})
    with pytest.raises(ClientError, match="NoSuchTagSet"):
        s3.get_bucket_tagging(Bucket="tagged")
    stacks.delete_stack(StackName="tagged")
