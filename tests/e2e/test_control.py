"""People redrive, nudge and fork executions, through aliases of the control function and with no other permission."""

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import Deployment, until
from tests.e2e.control.stack import SILENT_S
from tests.e2e.lost_starts import start_lost
from tests.patience import PATIENCE_S
from tests.unit.protocol.cut_store import CutStore, Died
from unum_client import Client, ForkedFrom
from unum_client.control import Control
from unum_runtime.clock import SystemClock
from unum_runtime.errors import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotDeletable,
    ExecutionNotRedrivable,
    StartsPaused,
)
from unum_runtime.model.checkpoint import Status
from unum_runtime.protocol.control.forks.fork import ForkRequest, fork
from unum_runtime.protocol.planning.existing_start import DELETED
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime

ITEMS, BROKEN = 50, (3, 17, 49)

pytestmark = pytest.mark.e2e


class Dropping:
    """An invoker that loses every event."""

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        assert events


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    """Return a client with credentials for control requests only."""
    user = deployment.outputs["Control"]["OperatorName"]
    key = deployment.session.client("iam").create_access_key(UserName=user)["AccessKey"]
    operator = boto3.Session(
        aws_access_key_id=key["AccessKeyId"],
        aws_secret_access_key=key["SecretAccessKey"],
        region_name=deployment.session.region_name,
    )
    outputs = deployment.outputs["Control"]
    control = Control.connect(
        control_alias=outputs["WorkflowControlFunction"], workflow=outputs["WorkflowWorkflow"], session=operator
    )
    return replace(deployment.client("Control"), control=control)


def counts(deployment: Deployment, run: str) -> list[int]:
    """Return the number of runs for each item."""
    table = deployment.table("Control", "CountsTable")
    found = [table.get_item(Key={"id": f"{run}/{item}"}, ConsistentRead=True) for item in range(ITEMS)]
    return [int(each["Item"]["runs"]) if "Item" in each else 0 for each in found]


def test_a_redrive_runs_what_failed_and_nothing_else(deployment: Deployment, client: Client) -> None:
    run, table = uuid.uuid4().hex, deployment.table("Control", "CountsTable")
    for item in BROKEN:
        table.put_item(Item={"id": f"broken {run}/{item}"})
    client.start({"run": run, "items": list(range(ITEMS))}, name=run)
    assert client.wait(run, timeout_s=PATIENCE_S).status is Status.FAILED
    before = counts_at_rest(deployment, run)
    for item in BROKEN:
        table.delete_item(Key={"id": f"broken {run}/{item}"})
    client.redrive(run)
    ended = client.wait(run, timeout_s=PATIENCE_S)
    assert (ended.status, ended.output) == (Status.SUCCEEDED, list(range(ITEMS)))
    again = [after - count for after, count in zip(counts(deployment, run), before, strict=True)]
    # What has succeeded does not run again; a branch that had not begun when another failed runs for the first time.
    assert again == [int(item in BROKEN or before[item] == 0) for item in range(ITEMS)]
    with pytest.raises(ExecutionNotRedrivable, match="SUCCEEDED"):
        client.redrive(run)


def counts_at_rest(deployment: Deployment, run: str) -> list[int]:
    """Return the number of runs for each item, after running branches have ended."""
    client, found = deployment.client("Control"), counts(deployment, run)
    while True:
        client.waiter.sleep(3)
        before, found = found, counts(deployment, run)
        if found == before:
            return found


def test_a_nudge_makes_up_for_an_event_that_was_lost(client: Client) -> None:
    run = uuid.uuid4().hex
    start_lost(client, {"run": run, "items": [1]}, run)
    (found,) = client.why(run).missing
    assert (found.state, client.describe(run).status) == ("Begin", Status.RUNNING)
    client.nudge(run)
    assert client.wait(run, timeout_s=PATIENCE_S).output == [1]
    assert client.why(run).count == 0


def test_a_deletion_leaves_markers_and_no_data(deployment: Deployment, client: Client) -> None:
    run, mark = uuid.uuid4().hex, uuid.uuid4().hex
    client.start({"run": run, "items": [1, 2], "large": mark * 1_000}, name=run)
    with pytest.raises((ExecutionNotDeletable, ExecutionDoesNotExist)):
        client.delete_execution(uuid.uuid4().hex)
    assert client.wait(run, timeout_s=PATIENCE_S).status is Status.SUCCEEDED
    outputs = deployment.outputs["Control"]
    s3, bucket = deployment.session.client("s3"), outputs["WorkflowPayloadBucket"]
    assert s3.list_objects_v2(Bucket=bucket, Prefix=f"{client.workflow}/{run}").get("Contents")
    deletion = client.delete_execution(run)
    assert deletion.again_at is not None
    assert "its name, and markers without data in the place of its steps" in {each.what for each in deletion.remains}
    assert not s3.list_objects_v2(Bucket=bucket, Prefix=f"{client.workflow}/{run}").get("Contents")
    items = deployment.items("Control")
    own = [item for item in items if run in item["pk"]]
    assert mark not in str(items)
    assert {json.loads(str(item["error"])) for item in own} == {DELETED}
    assert run not in {each.name for each in client.list(limit=100).executions}
    with pytest.raises(ExecutionDoesNotExist, match="was deleted"):
        client.describe(run)
    with pytest.raises(ExecutionAlreadyExists, match="was deleted"):
        client.start({"run": run, "items": []}, name=run)
    assert client.delete_execution(run).deleted_at == deletion.deleted_at


def test_a_sweep_makes_up_for_the_loss_of_every_event(deployment: Deployment) -> None:
    client = deployment.client("Control", "Swept")
    run = start_lost(client, {"n": 1}).name
    ended = client.wait(run, timeout_s=PATIENCE_S)  # nobody does anything: the schedule comes every minute
    assert (ended.status, ended.output) == (Status.SUCCEEDED, {"n": 1})
    assert ended.stopped_at is not None
    assert (ended.stopped_at - ended.started_at).total_seconds() >= SILENT_S


@pytest.mark.parametrize("dies_at", [4, 6, 9])
def test_a_fork_whose_forker_died_is_finished_by_a_nudge(client: Client, dies_at: int) -> None:
    run, name = uuid.uuid4().hex, uuid.uuid4().hex
    client.start({"run": run, "items": [0, 1]}, name=run)
    ended = client.wait(run, timeout_s=PATIENCE_S)
    digest = next(iter(client.steps(run))).checkpoint.digest
    forker = Runtime(
        workflow=read_definition(client.store, client.workflow, digest),
        store=CutStore(client.store, dies_at, is_made=True),
        invoker=Dropping(),
        clock=SystemClock(),
        call=lambda *_: None,
        hosts=frozenset(),
        routes={},
    )
    with pytest.raises(Died):
        fork(forker, ForkRequest(execution=run, name=name, node="Each"))
    described = client.describe(name)
    assert described.status is Status.RUNNING
    assert described.forked_from == ForkedFrom(execution=run, node="Each", visit=1, is_finished=False)
    with pytest.raises(ExecutionAlreadyExists, match="is a fork"):
        client.start({"run": run, "items": [0, 1]}, name=name)
    client.nudge(name)
    assert client.wait(name, timeout_s=PATIENCE_S).output == ended.output


def test_a_fork_goes_on_with_another_input(deployment: Deployment, client: Client) -> None:
    run = uuid.uuid4().hex
    client.start({"run": run, "items": [0, 1]}, name=run)
    client.wait(run, timeout_s=PATIENCE_S)
    other: Any = {"run": run, "items": [1, 2]}
    assert client.fork(run, from_node="Each", new_name=f"{run}-2", input=other).name == f"{run}-2"
    assert client.wait(f"{run}-2", timeout_s=PATIENCE_S).output == [1, 2]
    assert counts(deployment, run)[:3] == [1, 2, 1]


def test_a_paused_workflow_starts_nothing_until_it_is_resumed(client: Client) -> None:
    """Nothing by name and nothing by an event, which Lambda keeps; what exists is answered."""
    known, late = uuid.uuid4().hex, uuid.uuid4().hex
    value = {"run": known, "items": []}
    client.start(value, name=known)
    client.pause_starts("the supplier is closed")
    try:
        until(lambda: is_refused(client, value))
        client.submit(value, name=late)
        assert client.start(value, name=known).is_new is False
        assert client.wait(known, timeout_s=PATIENCE_S).status is not Status.RUNNING
        with pytest.raises(ExecutionDoesNotExist):
            client.describe(late)
    finally:
        client.resume_starts()
    until(lambda: not is_refused(client, value))
    # Lambda tries the submitted start again after a minute; nobody waits for that here.
    assert client.start(value, name=late).name == late


def is_refused(client: Client, value: Any) -> bool:
    """Start another execution; return True if the pause refuses it."""
    time.sleep(1)  # each that is not refused is one more
    try:
        client.start(value, name=uuid.uuid4().hex)
    except StartsPaused:
        return True
    return False
