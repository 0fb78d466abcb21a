"""Many executions, many clients, long executions, and one that is stopped; waiting takes nobody's time."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.e2e.conftest import Deployment, deliveries, processes_with, until
from tests.e2e.lost_starts import start_lost
from tests.patience import PATIENCE_S
from unum_client import Client, Description
from unum_emulator.process import Emulator
from unum_emulator.process_settings import Settings
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.naming import lease_key, start_key
from unum_runtime.model.states import Json
from unum_runtime.protocol.requests.run import LEASE_MS

EXECUTIONS = int(os.environ.get("UNUM_EXECUTIONS", "300"))
"""In `make endurance` a thousand."""
CLIENTS = 16
ITEMS = 50
ROUNDS = 300
WAIT_S = 20
PUT_OFF = "is not stored yet; try again"
"""A start on a slow machine waits for its definition no longer than a function may; its event is delivered again."""

pytestmark = pytest.mark.e2e

CONNECT = """
import json, sys, time
from dataclasses import replace
from unum_client import Client
client = Client.connect(table=sys.argv[1], workflow=sys.argv[2], start_alias=sys.argv[3])
"""

RACING_CLIENT = f"""{CONNECT}
value = json.loads(sys.argv[4])
print("ready", flush=True)
sys.stdin.readline()
started = client.start(value, name="race")
shared = client.run(value, name="race-under-a-lease")
print(json.dumps([started.is_new, started.started_at.isoformat(), client.wait("race").output, shared.output]))
"""


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Endurance")


@pytest.fixture(scope="module")
def process(deployment: Deployment) -> Callable[[str, Json], "subprocess.Popen[str]"]:
    """Runs a program as a client of the workflow: (program, input of the execution)."""
    outputs = deployment.outputs["Endurance"]
    places = [outputs[f"Workflow{output}"] for output in ("Table", "Workflow", "StartAlias")]

    def run(program: str, value: Json) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", program, *places, json.dumps(value)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours

    return run


@pytest.fixture(scope="module")
def long_ones(client: Client) -> Iterator[Mapping[str, "Future[Description]"]]:
    """Run executions of a minute beside the other tests: a loop, and a client that resumes a request that died."""
    value = {"case": "square", "n": 3}
    begun = start_lost(client, value, "orphan")
    until_ms = round(begun.started_at.timestamp() * 1000) + LEASE_MS
    client.store.acquire(lease_key(start_key(client.workflow, "orphan")), "dead", expires_at_ms=until_ms)
    loop: dict[str, Any] = {"case": "loop", "round": 0, "rounds": ROUNDS}
    with ThreadPoolExecutor(2) as pool:
        yield {
            "orphan": pool.submit(client.run, value, name="orphan", timeout_s=PATIENCE_S),
            "loop": pool.submit(client.run, loop, name="loop", timeout_s=PATIENCE_S),
        }


def notes(deployment: Deployment, what: str) -> dict[str, int]:
    """Count the notes of functions, by subject."""
    items = deployment.table("Endurance", "NotesTable").scan(ConsistentRead=True)["Items"]
    return {item["key"]: int(item[what]) for item in items if what in item}


def test_during_a_wait_of_20_seconds_no_process_is_needed(client: Client, emulator: Emulator) -> None:
    """All that this test's functions run in is killed when the wait begins, and nothing takes its place before the end.

    Sandboxes stay warm after an invocation, so to find none at work would not tell much.
    """

    def sandboxes() -> list[int]:
        return processes_with(f"AWS_ENDPOINT_URL={emulator.endpoint}\0", "AWS_LAMBDA_FUNCTION_NAME=Endurance-")

    name = client.start({"case": "wait", "n": 7}).name
    until(lambda: [step.state for step in client.steps(name)] == ["Begin"])
    time.sleep(2)  # for the invocation to end
    for each in sandboxes():
        os.kill(each, signal.SIGKILL)
    (begun,) = client.steps(name)
    found: set[int] = set()
    while time.time() < begun.committed_at.timestamp() + WAIT_S - 1:
        found.update(sandboxes())
        time.sleep(0.2)
    assert found == set()
    ended = client.wait(name, timeout_s=PATIENCE_S)
    assert ended.output["square"] == 49
    assert ended.stopped_at is not None
    assert ended.stopped_at - begun.committed_at >= timedelta(seconds=WAIT_S)


def test_nothing_starts_after_a_map_of_50_was_stopped(
    client: Client, deployment: Deployment, emulator: Emulator
) -> None:
    """The stop comes when the emulator runs its maximum of items at once, so no further item is under way."""
    name, table = "stopped", deployment.table("Endurance", "NotesTable")
    client.start({"case": "hold", "items": list(range(ITEMS))}, name=name)
    until(lambda: len(notes(deployment, "begun")) == Settings.dispatchers < ITEMS)
    begun = notes(deployment, "begun")
    client.stop(name, error="Enough", cause="for today")
    ended = client.describe(name)
    assert (ended.status, ended.error, ended.cause) == (Status.ABORTED, "Enough", "for today")

    table.put_item(Item={"key": f"gate {name}"})
    until(lambda: deliveries(emulator, "Endurance-Hold") >= ITEMS)
    assert notes(deployment, "begun") == begun, "an item began after the stop"
    assert notes(deployment, "ended") == begun, "what had begun did not end"
    assert client.describe(name) == ended
    assert "Joined" not in {step.state for step in client.steps(name)}


def test_16_clients_start_one_execution(
    client: Client, deployment: Deployment, process: Callable[..., Any], long_ones: Mapping[str, "Future[Description]"]
) -> None:
    """One process per client; all at once, then again under a lease."""
    assert long_ones
    value = {"case": "square", "n": 5, "counted": True}
    racing = [process(RACING_CLIENT, value) for _ in range(CLIENTS)]
    for each in racing:
        assert each.stdout.readline() == "ready\n"
    for each in racing:
        each.stdin.write("go\n")
        each.stdin.flush()
    reply = [json.loads(each.communicate(timeout=PATIENCE_S)[0]) for each in racing]
    news, begins, outputs, shared = zip(*reply, strict=True)
    assert sum(news) == 1
    assert len(set(begins)) == 1
    assert all(one == outputs[0] and one["square"] == 25 for one in outputs)
    assert all(one == shared[0] and one["square"] == 25 for one in shared)
    assert [step.state for step in client.steps("race")] == ["Begin", "Square"]
    assert notes(deployment, "runs")["race-under-a-lease"] == 1


def test_all_executions_end_that_are_started_as_fast_as_possible(
    client: Client, long_ones: Mapping[str, "Future[Description]"]
) -> None:
    assert long_ones
    names = [f"many-{n:04d}" for n in range(EXECUTIONS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda n: client.start({"case": "square", "n": n}, name=names[n]), range(EXECUTIONS)))
    ended = [client.wait(name, timeout_s=PATIENCE_S) for name in names]
    assert {one.status for one in ended} == {Status.SUCCEEDED}
    assert [one.output["square"] for one in ended] == [n**2 for n in range(EXECUTIONS)]


def test_other_client_takes_over_a_dead_request_after_its_lease(
    client: Client, long_ones: Mapping[str, "Future[Description]"]
) -> None:
    """It died after it had written the start record, and before it sent anything to Lambda."""
    ended = long_ones["orphan"].result(PATIENCE_S)
    assert ended.output["square"] == 9
    first, *_ = client.steps("orphan")
    assert first.committed_at - ended.started_at >= timedelta(milliseconds=LEASE_MS)


def test_a_loop_of_300_rounds_that_waits_in_each(
    client: Client, long_ones: Mapping[str, "Future[Description]"]
) -> None:
    """Zero seconds in most rounds, one second in every tenth."""
    ended = long_ones["loop"].result(PATIENCE_S)
    assert ended.output["round"] == ROUNDS
    assert [step.state for step in client.steps("loop")].count("Round") == ROUNDS
    assert ended.stopped_at is not None
    assert ended.stopped_at - ended.started_at >= timedelta(seconds=ROUNDS // 10 - 1)


def test_no_delivery_failed_on_the_way(emulator: Emulator) -> None:
    lines = [line for log in emulator.logs.glob("Endurance-*") for line in log.read_text().splitlines()]
    assert any("finished" in line for line in lines)
    assert [line for line in lines if line.startswith("[ERROR]") and PUT_OFF not in line] == []
