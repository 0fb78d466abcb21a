from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import boto3
import pytest
from moto import mock_aws

BUCKET = "data"
Put: TypeAlias = Callable[[str, str | bytes], None]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with mock_aws():
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
        yield session.client("s3")


@pytest.fixture
def s3(client: Any) -> Iterator[Any]:
    """A client of S3 with nothing there but an empty bucket."""
    client.create_bucket(Bucket=BUCKET)
    yield client
    for bucket in client.list_buckets()["Buckets"]:
        for item in client.list_objects_v2(Bucket=bucket["Name"]).get("Contents", ()):
            client.delete_object(Bucket=bucket["Name"], Key=item["Key"])
        client.delete_bucket(Bucket=bucket["Name"])


@pytest.fixture
def put(s3: Any) -> Put:
    def put(key: str, body: str | bytes) -> None:
        s3.put_object(Bucket=BUCKET, Key=key, Body=body)

    return put
