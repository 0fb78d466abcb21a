"""A function and a definition are mended and deployed, and executions that failed continue."""

import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment
from tests.patience import PATIENCE_S
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status
from unum_runtime.protocol.control.operator_requests import On

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine


def test_after_a_repair_a_redrive_runs_what_is_deployed_and_says_so(bootstrapped: Emulator, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "tests.e2e.repair.app", str(tmp_path)], cwd=ROOT, check=True)  # noqa: S603 - ours

    def deploy(code: int) -> Deployment:
        return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=str(tmp_path / str(code)), cwd=ROOT))

    client = deploy(1).client("Repair")
    for name in ("mended", "as"):
        client.start([0, 1, 2], name=name)
    for name in ("mended", "as"):
        assert client.wait(name, timeout_s=PATIENCE_S).status is Status.FAILED
    client = deploy(2).client("Repair")
    redriven = client.redrive("mended")
    assert (redriven.on, redriven.reason) == (On.CURRENT, "they can continue from what is committed")
    ended = client.wait("mended", timeout_s=PATIENCE_S)
    # What had succeeded did not run again; what failed ran with the mended code.
    assert (ended.status, ended.output) == (Status.SUCCEEDED, ["0 by code 1", "1 by code 2", "2 by code 1"])
    assert client.redrive("as", on="original").on is On.ORIGINAL
    ended = client.wait("as", timeout_s=PATIENCE_S)
    assert (ended.status, ended.error) == (Status.FAILED, "ValueError")
    (result,) = client.redrive_all("FAILED")
    assert (result.name, result.redriven and result.redriven.on) == ("as", On.CURRENT)
    assert client.wait("as", timeout_s=PATIENCE_S).status is Status.SUCCEEDED
