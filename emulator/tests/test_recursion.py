"""Recursive loop detection: 16 invocations of one function, however many functions the chain has."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

# Sends {"left": n, "to": [...]} on to the next function of the ring, and writes down who ran.
HOP = """
    import json, os, boto3

    table = boto3.resource("dynamodb").Table(os.environ["TABLE"])
    awslambda = boto3.client("lambda")

    def handler(event, context):
        table.put_item(Item={"name": str(event["left"])})
        if event["left"]:
            first, *others = event["ring"]
            following = {"left": event["left"] - 1, "ring": [*others, first]}
            awslambda.invoke(FunctionName=first, InvocationType="Event", Payload=json.dumps(following))
"""


def _hop(cloud: Any, table: str) -> str:
    name: str = cloud.function(HOP, Environment={"Variables": {"TABLE": table}}, Timeout=30)
    return name


def _reached(cloud: Any, table: str) -> int:
    count: int = cloud.dynamodb.scan(TableName=table, Select="COUNT")["Count"]
    return count


def test_a_loop_through_one_function_ends_in_its_destination(cloud: Any) -> None:
    table = cloud.table(name="S")
    url, arn = cloud.queue()
    name = _hop(cloud, table)
    cloud.awslambda.put_function_event_invoke_config(
        FunctionName=name, DestinationConfig={"OnFailure": {"Destination": arn}}
    )
    cloud.send(name, {"left": 30, "ring": [name]})
    record = json.loads(cloud.receive(url)["Body"])
    assert record["responsePayload"]["errorType"] == "RecursiveInvocationException"
    assert _reached(cloud, table) == 16


def test_an_allowed_loop_continues(cloud: Any) -> None:
    table = cloud.table(name="S")
    name = _hop(cloud, table)
    cloud.awslambda.put_function_recursion_config(FunctionName=name, RecursiveLoop="Allow")
    cloud.send(name, {"left": 30, "ring": [name]})
    cloud.until(lambda: _reached(cloud, table) == 31)


def test_each_function_has_its_own_count(cloud: Any) -> None:
    table = cloud.table(name="S")
    ring = [_hop(cloud, table) for _ in range(3)]
    cloud.send(ring[0], {"left": 40, "ring": [*ring[1:], ring[0]]})
    cloud.until(lambda: _reached(cloud, table) == 41)


def test_a_synchronous_loop_gets_an_exception(cloud: Any) -> None:
    name = cloud.function("import os\n\ndef handler(event, context): return os.environ['_X_AMZN_TRACE_ID']")
    first, *_, lineage = cloud.invoke(name)[0].split(";")
    assert lineage.endswith(":1")
    _invoke_in_chain(cloud, name, f"{first};{lineage[:-1]}15")
    with pytest.raises(ClientError, match="RecursiveInvocationException"):
        _invoke_in_chain(cloud, name, f"{first};{lineage[:-1]}16")


def _invoke_in_chain(cloud: Any, name: str, trace: str) -> None:
    """Invoke with the trace header of a function in the middle of a chain."""
    client = cloud.client("lambda")
    client.meta.events.register(
        "before-call.lambda.Invoke", lambda params, **_: params["headers"].update({"X-Amzn-Trace-Id": trace})
    )
    client.invoke(FunctionName=name)
