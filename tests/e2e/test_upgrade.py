"""From each release to this tree while executions run: they end on the runtime that they began with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment, app_command
from tests.e2e.upgrade.keep import RELEASES
from tests.e2e.versions.executions import Executions, trail
from tests.patience import PATIENCE_S
from unum_cli.main import main
from unum_client import Description
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_emulator.settings import ACCOUNT, REGION
from unum_runtime.model.checkpoint import Status

APP = app_command("tests.e2e.upgrade.app")
STACK = "Upgrade"
BUILDS = {"asked": (1, 1), "gated": (1, 1), "new": (2, 2), "former": (2, 2)}
"""Numbers of definition and code that an execution starts on, by its name."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine


@pytest.fixture(scope="module", params=sorted(RELEASES.iterdir()), ids=lambda folder: folder.name)
def upgraded(bootstrapped: Emulator, request: pytest.FixtureRequest) -> Executions:
    """Executions of which two were started on the release, and two after this tree had been deployed.

    One of the later ones is started by a client of the release.
    """
    before = Executions(released(request.param), STACK)
    before.start_as_former("gated")
    start_and_ask(before, "asked", as_former=True)
    version = ["-c", "definition=2", "-c", "code=2"]
    after = Executions(
        Deployment(boto3.Session(), cdk.deploy(bootstrapped, [STACK, *version], app=APP, cwd=ROOT)), STACK
    )
    start_and_ask(after, "new")
    start_and_ask(after, "former", as_former=True)
    after.open_gate("gated")
    for name in BUILDS:
        after.answer(name)
    return after


@pytest.fixture(scope="module")
def ended(upgraded: Executions) -> Mapping[str, Description]:
    """Return the ends of the executions."""
    return {name: upgraded.client.wait(name, timeout_s=PATIENCE_S) for name in BUILDS}


def start_and_ask(executions: Executions, name: str, *, as_former: bool = False) -> None:
    executions.open_gate(name)
    if as_former:
        executions.start_as_former(name)
    else:
        executions.start(name)
    executions.asked(name)


def released(folder: Path) -> Deployment:
    """Deploy the app of a release."""
    session = boto3.Session()
    template = (folder / "template.json").read_text(encoding="utf-8")
    bucket, key = layer_in(json.loads(template))
    session.client("s3").upload_file(str(folder / "layer.zip"), bucket, key)
    formation = session.client("cloudformation")
    formation.create_stack(StackName=STACK, TemplateBody=template, Capabilities=["CAPABILITY_IAM"])
    formation.get_waiter("stack_create_complete").wait(StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
    (stack,) = formation.describe_stacks(StackName=STACK)["Stacks"]
    return Deployment(session, {STACK: {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}})


def layer_in(template: Mapping[str, Any]) -> tuple[str, str]:
    """The bucket and the key at which a template expects its layer."""
    (layer,) = (each for each in template["Resources"].values() if each["Type"] == "AWS::Lambda::LayerVersion")
    content = layer["Properties"]["Content"]
    bucket = content["S3Bucket"]["Fn::Sub"].replace("${AWS::AccountId}", ACCOUNT).replace("${AWS::Region}", REGION)
    return bucket, content["S3Key"]


@pytest.mark.parametrize("name", BUILDS)
def test_an_execution_ends_on_the_runtime_that_it_began_with(ended: Mapping[str, Description], name: str) -> None:
    assert ended[name].status is Status.SUCCEEDED, ended[name]
    assert ended[name].output["trail"] == trail(*BUILDS[name])


@pytest.mark.parametrize("upgraded", [RELEASES / "0.1.0"], indirect=True, ids=["0.1.0"])
@pytest.mark.usefixtures("ended")
def test_executions_of_a_release_without_stored_definitions_need_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "new", "--stack", STACK]) == 0
    assert "ExecutionSucceeded" in capsys.readouterr().out
    assert main(["history", "asked", "--stack", STACK]) == 1
    assert "release 0.1.0 stored no definitions" in capsys.readouterr().err


def test_a_table_that_listed_nothing_lists_what_started_before_it_did(
    upgraded: Executions, ended: Mapping[str, Description]
) -> None:
    listed = {each.name: each.status for each in upgraded.client.list().executions}
    assert listed == {name: each.status for name, each in ended.items()}
