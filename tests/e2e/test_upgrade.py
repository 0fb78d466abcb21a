"""From each kept release to this tree while executions run: they end on the runtime that they began with.

Nothing is released yet; a580f918 is a commit in place of a release, and rehearses what releases will promise.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment, app_command, until
from tests.e2e.upgrade.keep import RELEASES
from tests.e2e.versions.executions import ENDS, Executions, trail
from tests.patience import PATIENCE_S
from unum_cli.main import main
from unum_client import Client, Description
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_emulator.process_settings import ACCOUNT, REGION
from unum_runtime.model.checkpoint import Status

APP = app_command("tests.e2e.upgrade.app")
ONLY_ASSET = "layer.zip"
"""Asset of releases that have one alone."""

STACK = "Upgrade"
ON_NEW = [f"{state} by code 2" for state in ("Ask", *ENDS[2])]
TRAILS: Mapping[str, list[str]] = {
    "ended": trail(1, 1),
    "asked": trail(1, 1),
    "gated": trail(1, 1),
    "stopped": trail(1, 1),
    "failed": [*trail(1, 1)[:2], *ON_NEW],
    "forked": ON_NEW,
    "new": trail(2, 2),
    "started": trail(2, 2),
    "submitted": trail(2, 2),
}
"""Tasks and their code by execution.

Before the upgrade the first has ended, and the next four are in flight, stopped or failed. After it, the stopped one is
redriven on its own versions, the failed one on those of now, and one is forked from the first; the rest are started.
"""
CROWD = ("waiting", "crowded")
"""Executions of the other workflow: their branches wait for a time and at a gate."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine


@pytest.fixture(scope="module", params=sorted(RELEASES.iterdir()), ids=lambda folder: folder.name)
def deployed(bootstrapped: Emulator, request: pytest.FixtureRequest) -> Deployment:
    """The upgraded stack, with executions in all states at its upgrade, and some of after it; all of them may end."""
    released = deploy_release(request.param)
    before = Executions(released, STACK)
    begin(before, released.client(STACK, "Crowd"))
    version = ["-c", "definition=2", "-c", "code=2"]
    made = Deployment(boto3.Session(), cdk.deploy(bootstrapped, [STACK, *version], app=APP, cwd=ROOT))
    go_on(Executions(made, STACK), made, json.loads((request.param / "requests.json").read_text(encoding="utf-8")))
    return made


@pytest.fixture(scope="module")
def upgraded(deployed: Deployment) -> Executions:
    return Executions(deployed, STACK)


@pytest.fixture(scope="module")
def crowd(deployed: Deployment) -> Client:
    return deployed.client(STACK, "Crowd")


def begin(before: Executions, crowd: Client) -> None:
    """Start executions on the release, and let them come to where they are in the upgrade."""
    for name in ("ended", "asked", "stopped", "failed"):
        before.open_gate(name)
        before.start(name)
    before.start("gated")
    for name in CROWD:
        until_s = 90 if name == "waiting" else 1
        crowd.start({"name": name, "items": [1, 2, 3], "until": later(until_s)}, name=name)
    before.open_gate("waiting")
    before.answer("ended")
    assert before.client.wait("ended", timeout_s=PATIENCE_S).status is Status.SUCCEEDED
    before.client.send_task_failure(before.asked("failed")["token"], "Refused")
    before.asked("stopped")
    before.client.stop("stopped")
    until(lambda: before.client.describe("failed").status is Status.FAILED)
    before.asked("asked")
    for name in ("stopped", "failed"):
        before.forget_question(name)


def go_on(after: Executions, deployed: Deployment, requests: Mapping[str, Any]) -> None:
    """Start, redrive and fork executions on this tree, and release all that wait."""
    functions, run_alias = deployed.session.client("lambda"), deployed.outputs[STACK]["WorkflowRunAlias"]
    for name, request in requests.items():  # as the client of the release sends them
        after.open_gate(name)
        answer = functions.invoke(FunctionName=run_alias, Payload=json.dumps(request).encode())
        assert "FunctionError" not in answer, answer["Payload"].read()
    after.open_gate("new")
    after.start("new")
    assert after.client.redrive("stopped", on="original").on == "original"
    assert after.client.redrive("failed", on="current").on == "current"
    after.client.nudge("asked")
    given = {"name": "forked", "trail": []}  # inputs of another definition are not known
    after.client.fork("ended", from_node="Ask", new_name="forked", input=given)
    for gate in ("gated", "crowded"):
        after.open_gate(gate)
    for name in TRAILS.keys() - {"ended"}:
        after.answer(name)


@pytest.fixture(scope="module")
def ended(upgraded: Executions) -> Mapping[str, Description]:
    """Executions of the workflow that changed, as they ended."""
    return {name: upgraded.client.wait(name, timeout_s=PATIENCE_S) for name in TRAILS}


@pytest.mark.parametrize("name", TRAILS)
def test_execution_ends_on_the_runtime_that_it_began_with(ended: Mapping[str, Description], name: str) -> None:
    assert ended[name].status is Status.SUCCEEDED, ended[name]
    assert ended[name].output["trail"] == TRAILS[name]


@pytest.mark.parametrize("name", CROWD)
def test_fan_out_ends_on_the_runtime_that_it_began_with(crowd: Client, name: str) -> None:
    end = crowd.wait(name, timeout_s=PATIENCE_S)
    assert end.status is Status.SUCCEEDED, end
    assert end.output["trail"] == [*["Each by code 1"] * 3, "Close by code 1"]


def test_table_lists_executions_of_before_and_after(upgraded: Executions, ended: Mapping[str, Description]) -> None:
    listed = {each.name: each.status for each in upgraded.client.list().executions}
    assert listed == {name: each.status for name, each in ended.items()}


@pytest.mark.usefixtures("ended")
def test_history_of_a_former_execution_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """By its own definition, which the release has stored."""
    for name in ("asked", "new"):
        assert main(["history", name, "--stack", STACK, "--workflow", "Workflow"]) == 0
        out = capsys.readouterr().out
        assert "ExecutionSucceeded" in out
        assert ("Recover" in out) is (name == "asked")


def later(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def deploy_release(folder: Path) -> Deployment:
    session = boto3.Session()
    template = (folder / "template.json").read_text(encoding="utf-8")
    s3 = session.client("s3")
    for place in assets_in(json.loads(template)):
        bucket = place["S3Bucket"]["Fn::Sub"].replace("${AWS::AccountId}", ACCOUNT).replace("${AWS::Region}", REGION)
        kept = folder / f"asset.{place['S3Key']}"
        s3.upload_file(str(kept if kept.exists() else folder / ONLY_ASSET), bucket, place["S3Key"])
    s3.put_object(Bucket=bucket, Key=f"{folder.name}.json", Body=template.encode())  # too large for the request
    url = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": f"{folder.name}.json"})
    formation = session.client("cloudformation")
    formation.create_stack(StackName=STACK, TemplateURL=url.partition("?")[0], Capabilities=["CAPABILITY_IAM"])
    formation.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 500})
    (stack,) = formation.describe_stacks(StackName=STACK)["Stacks"]
    return Deployment(session, {STACK: {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}})


def assets_in(template: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the places in S3 at which `template` expects its assets."""
    for resource in template["Resources"].values():
        for name in ("Code", "Content"):
            place = resource.get("Properties", {}).get(name)
            if isinstance(place, Mapping) and "S3Key" in place:
                yield place
