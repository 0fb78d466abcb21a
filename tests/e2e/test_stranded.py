"""Deployments while executions are in every state: all end, on the states that they began with.

The first deployments drop edges. The last one removes functions, the timer queue and more: it is refused as long as
executions need them, unless it keeps them, or lets the executions fail.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment
from tests.e2e.stranded.definitions import LEAVING, TRAILS
from tests.patience import PATIENCE_S
from unum_client import Description
from unum_client.task_responses import Tasks
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status

STACK = "Stranded"
HELD = {
    1: ["Prepare", "Wait", "Count", "Count-retry", "Cut", "Work", "Ask", "Answer", "End"],
    2: ["Prepare", "Count", "Insert", "Cut", "Work", "Extra", "Ask", "Answer", "End"],
}
"""Where executions of a definition are held while later ones are deployed."""

LONG_S = 60
"""Length of the Wait of executions that are held there, or need the timer after the last deployment: longer than the
deployments take."""

REMOVED = [
    "activity Review",
    "function Count",
    "function Extra",
    "function Work",
    "the function that calls services",
    "the schedule group",
    "the timer queue",
]
"""What the last definition removes."""

LATE = ["3-Prepare", "3-Ask", "3-Wait", "3-Review"]
"""Executions of the third definition that run at the last deployments."""

GONE = {"3-Prepare-again": "Unum.TimerGone", "3-Ask-again": "Unum.FunctionGone"}
"""Errors of executions that need what has left the stack, by name."""

NAMES = {f"{number}-{state}": number for number, states in HELD.items() for state in states}

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine


@pytest.fixture(scope="module")
def deploy(bootstrapped: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int | str], Deployment]:
    folder = tmp_path_factory.mktemp("stranded")
    names = [*map(str, TRAILS), "4-kept", "4-forced"]
    subprocess.run([sys.executable, "-m", "tests.e2e.stranded.app", str(folder), *names], cwd=ROOT, check=True)  # noqa: S603 - ours
    return lambda name: Deployment(
        boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=str(folder / str(name)), cwd=ROOT)
    )


@pytest.fixture(scope="module")
def deployed(deploy: Callable[[int | str], Deployment]) -> Deployment:
    """The third deployment, after executions of the first two came to where they are held."""
    for number, states in HELD.items():
        before = deploy(number)
        for state in states:
            begin(before, f"{number}-{state}")
        until_held(before, [f"{number}-{state}" for state in states])
    after = deploy(3)
    begin(after, "3-Nowhere")
    open_gates(after)
    return after


def open_gates(deployed: Deployment) -> None:
    deployed.table(STACK, "NotesTable").put_item(Item={"key": "gates are open"})


def close_gates(deployed: Deployment) -> None:
    deployed.table(STACK, "NotesTable").delete_item(Key={"key": "gates are open"})


def begin(deployed: Deployment, name: str) -> None:
    value = {"name": name, "trail": [], "wait_s": LONG_S if name.endswith(("Wait", "Prepare-again")) else 1}
    deployed.client(STACK).start(value, name=name)


def until_held(deployed: Deployment, names: list[str]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not_held := [name for name in names if not is_held(deployed, name)]:
        assert time.monotonic() < end_s, {name: deployed.client(STACK).why(name) for name in not_held}
        time.sleep(0.5)


def is_held(deployed: Deployment, name: str) -> bool:
    if name.endswith("Wait"):
        return any(each.state in ("Wait", "Count", "Insert") for each in deployed.client(STACK).why(name).missing)
    return f"held {name}" in deployed_keys(deployed) or f"question of {name}" in deployed_keys(deployed)


def deployed_keys(deployed: Deployment) -> set[str]:
    found = deployed.table(STACK, "NotesTable").scan(ConsistentRead=True)["Items"]
    return {str(each["key"]) for each in found}


@pytest.fixture(scope="module")
def ended(deployed: Deployment) -> Mapping[str, Description]:
    """Return the ends of executions, which need nothing but answers to questions."""
    client, waited = deployed.client(STACK), {*NAMES, "3-Nowhere"}
    end_s = time.monotonic() + PATIENCE_S
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
def before(deploy: Callable[[int | str], Deployment]) -> Deployment:
    """The third deployment again, with executions that are held."""
    deployed = deploy(3)
    close_gates(deployed)
    for name in LATE:
        begin(deployed, name)
    until_held(deployed, [name for name in LATE if not name.endswith("Review")])
    return deployed


@pytest.fixture(scope="module")
def refusal(deploy: Callable[[int | str], Deployment], before: Deployment) -> str:
    """Return the message of a deployment that removes parts needed by executions."""
    assert before
    with pytest.raises(cdk.CdkError) as refused:
        deploy(4)
    return " ".join(str(refused.value).split())


@pytest.mark.parametrize("part", REMOVED)
def test_a_deployment_that_removes_what_executions_need_is_refused(refusal: str, part: str) -> None:
    assert part in refusal


def test_the_refusal_says_how_many_and_what_to_do(refusal: str) -> None:
    assert f"running executions need: {len(LATE)} (" in refusal
    assert "keep=Keep(...)" in refusal


def test_the_refused_deployment_is_rolled_back(before: Deployment, refusal: str) -> None:
    assert refusal
    (stack,) = before.session.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"


@pytest.fixture(scope="module")
def kept(deploy: Callable[[int | str], Deployment], refusal: str) -> tuple[Deployment, Mapping[str, Description]]:
    """Return the ends after the first of two steps: the last definition, with the parts that executions need."""
    assert refusal
    after = deploy("4-kept")
    open_gates(after)
    client, outputs = after.client(STACK), after.outputs[STACK]
    queues = json.loads(outputs["WorkflowActivities"])
    worker = Tasks.connect(start_alias=outputs["WorkflowStartAlias"], activities=queues)
    task = worker.get_activity_task("Review")
    value = json.loads(task["input"])
    worker.send_task_success(task["taskToken"], json.dumps({**value, "trail": [*value["trail"], "Review"]}))
    return after, {name: client.wait(name, timeout_s=PATIENCE_S) for name in LATE}


@pytest.mark.parametrize("name", LATE)
def test_kept_parts_serve_executions_of_earlier_definitions(
    kept: tuple[Deployment, Mapping[str, Description]], name: str
) -> None:
    _, ended = kept
    trail = [*TRAILS[3][:-1], *(["Review"] if name.endswith("Review") else []), TRAILS[3][-1]]
    assert (ended[name].status, ended[name].output["trail"]) == (Status.SUCCEEDED, trail)


@pytest.fixture(scope="module")
def removed(
    deploy: Callable[[int | str], Deployment], kept: tuple[Deployment, Mapping[str, Description]]
) -> Deployment:
    """The second of two steps, while an execution runs that began after the first."""
    close_gates(kept[0])
    begin(kept[0], "4-Ask")
    until_held(kept[0], ["4-Ask"])
    return deploy(4)


def test_the_second_step_removes_what_nobody_needs(removed: Deployment) -> None:
    assert "WorkflowActivities" not in removed.outputs[STACK]
    names = [each["FunctionName"] for each in removed.session.client("lambda").list_functions()["Functions"]]
    assert not [name for name in names if re.match(rf"{STACK}-({'|'.join(LEAVING)})[0-9A-F]{{8}}-", name)]
    open_gates(removed)
    assert removed.client(STACK).wait("4-Ask", timeout_s=PATIENCE_S).output["trail"] == TRAILS[4]


@pytest.fixture(scope="module")
def failed(deploy: Callable[[int | str], Deployment], removed: Deployment) -> Mapping[str, Description]:
    """Return the ends of executions of the third definition, when the last deployment does not wait for them."""
    assert removed
    again = deploy(3)
    close_gates(again)
    for name in GONE:
        begin(again, name)
    until_held(again, [*GONE])
    after = deploy("4-forced")
    open_gates(after)
    client = after.client(STACK)
    return {name: client.wait(name, timeout_s=PATIENCE_S) for name in GONE}


@pytest.mark.parametrize(("name", "error"), GONE.items())
def test_what_left_the_stack_fails_executions_by_its_name(
    failed: Mapping[str, Description], name: str, error: str
) -> None:
    assert (failed[name].status, failed[name].error) == (Status.FAILED, error), failed[name]
    assert "redrive" in str(failed[name].cause)


def letters(deployed: Deployment) -> list[Any]:
    url = deployed.outputs[STACK]["WorkflowFailureQueue"]
    found = deployed.session.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2)
    return [json.loads(each["Body"]) for each in found.get("Messages", [])]
