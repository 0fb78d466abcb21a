"""EventBridge Pipes from queues, and to functions."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

ROLE = "arn:aws:iam::000000000000:role/any"
TELLING = """
import boto3, json, os

def handler(event, context):
    told = json.dumps([context.invoked_function_arn, event])
    boto3.client("sqs").send_message(QueueUrl=os.environ["SEEN"], MessageBody=told)
    if event == [{"fails": True}] and not os.path.exists("/tmp/" + context.function_name):
        open("/tmp/" + context.function_name, "w").close()
        raise ValueError(event)
"""


def _pipe(cloud: Any, name: str, source: str, target: str, **parameters: Any) -> Any:
    return cloud.client("pipes").create_pipe(Name=name, RoleArn=ROLE, Source=source, Target=target, **parameters)


def _told(cloud: Any, url: str) -> Any:
    (message,) = cloud.until(lambda: cloud.sqs.receive_message(QueueUrl=url).get("Messages"))
    return json.loads(message["Body"])


def _telling(cloud: Any) -> tuple[str, str]:
    """Make a function with an alias; return the alias's ARN and the queue that it tells."""
    url, _ = cloud.queue()
    name = cloud.function(TELLING, Publish=True, Environment={"Variables": {"SEEN": url}})
    alias = cloud.awslambda.create_alias(FunctionName=name, Name="start-flow", FunctionVersion="1")
    return alias["AliasArn"], url


@pytest.mark.parametrize("kind", ["FIRE_AND_FORGET", "REQUEST_RESPONSE"])
def test_messages_reach_an_alias_by_filter_and_template(cloud: Any, kind: str) -> None:
    alias, seen = _telling(cloud)
    url, arn = cloud.queue()
    _pipe(
        cloud,
        f"filtered-{kind}",
        arn,
        alias,
        SourceParameters={
            "FilterCriteria": {"Filters": [{"Pattern": '{"body": {"kind": ["order"]}}'}]},
            "SqsQueueParameters": {"BatchSize": 1},
        },
        TargetParameters={
            "InputTemplate": '{"order": <$.body.number>, "note": "<$.body.note>", "by": "<aws.pipes.pipe-name>"}',
            "LambdaFunctionParameters": {"InvocationType": kind},
        },
    )
    for body in ({"kind": "other"}, {"kind": "order", "number": 7, "note": 'a "quoted" word'}):
        cloud.sqs.send_message(QueueUrl=url, MessageBody=json.dumps(body))
    expected = {"order": 7, "note": 'a "quoted" word', "by": f"filtered-{kind}"}
    assert _told(cloud, seen) == [alias, [expected]]
    cloud.until(lambda: _is_empty(cloud, url))


def test_failed_call_is_repeated(cloud: Any) -> None:
    alias, seen = _telling(cloud)
    url, arn = cloud.queue()
    cloud.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "1"})
    _pipe(cloud, "repeated", arn, alias, TargetParameters={"InputTemplate": "<$.body>"})
    cloud.sqs.send_message(QueueUrl=url, MessageBody='{"fails": true}')
    assert [_told(cloud, seen) for _ in range(2)] == [[alias, [{"fails": True}]]] * 2
    cloud.until(lambda: _is_empty(cloud, url))


def test_template_makes_a_pipe_to_an_alias(cloud: Any) -> None:
    alias, seen = _telling(cloud)
    url, arn = cloud.queue()
    pipe = {"Type": "AWS::Pipes::Pipe", "Properties": {"RoleArn": ROLE, "Source": arn, "Target": alias}}
    stacks = cloud.client("cloudformation")
    stacks.create_stack(StackName="piped", TemplateBody=json.dumps({"Resources": {"Pipe": pipe}}))
    stacks.get_waiter("stack_create_complete").wait(StackName="piped", WaiterConfig={"Delay": 1})
    cloud.sqs.send_message(QueueUrl=url, MessageBody="plain")
    target, (record,) = _told(cloud, seen)
    assert (target, record["body"], record["eventSourceARN"]) == (alias, "plain", arn)


@pytest.mark.parametrize(
    ("option", "arn"),
    [
        ("Source", "arn:aws:kinesis:us-east-1:000000000000:stream/s"),
        ("Target", "arn:aws:ecs:us-east-1:000000000000:cluster/c"),
        ("Enrichment", "arn:aws:lambda:us-east-1:000000000000:function:f"),
    ],
)
def test_pipe_that_would_hold_its_records_is_refused(cloud: Any, option: str, arn: str) -> None:
    given = {
        "Source": "arn:aws:sqs:us-east-1:000000000000:q",
        "Target": "arn:aws:lambda:us-east-1:000000000000:function:f",
        option: arn,
    }
    with pytest.raises(ClientError, match=f"{option}: pipes of the emulator have"):
        cloud.client("pipes").create_pipe(Name="refused", RoleArn=ROLE, **given)


def _is_empty(cloud: Any, url: str) -> bool:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = cloud.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return {found[each] for each in names} == {"0"}
