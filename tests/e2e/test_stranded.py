"""Deployments that drop edges while executions are in every state: all end, on the states that they began with."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment
from tests.e2e.stranded.definitions import TRAILS
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.client import Description
from unum_runtime.client.task_responses import Tasks
from unum_runtime.model.checkpoint import Status

STACK = "Stranded"
HELD = {
    1: ["Prepare", "Wait", "Count", "Count-retry", "Cut", "Work", "Ask", "Answer", "End"],
    2: ["Prepare", "Count", "Insert", "Cut", "Work", "Extra", "Ask", "Answer", "End"],
}
"""Where executions of a definition are held while later ones are deployed."""

LONG_S = 60
"""Length of the Wait of the execution that is held there, longer than the deployments take."""

GONE = {"3-Prepare": "Unum.TimerGone", "3-Ask": "Unum.FunctionGone"}
"""Errors of executions that need what has left the stack, by name."""

NAMES = {f"{number}-{state}": number for number, states in HELD.items() for state in states}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine


@pytest.fixture(scope="module")
def deploy(bootstrapped: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Deployment]:
    folder = tmp_path_factory.mktemp("stranded")
    numbers = map(str, TRAILS)
    subprocess.run([sys.executable, "-m", "tests.e2e.stranded.app", str(folder), *numbers], cwd=ROOT, check=True)  # noqa: S603 - ours
    return lambda number: Deployment(
        boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=str(folder / str(number)), cwd=ROOT)
    )


@pytest.fixture(scope="module")
def deployed(deploy: Callable[[int], Deployment]) -> Deployment:
    """The third deployment, after executions of the first two came to where they are held."""
    for number, states in HELD.items():
        before = deploy(number)
        for state in states:
            begin(before, f"{number}-{state}")
        until_held(before, [f"{number}-{state}" for state in states])
    after = deploy(3)
    begin(after, "3-Nowhere")
    after.table(STACK, "NotesTable").put_item(Item={"key": "gates are open"})
    return after


def begin(deployed: Deployment, name: str) -> None:
    value = {"name": name, "trail": [], "wait_s": LONG_S if name.endswith("Wait") else 1}
    deployed.client(STACK).start(value, name=name)


def until_held(deployed: Deployment, names: list[str]) -> None:
    end_s = time.monotonic() + 90
    while not_held := [name for name in names if not is_held(deployed, name)]:
        assert time.monotonic() < end_s, {name: deployed.client(STACK).why(name) for name in not_held}
        time.sleep(0.5)


def is_held(deployed: Deployment, name: str) -> bool:
    if name.endswith("Wait"):
        return any(each.state in ("Wait", "Count") for each in deployed.client(STACK).why(name).missing)
    return f"held {name}" in deployed_keys(deployed) or f"question of {name}" in deployed_keys(deployed)


def deployed_keys(deployed: Deployment) -> set[str]:
    found = deployed.table(STACK, "NotesTable").scan(ConsistentRead=True)["Items"]
    return {str(each["key"]) for each in found}


@pytest.fixture(scope="module")
def ended(deployed: Deployment) -> Mapping[str, Description]:
    """How they end, without a hand except for the answers to questions."""
    client, waited = deployed.client(STACK), {*NAMES, "3-Nowhere"}
    end_s = time.monotonic() + 180
    answered: set[str] = set()
    while waited and time.monotonic() < end_s:
        answer_questions(deployed, answered)
        waited = {name for name in waited if client.describe(name).status is Status.RUNNING}
        time.sleep(1)
    return {name: client.describe(name) for name in (*NAMES, "3-Nowhere")}


def answer_questions(deployed: Deployment, answered: set[str]) -> None:
    responder = Tasks.connect(start_alias=deployed.outputs[STACK]["WorkflowStartAlias"])
    for each in deployed.table(STACK, "NotesTable").scan(ConsistentRead=True)["Items"]:
        if "token" in each and each["key"] not in answered:
            name = str(each["key"]).removeprefix("question of ")
            responder.send_task_success(each["token"], json.dumps({"name": name, "trail": each["trail"]}))
            answered.add(each["key"])


@pytest.mark.parametrize("name", [*NAMES, "3-Nowhere"])
def test_an_execution_ends_on_the_states_that_it_began_with(ended: Mapping[str, Description], name: str) -> None:
    assert ended[name].status is Status.SUCCEEDED, ended[name]
    assert ended[name].output["trail"] == TRAILS[int(name[0])]


def test_nothing_became_a_dead_letter(deployed: Deployment, ended: Mapping[str, Description]) -> None:
    assert ended
    assert letters(deployed) == []


@pytest.fixture(scope="module")
def failed(deploy: Callable[[int], Deployment], ended: Mapping[str, Description]) -> Mapping[str, Description]:
    """How executions of the third definition end after the timer queue and a function have left the stack."""
    assert ended
    before = deploy(3)
    before.table(STACK, "NotesTable").delete_item(Key={"key": "gates are open"})
    for name in GONE:
        begin(before, name)
    until_held(before, [*GONE])
    after = deploy(4)
    after.table(STACK, "NotesTable").put_item(Item={"key": "gates are open"})
    client = after.client(STACK)
    return {name: client.wait(name, timeout_s=60) for name in GONE}


@pytest.mark.parametrize(("name", "error"), GONE.items())
def test_what_left_the_stack_fails_executions_by_its_name(
    failed: Mapping[str, Description], name: str, error: str
) -> None:
    assert (failed[name].status, failed[name].error) == (Status.FAILED, error)
    assert "redrive" in str(failed[name].cause)


def letters(deployed: Deployment) -> list[Any]:
    url = deployed.outputs[STACK]["WorkflowFailureQueue"]
    found = deployed.session.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2)
    return [json.loads(each["Body"]) for each in found.get("Messages", [])]
