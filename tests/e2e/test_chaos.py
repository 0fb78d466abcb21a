"""The invariants on real parts: processes killed with -9 and events sent twice, and one right result each."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.chaos.stack import LANES
from tests.e2e.conftest import Deployment
from unum_runtime.client.client import Client
from unum_runtime.client.reading import stored_steps
from unum_runtime.model.checkpoint import Checkpoint, Status, Success

EXECUTIONS = int(os.environ.get("UNUM_EXECUTIONS", "60"))
"""In `make endurance` more."""
ITEMS = 20

pytestmark = pytest.mark.e2e


def steps(client: Client, name: str) -> list[Checkpoint]:
    """What an execution has committed."""
    execution = stored_steps.start_record(client.store, client.workflow, name).name.execution
    return [*stored_steps.steps(client.store, client.workflow, execution)]


def committed(client: Client, name: str) -> dict[str, list[Any]]:
    """Every committed value of an execution, by state and in the order of its index."""
    values: dict[str, list[Any]] = {}
    for step in steps(client, name):
        assert isinstance(step.outcome, Success), step
        values.setdefault(step.state, []).append(step.outcome.value)
    return values


def play(client: Client, names: list[str]) -> None:
    """Start the executions, and see that each has one right result."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: client.start({"items": ITEMS, "deaths": deaths_of(name)}, name=name), names))
    for name in names:
        ended = client.wait(name, timeout_s=400)
        assert ended.status is Status.SUCCEEDED, ended
        values = committed(client, name)
        assert ended.output == values["Join"][0]
        assert ended.output["items"] == values["Item"], "the join saw what the items committed, in order"
        assert [item["from"] for item in values["Item"]] == [item["token"] for item in values["Source"][0]]
        assert [item["n"] for item in values["Item"]] == list(range(ITEMS))
        assert {state: len(found) for state, found in values.items()} == {"Source": 1, "Item": ITEMS, "Join": 1}


def deaths(deployment: Deployment, prefix: str) -> Counter[str]:
    """How many died in executions whose names begin with `prefix`, by what they did then."""
    keys = [item["key"] for item in scan(deployment)]
    return Counter(key.split(f" {prefix}")[0].split(" [")[0] for key in keys if prefix in key)


def test_every_execution_has_one_right_result_whatever_dies(deployment: Deployment) -> None:
    play(deployment.client("Chaos"), [f"chaos-{number:03d}" for number in range(EXECUTIONS)])
    died = deaths(deployment, "chaos-")
    for kind in ("in user code", "between commit and invoke", "in the midst of a fan-out"):
        assert died[kind] >= EXECUTIONS // 20, f"too few deaths to prove anything: {died}"
    assert died["of all attempts, 2"] > 0, "no event used up its retries"


def test_a_delivery_dies_that_goes_on_from_branch_to_branch(deployment: Deployment) -> None:
    client, names = deployment.client("Chaos", "Lanes"), [f"lanes-{number:03d}" for number in range(EXECUTIONS // 5)]
    play(client, names)
    fused = sum(step.fused for name in names for step in steps(client, name))
    assert fused > len(names) * (ITEMS - LANES) * 0.75, "most branches began without an event"
    died = deaths(deployment, "lanes-")
    assert died["in user code"] >= len(names) // 5, f"too few deaths to prove anything: {died}"


def deaths_of(name: str) -> int:
    """How often the first function of an execution dies: of three executions, as often as Lambda tries it."""
    return 3 if name.endswith(("07", "27", "47")) else 0


def scan(deployment: Deployment) -> list[dict[str, Any]]:
    table = deployment.table("Chaos", "DeathsTable")
    page = table.scan()
    items = page["Items"]
    while "LastEvaluatedKey" in page:
        page = table.scan(ExclusiveStartKey=page["LastEvaluatedKey"])
        items += page["Items"]
    return items
