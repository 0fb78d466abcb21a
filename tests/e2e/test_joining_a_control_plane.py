"""A deployed workflow that joins a control plane, goes to another one, and leaves it again."""

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment, app_command
from tests.e2e.together.joining import OWN
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(2 * PATIENCE_S)]


def deployed(emulator: Emulator, control_plane: str) -> Client:
    app = app_command(f"tests.e2e.together.joining {control_plane}")
    outputs = cdk.deploy(emulator, ["--all"], app=app, cwd=ROOT)
    return Deployment(boto3.Session(), outputs).client("Joining")


def test_executions_are_recovered_and_operated_after_each_change(bootstrapped: Emulator) -> None:
    names: list[str] = []
    for control_plane in (OWN, "Plane", "Other", OWN):
        client = deployed(bootstrapped, control_plane)
        names.append(client.start({"dies": True}).name)
        found = client.wait(names[-1], timeout_s=PATIENCE_S)
        assert (found.status, found.output["attempt"]) == (Status.SUCCEEDED, 1), control_plane
        # Each execution of an earlier deployment can be read, and forked by the control plane of this one.
        assert [client.describe(name).status for name in names] == [Status.SUCCEEDED] * len(names)
        fork = client.fork(names[0], from_node="Second", new_name=f"fork-{len(names)}").name
        assert client.wait(fork, timeout_s=PATIENCE_S).status is Status.SUCCEEDED
