"""Status events on a bus of the emulator, with IAM enforced: each change of a status has one event, whoever dies."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.chaos import regions
from tests.e2e.conftest import ROOT, Deployment, app_command, until
from tests.history.record import read
from tests.patience import PATIENCE_S
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.store.dynamodb import DynamoStore

APP = app_command("tests.e2e.status_events.app")
EXECUTIONS = 20

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(2 * PATIENCE_S)]


@dataclass
class Told:
    """Queue of a rule, with all received events."""

    deployed: Deployment
    output: str
    details: list[Any] = field(default_factory=list)

    def of(self, name: str) -> list[Any]:
        """Details of the events of an execution, in the order of arrival."""
        client, url = self.deployed.session.client("sqs"), self.deployed.outputs["Told"][self.output]
        while messages := client.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                event = json.loads(message["Body"])
                assert (event["source"], event["detail-type"]) == ("unum", "Unum Execution Status Change")
                assert event["resources"] == [event["detail"]["executionArn"]]
                self.details.append(event["detail"])
                client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [each for each in self.details if each["name"] == name]

    def statuses(self, name: str) -> list[str]:
        return [each["status"] for each in self.of(name)]


@pytest.fixture(scope="module")
def deployment(bootstrapped: Emulator) -> Deployment:
    return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=APP, cwd=ROOT))


@pytest.mark.parametrize("workflow", ["Calm", "Bucket"])
def test_a_rule_sees_the_start_and_the_end(deployment: Deployment, workflow: str) -> None:
    client, queue = deployment.client("Told", workflow), Told(deployment, f"{workflow}Told")
    client.run({"n": 1}, name="well", timeout_s=PATIENCE_S)
    until(lambda: len(queue.of("well")) >= 2)
    started, ended = queue.of("well")
    name = deployment.outputs["Told"][f"{workflow}Workflow"]
    _, _, _, region, account, *_ = deployment.outputs["Told"][f"{workflow}StartAlias"].split(":")
    seen = client.describe("well")
    assert seen.stopped_at is not None
    expected = {
        "executionArn": f"arn:aws:states:{region}:{account}:execution:{name}:well",
        "stateMachineArn": f"arn:aws:states:{region}:{account}:stateMachine:{name}",
        "name": "well",
        "startDate": round(seen.started_at.timestamp() * 1000),
        "input": '{"n":1}',
        "inputDetails": {"included": True},
        "error": None,
        "cause": None,
        "redriveCount": 0,
        "redriveDate": None,
        "stateMachineVersionArn": None,
        "stateMachineAliasArn": None,
    }
    running: dict[str, Any] = {"status": "RUNNING", "stopDate": None, "output": None, "outputDetails": None}
    running |= not_redrivable("RUNNING")
    succeeded = {
        **not_redrivable("SUCCEEDED"),
        "status": "SUCCEEDED",
        "stopDate": round(seen.stopped_at.timestamp() * 1000),
        "output": '{"n":1}',
        "outputDetails": {"included": True},
    }
    assert started == {**expected, **running, "id": started["id"]}
    assert ended == {**expected, **succeeded, "id": ended["id"]}
    assert started["id"] != ended["id"]


def not_redrivable(status: str) -> dict[str, str]:
    reason = f"Execution is {status} and cannot be redriven"
    return {"redriveStatus": "NOT_REDRIVABLE", "redriveStatusReason": reason}


def test_a_rule_for_failures_sees_these_alone(deployment: Deployment) -> None:
    client, queue = deployment.client("Told", "Calm"), Told(deployment, "CalmFailed")
    client.run({"n": 2}, name="before", timeout_s=PATIENCE_S)
    client.run({"fails": True}, name="failing", timeout_s=PATIENCE_S)
    until(lambda: bool(queue.of("failing")))
    (failed,) = queue.details
    assert (failed["status"], failed["error"], failed["output"]) == ("FAILED", "ValueError", None)
    assert "told to" in failed["cause"]
    assert (failed["redriveStatus"], failed["redriveStatusReason"]) == ("REDRIVABLE", None)


@pytest.mark.parametrize("workflow", ["Calm", "Bucket"])
def test_stops_redrives_and_forks_have_events(deployment: Deployment, workflow: str) -> None:
    client, queue = deployment.client("Told", workflow), Told(deployment, f"{workflow}Told")
    client.start({"pause_s": 3600}, name="stopped")
    until(lambda: any(client.steps("stopped")))
    client.stop("stopped", "Enough", "for now")
    until(lambda: "ABORTED" in queue.statuses("stopped"))
    assert [(each["error"], each["cause"]) for each in queue.of("stopped")] == [(None, None), ("Enough", "for now")]
    assert queue.of("stopped")[-1]["redriveStatus"] == "REDRIVABLE"
    redriven = client.redrive("stopped")
    until(lambda: queue.statuses("stopped").count("RUNNING") == 2)
    client.stop("stopped", "Enough", "for good")
    until(lambda: queue.statuses("stopped").count("ABORTED") == 2)
    assert redrives(queue.of("stopped")) == [(0, None), (0, None), *[(1, round(redriven.timestamp() * 1000))] * 2]
    client.fork("stopped", from_node="First", new_name="forked", input={"n": 3})
    until(lambda: "SUCCEEDED" in queue.statuses("forked"))
    assert queue.statuses("forked") == ["RUNNING", "SUCCEEDED"]
    assert len({each["id"] for each in queue.details}) == len(queue.details)


@pytest.mark.parametrize("workflow", ["Calm", "Bucket"])
def test_the_end_of_a_redriven_execution_tells_of_the_redrives(deployment: Deployment, workflow: str) -> None:
    client, queue = deployment.client("Told", workflow), Told(deployment, f"{workflow}Told")
    client.run({"fails": True}, name="again", timeout_s=PATIENCE_S)
    times = []
    for _ in range(2):
        times.append(round(client.redrive("again").timestamp() * 1000))
        client.wait("again", timeout_s=PATIENCE_S)
    until(lambda: queue.statuses("again").count("FAILED") == 3)
    told_of = [(0, None), *((count, at_ms) for count, at_ms in enumerate(times, 1))]
    assert sorted(redrives(queue.of("again")), key=str) == sorted([*told_of, *told_of], key=str)
    assert redrives([each for each in queue.of("again") if each["status"] == "FAILED"]) == told_of


def redrives(details: list[Any]) -> list[tuple[int, int | None]]:
    return [(each["redriveCount"], each["redriveDate"]) for each in details]


def test_each_change_has_one_id_while_functions_are_killed(deployment: Deployment, history: Path) -> None:
    client, queue = deployment.client("Told", "Killed"), Told(deployment, "KilledTold")
    regions.play(client, EXECUTIONS, PATIENCE_S)
    dynamodb: Any = deployment.session.client("dynamodb")
    store = DynamoStore(dynamodb, deployment.outputs["Told"]["KilledTable"])
    workflow = deployment.outputs["Told"]["KilledWorkflow"]
    names = [f"region-{n}" for n in range(EXECUTIONS)]
    expected = {name: Counter(changes(store, workflow, name)) for name in names}
    until(lambda: {name: Counter(distinct(queue.of(name))) for name in names} == expected)
    by_id = {each["id"]: each for each in queue.details}
    assert all(by_id[each["id"]] == each for each in queue.details), "events of one id differ"
    assert len(by_id) >= 2 * EXECUTIONS
    assert kills(history) >= EXECUTIONS // 4, "too few died to prove anything"


def kills(history: Path) -> int:
    """Number of deliveries of which the emulator killed the process."""
    lines = read(history)
    own = {line["delivery"] for line in lines if line["what"] == "begun" and "Told-Killed" in line["function"]}
    return sum(line["delivery"] in own for line in lines if line["what"] == "ended" and line["result"] == "killed")


def changes(store: DynamoStore, workflow: str, name: str) -> list[tuple[str, int | None]]:
    """Status and end of each change that is committed."""
    found: list[tuple[str, int | None]] = []
    before = None
    for step in from_start(store, workflow, name):
        if step.ending is not None:
            found.append((str(step.ending.status), step.committed_ms))
        elif before is None or before.ending is not None:
            found.append((str(Status.RUNNING), None))
        before = step
    return found


def distinct(details: list[Any]) -> list[tuple[str, int | None]]:
    """The same of events, each id once."""
    by_id = {each["id"]: each for each in details}
    return [(each["status"], each["stopDate"]) for each in by_id.values()]
