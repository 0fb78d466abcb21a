"""Commands over deployed workflows: how they find one, and log lines while an execution runs."""

import json
import os
import re
import subprocess

import pytest

from tests.e2e.command_line import UNUM, unum
from tests.e2e.conftest import Deployment, until
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    """A workflow inside another construct, with an execution whose steps print lines."""
    client = deployment.client("Shown", "ShopOrders")
    client.run({"case": "retries"}, name="printed", timeout_s=PATIENCE_S)
    return client


@pytest.mark.parametrize("given", ["Orders", "Shop/Orders", "Shown/Shop/Orders", "", "NAME"])
def test_id_path_and_name_find_the_workflow(client: Client, given: str) -> None:
    """As option or environment variable; a stack's only workflow needs neither."""
    name = client.workflow if given == "NAME" else given
    by_variables = unum("describe", "printed", "--json", UNUM_STACK="Shown", UNUM_WORKFLOW=name)
    by_options = unum("describe", "printed", "--json", "--stack", "Shown", *(("--workflow", name) if name else ()))
    assert json.loads(by_options) == json.loads(by_variables)
    assert json.loads(by_options)["status"] == "SUCCEEDED"


@pytest.mark.usefixtures("client")
def test_options_come_before_the_environment() -> None:
    here = ("describe", "printed", "--stack", "Shown", "--workflow", "Orders", "--json")
    assert json.loads(unum(*here, UNUM_STACK="Nested", UNUM_WORKFLOW="Child"))["status"] == "SUCCEEDED"
    refused = unum("describe", "printed", UNUM_STACK="Shown", UNUM_WORKFLOW="Refunds", status=2)
    assert "--workflow Refunds: stack Shown has no such workflow; it has Shown-Shop-Orders-" in refused


def test_the_environment_chooses_among_the_workflows_of_a_stack(deployment: Deployment) -> None:
    child, parent = (deployment.client("Nested", each) for each in ("Child", "Workflow"))
    refused = unum("list", UNUM_STACK="Nested", status=2)
    assert f"found {', '.join(sorted([child.workflow, parent.workflow]))}; choose one with --workflow NAME" in refused
    given = json.dumps({"n": 1, "key": "by command"})
    unum("start", "--name", "by-command", "--input", given, UNUM_STACK="Nested", UNUM_WORKFLOW="Nested/Child")
    assert child.wait("by-command", timeout_s=PATIENCE_S).status is Status.SUCCEEDED
    names = {workflow: listed(workflow) for workflow in ("Child", "Workflow")}
    assert "by-command" in names["Child"]
    assert "by-command" not in names["Workflow"]


def listed(workflow: str) -> list[str]:
    lines = unum("list", "--json", UNUM_STACK="Nested", UNUM_WORKFLOW=workflow).splitlines()
    return [json.loads(line)["name"] for line in lines]


@pytest.mark.usefixtures("client")
def test_logs_of_an_execution_and_of_a_step() -> None:
    def printed(*options: str) -> list[str]:
        lines = unum("logs", "printed", *options, UNUM_STACK="Shown", UNUM_WORKFLOW="Orders").splitlines()
        # Failed attempts come after those that have committed; each line begins with its time.
        return [line.split("  ", 1)[1] for line in sorted(lines) if "printing" in line or "passing" in line]

    # What ran in an attempt that failed is known of no line, so it has no state.
    attempts = [f"{state}  printing, attempt {number}" for number, state in enumerate(("-", "-", "Print"))]
    assert printed() == ["Receive  passing on retries", *attempts, "Pack  passing on retries"]
    assert printed("--step", "Print") == attempts
    assert printed("--step", "Pack") == ["Pack  passing on retries"]


def test_logs_follow_an_execution_to_its_end(client: Client, emulator: Emulator) -> None:
    client.start({"case": "asks"}, name="followed")
    tokens: list[str] = []
    until(lambda: bool(tokens.extend(token_of(emulator)) or tokens))
    command = [UNUM, "logs", "followed", "--follow"]
    environment = os.environ | {"UNUM_STACK": "Shown", "UNUM_WORKFLOW": "Orders"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as following:  # noqa: S603 - written above
        assert following.stdout is not None
        first = next(line for line in following.stdout if "passing" in line)
        assert first.endswith("  Receive  passing on asks\n")
        assert client.describe("followed").status is Status.RUNNING
        client.send_task_success(tokens[0], json.dumps({"case": "answered"}))
        rest, _ = following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 0
    assert [line.split("  ", 1)[1] for line in rest.splitlines() if "passing" in line] == ["Pack  passing on answered"]


def token_of(emulator: Emulator) -> list[str]:
    """The task token that the execution ``followed`` has printed."""
    logs = [log.read_text() for log in emulator.logs.glob("Shown-*Ask*.log")]
    return [found for text in logs for found in re.findall(r"token (\S+) of followed", text)]
