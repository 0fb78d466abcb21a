import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.patience import PATIENCE_S
from unum_cli.commands.stack import with_addresses
from unum_client import Client
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.store.base import BUCKET

ROOT = Path(__file__).parents[2]
EMULATOR_PYTHON = ROOT / "emulator" / ".venv" / "bin" / "python"


def app_command(module: str) -> str:
    """Return the command that synthesizes an app, without the CDK's validator, as `tests/conftest.py` explains."""
    return f"CDK_VALIDATION=false {shlex.quote(sys.executable)} -m {module}"


APP = app_command("tests.e2e.app")


@dataclass(frozen=True)
class Deployment:
    """Deployed app: the session that reaches it, and the outputs of each stack.

    Attributes:
        session: session in the emulator.
        outputs: outputs by stack, with one for each address of a workflow.
    """

    session: boto3.Session
    outputs: cdk.Outputs

    def __post_init__(self) -> None:
        for stack, found in self.outputs.items():
            self.outputs[stack] = with_addresses(found)

    def client(self, stack: str, workflow: str = "Workflow") -> Client:
        """Of the workflow with this construct id."""
        outputs = self.outputs[stack]
        return Client.connect(
            table=outputs[f"{workflow}Table"],
            workflow=outputs[f"{workflow}Workflow"],
            start_alias=outputs[f"{workflow}StartAlias"],
            describe_alias=outputs.get(f"{workflow}DescribeAlias"),
            control_alias=outputs.get(f"{workflow}ControlFunction"),
            session=self.session,
            payload_bucket=outputs.get(f"{workflow}PayloadBucket"),
        )

    def table(self, stack: str, output: str) -> Any:
        return self.session.resource("dynamodb").Table(self.outputs[stack][output])

    def items(self, stack: str) -> list[dict[str, Any]]:
        """Return the items of executions in a workflow's table or bucket, with the partition as ``pk``."""
        address = self.outputs[stack]["WorkflowTable"]
        if not address.startswith(BUCKET):
            return [*self.table(stack, "WorkflowTable").scan()["Items"]]
        bucket = self.session.resource("s3").Bucket(address.removeprefix(BUCKET))
        names = [each.key for each in bucket.objects.filter(Prefix="state:")]
        found = {name: json.load(bucket.Object(name).get()["Body"]) for name in names if "/" not in sort_in(name)}
        return [{"pk": name.removeprefix("state:"), **content["item"]} for name, content in found.items()]

    def invoke(self, function: str, event: Any) -> Any:
        """Return a function's answer to a synchronous call."""
        answer = self.session.client("lambda").invoke(FunctionName=function, Payload=json.dumps(event))
        return json.load(answer["Payload"])


def sort_in(name: str) -> str:
    """The sort key in an object's name, with a slash and more for an addition to a set."""
    return name.rpartition("/=")[2]


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file in which the emulator writes down what tables, Lambda and queues see."""
    return tmp_path_factory.mktemp("history") / "history.jsonl"


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory, history: Path) -> Iterator[Emulator]:
    logs = tmp_path_factory.mktemp("emulator")
    with Emulator(EMULATOR_PYTHON, auth=True, logs=logs, history=history) as running:
        yield running
        endpoint = running.endpoint
    assert processes_with(f"AWS_ENDPOINT_URL={endpoint}") == []


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
        return client.wait(client.start({"case": case, **value}).name, timeout_s=PATIENCE_S)

    return run


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that should come soon; for long, because the machine may have other things to do."""
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s, "waited for too long"
        time.sleep(0.2)


def deliveries(emulator: Emulator, function: str) -> int:
    """Count the ended invocations of the function with this front of its name."""
    logs = emulator.logs.glob(f"{function}*.log")
    return sum(line.startswith("END ") for log in logs for line in log.read_text().splitlines())


def processes_with(*variables: str) -> list[int]:
    """The processes, other than this one, that were started with environment variables that begin like these."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().decode(errors="replace")
        except OSError:  # it has ended, or is somebody else's
            continue
        begins = all(f"\0{variable}" in f"\0{environment}" for variable in variables)
        if begins and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found
