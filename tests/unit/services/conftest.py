from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.session import Session
from moto import mock_aws

from unum_runtime.features.services import Clients

HERE: dict[str, Any] = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


@pytest.fixture
def aws() -> Iterator[boto3.Session]:
    with mock_aws():
        yield boto3.Session(**HERE)


@pytest.fixture(scope="session")
def models() -> Session:
    """Keeps the models that it has loaded."""
    return Session()


@pytest.fixture
def clients(aws: boto3.Session, models: Session) -> Clients:  # noqa: ARG001 - moto has to be there first
    return Clients(models, HERE)


@pytest.fixture
def table(aws: boto3.Session) -> str:
    aws.client("dynamodb").create_table(
        TableName="orders",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    return "orders"


@pytest.fixture
def bucket(aws: boto3.Session) -> str:
    aws.client("s3").create_bucket(Bucket="shelf")
    return "shelf"


@pytest.fixture
def machine(aws: boto3.Session) -> str:
    created: dict[str, Any] = aws.client("stepfunctions").create_state_machine(
        name="child",
        definition='{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}',
        roleArn="arn:aws:iam::123456789012:role/child",
    )
    return str(created["stateMachineArn"])
