"""A process whose children run executions of one workflow on Cosmos DB; `test_cosmos_processes` starts it.

For each execution, children run it at the same time, two by two. Each kills itself (`kill -9`) before or after one of
its requests to the server, and the last two live. Prints for each execution what those that lived returned, as JSON.
"""

import json
import os
import random
import signal
import sys
import uuid
from typing import Any

import requests
from azure.core.pipeline.transport import RequestsTransport
from azure.cosmos import CosmosClient

from tests.contract import broken_stores
from tests.contract.cosmos_service import DATABASE, KEY, OPTIONS
from tests.simulation.definitions import machine, map_, task
from unum_azure.cosmos import CosmosStore
from unum_compiler import compile_workflow
from unum_simulator.local import LocalWorkflow

WORKFLOW = compile_workflow(
    machine(A=task("a", "M"), M=map_(machine(B=task("b")), "C"), C=task("c")), name="w", functions=None
)
ITEMS = 5
REQUESTS = 40
"""Highest number of the request at which a child dies; most have ended before their fiftieth."""


def _a(_event: Any, _context: Any) -> list[Any]:
    run = uuid.uuid4().hex
    return [{"a": run, "item": item} for item in range(ITEMS)]


def _b(event: Any, _context: Any) -> Any:
    return {**event, "b": uuid.uuid4().hex}


def _c(event: Any, _context: Any) -> Any:
    return {"of": event, "c": uuid.uuid4().hex}


class Mortal(requests.Session):
    """A session that kills its process at its last request.

    Attributes:
        left: number of requests before; None for a child that lives.
        is_sent: True to send the last request before.
    """

    left: int | None = None
    is_sent = False

    def request(self, *args: Any, **options: Any) -> requests.Response:
        """Send a request, or die."""
        if self.left is None:
            return super().request(*args, **options)
        self.left -= 1
        if self.left < 0:
            if self.is_sent:
                super().request(*args, **options)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().request(*args, **options)


def _run(session: Mortal, store: CosmosStore, execution: str, dies_at: float | None) -> str:
    """Run `execution` in a child; return its result, or nothing if it died, half of the times after the request."""
    if dies_at is not None:
        session.left, session.is_sent = int(dies_at), dies_at % 1 > 0
    local = LocalWorkflow(WORKFLOW, {"a": _a, "b": _b, "c": _c}, store=store)
    return json.dumps(local.run(execution, {}).outcome.value)


def _start(*given: Any) -> tuple[int, int]:
    """Start a child that runs `_run`; return its id, and a file that gets what it returns."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    try:
        os.write(writer, _run(*given).encode())
    finally:
        os._exit(0)


def _end(child: int, reader: int) -> str:
    with os.fdopen(reader) as lines:
        returned = lines.read()
    os.waitpid(child, 0)
    return returned


def main(url: str, container: str, variant: str, executions: str, deaths: str) -> None:
    """Run executions with two deaths at a time."""
    session = Mortal()
    client = CosmosClient(url, KEY, transport=RequestsTransport(session=session, session_owner=False), **OPTIONS)
    kind: Any = getattr(broken_stores, variant, CosmosStore)
    store = kind(client.get_database_client(DATABASE).get_container_client(container))
    session.close()  # so that each child opens connections of its own
    chance = random.Random(1)  # noqa: S311 - the same deaths in every run
    for number in range(int(executions)):
        returned = []
        for death in range(int(deaths) + 1):
            at = [chance.randrange(2 * REQUESTS) / 2 if death < int(deaths) else None for _ in range(2)]
            pair = [_start(session, store, f"e{number}", each) for each in at]
            returned += [_end(*each) for each in pair]
        print(json.dumps([json.loads(each) for each in returned if each]), flush=True)  # noqa: T201 - its parent reads


if __name__ == "__main__":
    main(*sys.argv[1:])
