"""Executions of a version that another has replaced, read by the definitions in the workflows' own tables."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment
from tests.e2e.definitions.stack import LAST
from tests.patience import PATIENCE_S
from unum_cli.main import main
from unum_client import Client
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.errors import ClientError
from unum_runtime.model.checkpoint import Status

WORKFLOWS = ("FromChain", "FromGraph", "FromAsl")
STACK = "Definitions"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine

Unum = Callable[..., str]


@dataclass(frozen=True)
class Versions:
    """Two deployments, the assemblies of both, and who may read."""

    deployed: Deployment
    assemblies: Path

    def client(self, workflow: str, user: str) -> Client:
        """With the permissions of `user` alone."""
        outputs = self.deployed.outputs[STACK]
        key = self.deployed.session.client("iam").create_access_key(UserName=outputs[f"{user}Name"])["AccessKey"]
        session = boto3.Session(
            aws_access_key_id=key["AccessKeyId"],
            aws_secret_access_key=key["SecretAccessKey"],
            region_name=self.deployed.session.region_name,
        )
        control = outputs[f"{workflow}ControlFunction"] if user == "Operator" else None
        return Client.connect(
            table=outputs[f"{workflow}Table"], workflow=workflow, control_alias=control, session=session
        )


@pytest.fixture(scope="module")
def versions(bootstrapped: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Versions:
    """An execution "v1" of each workflow ends on version 1; then comes version 2, and an execution "v2"."""
    folder = tmp_path_factory.mktemp("definitions")
    for number in LAST:
        outdir = folder / f"v{number}"
        app = [sys.executable, "-m", "tests.e2e.definitions.app", str(outdir), str(number)]
        subprocess.run(app, cwd=ROOT, check=True)  # noqa: S603 - ours
        deployed = Deployment(boto3.Session(), cdk.deploy(bootstrapped, [STACK], app=str(outdir), cwd=ROOT))
        for workflow in WORKFLOWS:
            ended = deployed.client(STACK, workflow).run({"items": [1, 2]}, name=f"v{number}", timeout_s=PATIENCE_S)
            assert ended.status is Status.SUCCEEDED, ended
    return Versions(deployed, folder)


@pytest.fixture
def unum(versions: Versions, capsys: pytest.CaptureFixture[str]) -> Unum:  # noqa: ARG001 - deployed before
    """Runs a command for the workflow with this name, which has to succeed; returns its output."""

    def run(command: str, workflow: str, *arguments: str) -> str:
        capsys.readouterr()
        assert main([command, *arguments, "--stack", STACK, "--workflow", workflow]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("workflow", WORKFLOWS)
@pytest.mark.parametrize("number", LAST)
def test_an_execution_of_each_version_is_read_without_a_file(unum: Unum, workflow: str, number: int) -> None:
    name, last = f"v{number}", LAST[number]
    (other,) = {*LAST.values()} - {last}
    events = json.loads(unum("history", workflow, name, "--json"))["events"]
    entered = [event["stateEnteredEventDetails"]["name"] for event in events if "stateEnteredEventDetails" in event]
    assert entered == ["First", "Each", "Work", "Work", last]
    assert events[-1]["type"] == "ExecutionSucceeded"
    (run,) = json.loads(unum("map-runs", workflow, name, "--json"))
    assert (run["state"], run["items"]["succeeded"]) == ("Each", 2)
    drawn = unum("graph", workflow, "--execution", name)
    assert last in drawn
    assert other not in drawn
    assert f"execution {name}, succeeded" in drawn
    assert isinstance(json.loads(unum("watch", workflow, name)), list)


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_what_is_deployed_is_drawn_and_compared(
    unum: Unum, versions: Versions, workflow: str, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = unum("graph", workflow, "--format", "mermaid")
    assert LAST[2] in drawn
    assert LAST[1] not in drawn
    same = json.loads(unum("diff", workflow, str(versions.assemblies / "v2"), "--json"))
    assert {change["effect"] for change in same} == {"unchanged"}
    main(["diff", str(versions.assemblies / "v1"), "--stack", STACK, "--workflow", workflow, "--json"])
    changed = {change["subject"]: change["effect"] for change in json.loads(capsys.readouterr().out)}
    assert (changed[f"state {LAST[1]}"], changed[f"state {LAST[2]}"]) == ("added", "removed")
    same = json.loads(unum("diff", workflow, str(versions.assemblies / "v1"), "--execution", "v1", "--json"))
    assert {change["effect"] for change in same} == {"unchanged"}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_readers_and_operators_need_no_other_permission(versions: Versions, workflow: str) -> None:
    reader, operator = (versions.client(workflow, user) for user in ("Reader", "Operator"))
    assert LAST[1] in reader.definition("v1").states
    assert reader.progress("v1")["Each"].succeeded == 1
    assert LAST[2] in operator.deployed_definition().states
    with pytest.raises(ClientError, match="control_alias: expected"):
        reader.deployed_definition()


def test_a_token_of_the_definition_is_stored_with_its_value(versions: Versions) -> None:
    first: Any = versions.client("FromChain", "Reader").definition("v1").states["First"]
    assert first.data["Parameters"]["Payload"]["queue"].startswith("http")


def test_a_function_that_starts_no_executions_cannot_write_definitions(versions: Versions) -> None:
    outputs: Mapping[str, str] = versions.deployed.outputs[STACK]
    assert outputs["FromAslTable"]
    output = versions.client("FromAsl", "Reader").describe("v2").output
    assert output == ["AccessDeniedException", "AccessDeniedException"]
