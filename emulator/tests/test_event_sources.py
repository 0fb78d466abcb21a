"""Services that send events to functions."""

import json
from typing import Any

FAILING = "def handler(event, context): raise RuntimeError('no')"


def _failures_of(cloud: Any, name: str, **qualifier: str) -> str:
    """Return the URL of a queue for events that failed twice."""
    url: str
    url, arn = cloud.queue()
    cloud.awslambda.put_function_event_invoke_config(
        FunctionName=name,
        MaximumRetryAttempts=1,
        DestinationConfig={"OnFailure": {"Destination": arn}},
        **qualifier,
    )
    return url


def _arn(name: str) -> str:
    return f"arn:aws:lambda:us-east-1:000000000000:function:{name}"


def test_a_delayed_message_invokes_the_mapped_version(cloud: Any) -> None:
    table = cloud.table(name="S")
    name = cloud.function(
        """
        import os, boto3

        def handler(event, context):
            item = {"name": event["Records"][0]["body"], "arn": context.invoked_function_arn}
            boto3.resource("dynamodb").Table(os.environ["TABLE"]).put_item(Item=item)
        """,
        Publish=True,
        Environment={"Variables": {"TABLE": table}},
    )
    url, arn = cloud.queue()
    cloud.awslambda.create_event_source_mapping(EventSourceArn=arn, FunctionName=f"{name}:1", BatchSize=1)
    cloud.sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=1)
    (item,) = cloud.until(lambda: cloud.dynamodb.scan(TableName=table)["Items"])
    assert item["name"]["S"] == "later"
    assert item["arn"]["S"] == f"{_arn(name)}:1"


def test_events_of_a_topic_are_retried_and_have_a_destination(cloud: Any) -> None:
    name = cloud.function(FAILING)
    failures = _failures_of(cloud, name)
    topics = cloud.client("sns")
    topic = topics.create_topic(Name="topic")["TopicArn"]
    topics.subscribe(TopicArn=topic, Protocol="lambda", Endpoint=_arn(name))
    topics.publish(TopicArn=topic, Message="news")
    record = json.loads(cloud.receive(failures)["Body"])
    assert record["requestPayload"]["Records"][0]["Sns"]["Message"] == "news"
    assert record["requestContext"]["approximateInvokeCount"] == 2


def test_events_of_a_bus_are_retried_and_have_a_destination(cloud: Any) -> None:
    name = cloud.function(FAILING)
    failures = _failures_of(cloud, name)
    bus = cloud.client("events")
    bus.put_rule(Name="rule", EventPattern='{"source": ["shop"]}')
    bus.put_targets(Rule="rule", Targets=[{"Id": "1", "Arn": _arn(name)}])
    bus.put_events(Entries=[{"Source": "shop", "DetailType": "order", "Detail": '{"number": 9}'}])
    record = json.loads(cloud.receive(failures)["Body"])
    assert record["requestPayload"]["detail"] == {"number": 9}
    assert record["requestContext"]["approximateInvokeCount"] == 2


def test_bucket_events_for_an_alias_reach_the_aliass_destination(cloud: Any) -> None:
    name = cloud.function(FAILING, Publish=True)
    alias = cloud.awslambda.create_alias(FunctionName=name, Name="start", FunctionVersion="1")["AliasArn"]
    failures = _failures_of(cloud, name, Qualifier="start")
    buckets = cloud.client("s3")
    buckets.create_bucket(Bucket="uploads")
    configuration = {"LambdaFunctionArn": alias, "Events": ["s3:ObjectCreated:*"]}
    buckets.put_bucket_notification_configuration(
        Bucket="uploads", NotificationConfiguration={"LambdaFunctionConfigurations": [configuration]}
    )
    buckets.put_object(Bucket="uploads", Key="post.json", Body=b"{}")
    record = json.loads(cloud.receive(failures)["Body"])
    assert record["requestPayload"]["Records"][0]["s3"]["object"]["key"] == "post.json"
    assert record["requestContext"]["functionArn"] == alias
    assert record["responseContext"]["executedVersion"] == "1"
