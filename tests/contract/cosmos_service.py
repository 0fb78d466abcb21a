"""A server of Cosmos DB's protocol from npm, as a process, and stores in it."""

import json
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azure.cosmos import CosmosClient, DatabaseProxy

from unum_azure.cosmos import CosmosStore, create_container
from unum_runtime.clock import Clock

PROGRAM = Path(__file__).with_name("cosmos_server.cjs")
PACKAGE = Path(__file__).parents[2] / "node_modules" / "@vercel" / "cosmosdb-server"
DATABASE, KEY = "tests", "dGVzdA=="
OPTIONS: dict[str, Any] = {"enable_endpoint_discovery": False}
"""Arguments of the client; the endpoints that the server tells would need TLS."""


@dataclass(frozen=True)
class CosmosServer:
    """A running server.

    Attributes:
        process: its process.
        url: its URL.
    """

    process: "subprocess.Popen[str]"
    url: str

    def fail(self, **fault: Any) -> None:
        """Let the server fail as `fault` says, see `cosmos_server.cjs`; return when it knows."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(fault) + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    @contextmanager
    def store(self, clock: Clock | None = None) -> Iterator[CosmosStore]:
        """Yield a store in a container of its own."""
        client = CosmosClient(self.url, KEY, **OPTIONS)
        container = create_container(client.get_database_client(DATABASE), f"c-{uuid.uuid4()}")
        yield CosmosStore(container, clock)
        _database(client).delete_container(container)
        client.close()


def _database(client: CosmosClient) -> DatabaseProxy:
    return client.get_database_client(DATABASE)


@contextmanager
def cosmos_server(level: str = "Strong", **account: Any) -> Iterator[CosmosServer]:
    """Yield a server with an empty database, whose account has a consistency level and other attributes."""
    assert PACKAGE.exists(), "the server is not installed: run `make setup`"
    attributes = {"userConsistencyPolicy": {"defaultConsistencyLevel": level}, **account}
    command = ["node", str(PROGRAM), json.dumps(attributes)]
    with subprocess.Popen(  # noqa: S603 - the command is written above
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        client = CosmosClient(url, KEY, **OPTIONS)
        client.create_database(DATABASE)
        client.close()
        yield CosmosServer(process, url)
        process.terminate()
