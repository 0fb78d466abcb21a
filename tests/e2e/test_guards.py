"""Leases, memoization and nodes without checkpoint on real parts."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.conftest import Deployment
from unum_runtime.client import Client
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
        ended = list(pool.map(lambda _: client.run(value, name="shared", timeout_s=60), range(4)))
    assert ended[0].output == {**value, "token": ended[0].output["token"], "passed": True, "square": 9}
    assert all(one == ended[0] for one in ended)
    assert runs(deployment, "Slow shared") == 1
    assert [step.state for step in client.steps("shared")] == ["Slow", "Square"], "Onward has no checkpoint"


def test_executions_share_the_results_of_a_memoized_function(deployment: Deployment, client: Client) -> None:
    squares = [client.run({"n": 7, "seconds": 0}, timeout_s=60).output["square"] for _ in range(3)]
    assert squares == [49] * 3
    assert runs(deployment, "Square 7") == 1


def test_leases_are_given_back(client: Client) -> None:
    client.run({"n": 1, "seconds": 0}, name="over", timeout_s=60)
    assert isinstance(client.store, DynamoStore)
    key = lease_key(start_key(client.workflow, "over"))
    assert client.store.acquire(key, "anybody", expires_at_ms=2**50) == "anybody"
