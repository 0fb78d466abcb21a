"""Leases, memoization and nodes without checkpoint on real parts."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.conftest import Deployment, until
from tests.e2e.guards.stack import SHARE_S
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_emulator.process import Emulator
from unum_runtime.model.naming import lease_key, start_key
from unum_runtime.store.dynamodb import DynamoStore

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Guards")


def runs(deployment: Deployment, key: str) -> int:
    item = deployment.table("Guards", "RunsTable").get_item(Key={"key": key}).get("Item")
    return 0 if item is None else int(item["runs"])


def test_clients_that_run_one_name_share_one_execution(deployment: Deployment, client: Client) -> None:
    value = {"n": 3, "seconds": 2}
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda _: client.run(value, name="shared", timeout_s=PATIENCE_S), range(4)))
    assert ended[0].output == {**value, "token": ended[0].output["token"], "passed": True, "square": 9}
    assert all(one == ended[0] for one in ended)
    assert runs(deployment, "Slow shared") == 1
    assert [step.state for step in client.steps("shared")] == ["Slow", "Square"], "Onward has no checkpoint"


def test_executions_share_the_results_of_a_memoized_function(deployment: Deployment, client: Client) -> None:
    squares = [
        client.run({"n": 7, "seconds": 0, "who": who}, timeout_s=PATIENCE_S).output["square"] for who in range(3)
    ]
    assert squares == [49] * 3
    assert runs(deployment, "Square 7") == 1


def logged(emulator: Emulator, text: str) -> int:
    """Lines of the shared function's log with `text`."""
    logs = emulator.logs.glob("*Share*.log")
    return sum(text in line for log in logs for line in log.read_text().splitlines())


def test_executions_wait_for_a_memoized_result_without_an_error(deployment: Deployment, emulator: Emulator) -> None:
    client = deployment.client("Guards", "Sharing")
    value = {"key": "waited for", "seconds": 8, "deaths": 0}
    waits, failures = logged(emulator, "waits for a lease"), logged(emulator, "put off")
    names = [client.start(value).name for _ in range(10)]
    assert len({client.wait(name, timeout_s=PATIENCE_S).output for name in names}) == 1
    assert runs(deployment, "Share waited for") == 1
    assert logged(emulator, "waits for a lease") - waits >= 9
    assert logged(emulator, "put off") == failures == 0
    assert logged(emulator, "errorType") == 0


def test_a_waiter_computes_after_the_lease_of_a_killed_owner_has_expired(deployment: Deployment) -> None:
    client = deployment.client("Guards", "Sharing")
    value = {"key": "killed", "seconds": 3, "deaths": 1}
    begun_s = time.monotonic()
    owner = client.start(value).name
    until(lambda: runs(deployment, "Share killed") == 1)
    names = [owner, *(client.start(value).name for _ in range(3))]
    assert len({client.wait(name, timeout_s=PATIENCE_S).output for name in names}) == 1
    assert runs(deployment, "Share killed") == 2
    assert time.monotonic() - begun_s > SHARE_S, "not before the lease expired"


def test_forced_and_forgotten_results_are_computed_anew(deployment: Deployment) -> None:
    client = deployment.client("Guards", "Sharing")
    value = {"key": "forced", "seconds": 0, "deaths": 0}
    first, same = (client.run(value, timeout_s=PATIENCE_S).output for _ in range(2))
    forced = client.run(value, force=True, timeout_s=PATIENCE_S).output
    assert client.run(value, timeout_s=PATIENCE_S).output == forced
    assert (first == same, first != forced, runs(deployment, "Share forced")) == (True, True, 2)
    (key,) = [each.key for each in client.remembered("Share", limit=1_000).results if "forced" in each.of]
    assert client.remembered_result("Share", key).value == forced
    assert client.forget("Share", key) == 1
    assert client.run(value, timeout_s=PATIENCE_S).output not in (first, forced)


def test_results_of_all_workflows_are_listed_and_forgotten(client: Client) -> None:
    client.run({"n": 8, "seconds": 0}, timeout_s=PATIENCE_S)
    (found,) = [each for each in client.remembered("Square", limit=1_000).results if "[8]" in each.of]
    assert client.remembered_result("Square", found.key).value == 64
    assert client.forget("Square", found.key) == 1


CALLS = """
import json, sys
import boto3
from unum_client import Client
address, arguments = json.loads(sys.argv[1]), json.loads(sys.argv[2])
print(Client.connect(**address).call("Share", arguments))
"""


def test_equal_calls_of_several_programs_share_one_run(deployment: Deployment, emulator: Emulator) -> None:
    outputs = deployment.outputs["Guards"]
    address = {"workflow": outputs["SharingWorkflow"], "control_alias": outputs["SharingControlFunction"]}
    value = {"key": "called", "seconds": 5, "deaths": 0}
    environment = {**os.environ, **emulator.environment()}
    command = [sys.executable, "-c", CALLS, json.dumps(address), json.dumps(value)]
    programs = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this interpreter
        for _ in range(2)
    ]
    reply = {program.communicate(timeout=PATIENCE_S)[0] for program in programs}
    assert len(reply) == 1, reply
    assert [program.returncode for program in programs] == [0, 0]
    assert runs(deployment, "Share called") == 1
    client = deployment.client("Guards", "Sharing")
    assert client.run(value, timeout_s=PATIENCE_S).output == client.call("Share", value) == reply.pop().strip()
    assert runs(deployment, "Share called") == 1, "executions share results with calls"


def test_leases_are_given_back(client: Client) -> None:
    client.run({"n": 1, "seconds": 0}, name="over", timeout_s=PATIENCE_S)
    assert isinstance(client.store, DynamoStore)
    key = lease_key(start_key(client.workflow, "over"))
    assert client.store.acquire(key, "anybody", expires_at_ms=2**50) == "anybody"
