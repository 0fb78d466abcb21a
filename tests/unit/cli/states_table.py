"""Table of executions for commands, in moto."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from moto import mock_aws

from unum_runtime.model.list_index import INDEX, PARTITION, PLACE, PROJECTED
from unum_runtime.store.dynamodb import DynamoStore

ADDRESS = ("--table", "states", "--workflow", "w")
"""Options by which commands find the table."""


@contextmanager
def states_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[DynamoStore]:
    """Yield a store in the new table ``states``, which commands find by the environment."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        client: Any = boto3.client("dynamodb")
        client.create_table(
            TableName="states",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", PARTITION, PLACE)
            ],
            KeySchema=keys("pk", "sk"),
            GlobalSecondaryIndexes=[
                {
                    "IndexName": INDEX,
                    "KeySchema": keys(PARTITION, PLACE),
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": [*PROJECTED]},
                }
            ],
        )
        yield DynamoStore(client, "states")


def keys(partition: str, sort: str) -> Any:
    """Return the key schema of a table or an index."""
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
