"""Stores for the contract tests: memory, DynamoDB and S3 in moto, and both in the emulator (marked e2e), Cosmos DB and
Firestore.

Both botocore and `unum_runtime.wire` access each table.
"""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
from botocore.config import Config
from moto import mock_aws

from tests.contract.cosmos_service import CosmosServer, cosmos_server
from tests.google.firestore_server import FirestoreServer, firestore_server
from unum_emulator.process import Emulator
from unum_google.firestore import FirestoreStore
from unum_runtime.features.bucket_state.s3 import S3Store
from unum_runtime.model.list_index import INDEX, PARTITION, PLACE, PROJECTED
from unum_runtime.store.base import Store
from unum_runtime.store.dynamodb import DynamoStore
from unum_runtime.wire.service_clients import WireClient, wire_client
from unum_simulator.memory_store import MemoryStore

REGION = "us-east-1"
TEST_KEY = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
EMULATED = ("emulator", "emulator-wire", "s3-emulator")
EMULATOR_PYTHON = Path(__file__).parents[2] / "emulator" / ".venv" / "bin" / "python"


class MovableClock:
    """Clock under control of the test."""

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def pass_seconds(self, seconds: int) -> None:
        self.ms += seconds * 1000


class OneAtATime:
    """Client with sequential calls, because moto's updates of one item are not atomic, unlike DynamoDB's."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = threading.Lock()

    def __getattr__(self, operation: str) -> Any:
        def call(**parameters: Any) -> Any:
            with self._lock:
                return getattr(self._client, operation)(**parameters)

        return call

    def get_paginator(self, operation: str) -> Any:
        """Return the client's paginator, whose requests no lock orders: they only read."""
        return self._client.get_paginator(operation)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


class Moto(BaseHTTPRequestHandler):
    """HTTP server for moto, which only replaces the HTTP client `requests` and botocore inside this process."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write per response

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        url = f"https://dynamodb.{REGION}.amazonaws.com{self.path}"
        found = requests.post(url, body, headers=dict(self.headers), timeout=10)
        self.send_response(found.status_code)
        self.send_header("Content-Length", str(len(found.content)))
        self.end_headers()
        self.wfile.write(found.content)

    def log_message(self, *_: Any) -> None:
        """Omit the request log."""


@pytest.fixture(
    params=[
        "memory",
        "moto",
        "moto-wire",
        "s3",
        "cosmos",
        "firestore",
        *(pytest.param(each, marks=[pytest.mark.e2e, pytest.mark.enable_socket]) for each in EMULATED),
    ],
)
def store(request: pytest.FixtureRequest, clock: MovableClock) -> Iterator[Store]:
    match request.param:
        case "memory":
            yield MemoryStore(clock)
        case "moto":
            with mock_aws():
                store = _dynamo_store(clock, {"region_name": REGION})
                yield replace(store, client=OneAtATime(store.client))
        case "moto-wire":
            with (
                mock_aws(),
                _moto() as endpoint,
                _with_wire(_dynamo_store(clock, {"region_name": REGION}), endpoint, **TEST_KEY) as store,
            ):
                yield replace(store, client=OneAtATime(store.client))
        case "s3":
            with mock_aws():
                objects = s3_store(clock, {"region_name": REGION})
                client = OneAtATime(objects.client())
                yield S3Store(lambda: client, objects.bucket, clock)
        case "cosmos":
            with request.getfixturevalue("cosmos").store(clock) as cosmos:
                yield cosmos
        case "firestore":
            yield firestore_store(clock, request.getfixturevalue("google_firestore"))
        case "s3-emulator":
            yield s3_store(clock, {"region_name": REGION, **request.getfixturevalue("emulator_options")})
        case emulated:
            options = request.getfixturevalue("emulator_options")
            store = _dynamo_store(clock, {"region_name": REGION, **options})
            if emulated == "emulator":
                yield store
            else:
                with _with_wire(store, **options) as store:
                    yield store


@pytest.fixture(scope="session")
def cosmos() -> Iterator[CosmosServer]:
    with cosmos_server() as server:
        yield server


@contextmanager
def _moto() -> Iterator[str]:
    """Yield the URL of an HTTP server for moto."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Moto) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def _with_wire(
    store: DynamoStore, endpoint_url: str, aws_access_key_id: str, aws_secret_access_key: str
) -> Iterator[DynamoStore]:
    key = {"AWS_ACCESS_KEY_ID": aws_access_key_id, "AWS_SECRET_ACCESS_KEY": aws_secret_access_key}
    client = wire_client("dynamodb", {**key, "AWS_REGION": REGION, "AWS_ENDPOINT_URL": endpoint_url})
    yield replace(store, client=client)  # type: ignore[arg-type]  # same methods
    _close(client)


def _close(client: WireClient) -> None:
    """Close the client's sockets, about which Python would warn; in Lambda they end with the sandbox."""
    for connection in client._api.connections._idle:
        connection.close()


@pytest.fixture(scope="session")
def emulator_options() -> Iterator[dict[str, str]]:
    """Options that make a client of boto3 one of the emulator's."""
    with Emulator(python=str(EMULATOR_PYTHON)) as emulator:
        yield {
            "endpoint_url": emulator.endpoint,
            "aws_access_key_id": emulator.key.id,
            "aws_secret_access_key": emulator.key.secret,
        }


@pytest.fixture(scope="session")
def google_firestore() -> Iterator[FirestoreServer]:
    with firestore_server() as server:
        yield server


def firestore_store(
    clock: MovableClock, server: FirestoreServer, kind: type[FirestoreStore] = FirestoreStore
) -> FirestoreStore:
    client = server.client()
    return kind(lambda: client, clock, root=f"contract-{uuid.uuid4()}")


def _dynamo_store(clock: MovableClock, options: dict[str, Any]) -> DynamoStore:
    client = boto3.Session().client("dynamodb", config=Config(max_pool_connections=32), **TEST_KEY | options)
    table = f"contract-{uuid.uuid4()}"
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", PARTITION, PLACE)],
        KeySchema=_keys("pk", "sk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": INDEX,
                "KeySchema": _keys(PARTITION, PLACE),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": [*PROJECTED]},
            }
        ],
    )
    return DynamoStore(client, table, clock)  # type: ignore[arg-type]  # same methods


def s3_store(clock: MovableClock, options: dict[str, Any]) -> S3Store:
    client = boto3.Session().client("s3", config=Config(max_pool_connections=64), **TEST_KEY | options)
    bucket = f"contract-{uuid.uuid4()}"
    client.create_bucket(Bucket=bucket)
    for operation in ("ListObjectsV2", "ListObjectVersions"):
        # Else a page has 1,000 objects, and few tests would have a second one.
        client.meta.events.register(
            f"provide-client-params.s3.{operation}", lambda params, **_: {**params, "MaxKeys": 5}
        )
    return S3Store(lambda: client, bucket, clock)


def _keys(partition: str, sort: str) -> list[Any]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}]
