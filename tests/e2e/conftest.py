import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.client import Client

ROOT = Path(__file__).parents[2]
EMULATOR_PYTHON = ROOT / "emulator" / ".venv" / "bin" / "python"
APP = f"{shlex.quote(sys.executable)} -m tests.e2e.app"


@dataclass(frozen=True)
class Deployment:
    """What was deployed: the session that reaches it, and every stack's outputs."""

    session: boto3.Session
    outputs: cdk.Outputs

    def client(self, stack: str) -> Client:
        outputs = self.outputs[stack]
        return Client.connect(
            table=outputs["WorkflowTable"],
            workflow=outputs["WorkflowWorkflow"],
            start_alias=outputs["WorkflowStartAlias"],
            session=self.session,
        )

    def table(self, stack: str, output: str) -> Any:
        return self.session.resource("dynamodb").Table(self.outputs[stack][output])

    def invoke(self, function: str, event: Any) -> Any:
        """What a function answers to a synchronous call."""
        answer = self.session.client("lambda").invoke(FunctionName=function, Payload=json.dumps(event))
        return json.load(answer["Payload"])


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with Emulator(EMULATOR_PYTHON, auth=True, logs=tmp_path_factory.mktemp("emulator")) as running:
        yield running
        endpoint = running.endpoint
    assert _processes_with(f"AWS_ENDPOINT_URL={endpoint}") == []


@pytest.fixture(scope="session")
def bootstrapped(emulator: Emulator) -> Iterator[Emulator]:
    """The emulator, ready for deployments and the place that AWS clients of this process find."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in emulator.environment().items():
            if name.startswith("AWS_"):
                patch.setenv(name, value)
        cdk.bootstrap(emulator, cwd=ROOT)
        yield emulator


@pytest.fixture(scope="session")
def deployment(bootstrapped: Emulator) -> Deployment:
    """All stacks, deployed once."""
    return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=APP, cwd=ROOT))


@pytest.fixture(scope="session")
def probe(deployment: Deployment) -> Callable[..., Any]:
    """Runs a case of the probes to its end: (case, other input)."""
    client = deployment.client("Probes")

    def run(case: str, **value: Any) -> Any:
        return client.wait(client.start({"case": case, **value}).name, timeout_s=60)

    return run


def _processes_with(variable: str) -> list[int]:
    """The processes, other than this one, that were started with an environment variable."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:  # it has ended, or is somebody else's
            continue
        if variable in environment.split("\0") and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found
