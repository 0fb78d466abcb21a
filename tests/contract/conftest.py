"""Every store under one suite: memory, DynamoDB under moto, DynamoDB in the emulator (marked e2e)."""

import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from moto import mock_aws

from unum_emulator.process import Emulator
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import DynamoStore
from unum_runtime.store.memory import MemoryStore

EMULATOR_PYTHON = Path(__file__).parents[2] / "emulator" / ".venv" / "bin" / "python"


class MovableClock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def pass_seconds(self, seconds: int) -> None:
        self.ms += seconds * 1000


class OneAtATime:
    """A client whose calls wait for each other: moto's updates of one item are not atomic, as DynamoDB's are."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = threading.Lock()

    def __getattr__(self, operation: str) -> Any:
        def call(**parameters: Any) -> Any:
            with self._lock:
                return getattr(self._client, operation)(**parameters)

        return call


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(
    params=["memory", "moto", pytest.param("emulator", marks=[pytest.mark.e2e, pytest.mark.enable_socket])],
)
def store(request: pytest.FixtureRequest, clock: MovableClock) -> Iterator[Store]:
    match request.param:
        case "memory":
            yield MemoryStore(clock)
        case "moto":
            with mock_aws():
                store = _dynamo_store(clock, {"region_name": "us-east-1"})
                yield replace(store, client=OneAtATime(store.client))
        case _:
            endpoint = request.getfixturevalue("emulator_endpoint")
            yield _dynamo_store(clock, {"region_name": "us-east-1", "endpoint_url": endpoint})


@pytest.fixture(scope="session")
def emulator_endpoint() -> Iterator[str]:
    with Emulator(python=str(EMULATOR_PYTHON)) as emulator:
        yield emulator.endpoint


def _dynamo_store(clock: MovableClock, options: dict[str, str]) -> DynamoStore:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")
    client = session.client("dynamodb", config=Config(max_pool_connections=32), **options)
    table = f"contract-{uuid.uuid4()}"
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    return DynamoStore(client, table, clock)
