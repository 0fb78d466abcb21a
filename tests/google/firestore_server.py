"""The Firestore server of the tests: a Node.js process on the loopback interface."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from google.cloud import firestore
from grpc import StatusCode

PROJECT = "unum-tests"
HOST = "FIRESTORE_EMULATOR_HOST"
"""Environment variable that leads Google's client to a server without TLS and credentials."""

_SCRIPT = Path(__file__).with_name("firestore_server.mjs")


@dataclass(frozen=True)
class FirestoreServer:
    """A running server.

    Attributes:
        process: the Node.js process.
        address: host and port.
    """

    process: "subprocess.Popen[str]"
    address: str

    def fail(self, method: str, code: StatusCode, *, times: int = 1, every: int = 1, applied: bool = False) -> None:
        """Fail `times` calls of `method`, each `every`th one; with `applied` after the call's effect."""
        fault = {"method": method, "code": code.value[0], "times": times, "every": every, "applied": applied}
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(fault) + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def client(self) -> Any:
        """Return a client of Google's library."""
        return firestore_client(self.address)


@contextmanager
def firestore_server(*arguments: str) -> Iterator[FirestoreServer]:
    """Run a server with `arguments` of its script."""
    command = ["node", str(_SCRIPT), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        assert process.stdin
        assert process.stdout
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise RuntimeError(f"{_SCRIPT.name}: expected a port, got none; run `make setup` for its packages")
            yield FirestoreServer(process, f"127.0.0.1:{port}")
        finally:
            process.stdin.close()


def firestore_client(address: str) -> Any:
    """Return a client of Google's library for the server at `address`."""
    with patch.dict("os.environ", {HOST: address}):
        return firestore.Client(project=PROJECT)
