"""Three deployments while executions wait: each stays on the code and the definition that it began with, to its end."""

import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment
from unum_constructs.changes import Effect, changes
from unum_constructs.definition import Definition
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.client import Description
from unum_runtime.client.tasks import Tasks
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Workflow

HERE = Path(__file__).parent / "versions"
APP = f"{shlex.quote(sys.executable)} -m tests.e2e.versions.app"

DEPLOYMENTS = {"first": (1, 1), "definition": (2, 1), "code": (2, 2), "both": (3, 3)}
"""Numbers of definition and code, by what has changed; deployed in this order."""

ENDS: Mapping[int, Sequence[str]] = {
    1: ("Recover", "Conclude"),
    2: ("Apologize", "Conclude", "Check"),
    3: ("Apologize", "Conclude", "Inspect"),
}
"""Where each definition leads when the Task that dies has been given up."""

STACKS = ("Versions", "Apart")
"""One has all in itself, the other has its functions in two stacks."""

pytestmark = pytest.mark.e2e


def trail(definition: int, code: int) -> list[str]:
    """What an execution comes by that never leaves the versions that it started on."""
    return [f"{state} by code {code}" for state in ("Prepare", "Gate", "Ask", *ENDS[definition])]


class Executions:
    """The executions, and what holds them."""

    def __init__(self, deployed: Deployment, stack: str) -> None:
        self.client = deployed.client(stack)
        self._notes = deployed.table(stack, "NotesTable")
        self._door = Tasks.connect(start_alias=deployed.outputs[stack]["WorkflowStartAlias"])

    def start(self, name: str) -> None:
        self.client.start({"name": name, "trail": []}, name=name)

    def open_gate(self, name: str) -> None:
        self._notes.put_item(Item={"key": f"gate of {name}"})

    def asked(self, name: str) -> Mapping[str, Any]:
        """What an execution left behind when it began to wait for an answer."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            found: Mapping[str, Any] | None = self._notes.get_item(Key={"key": name}, ConsistentRead=True).get("Item")
            if found is not None:
                return found
            time.sleep(0.2)
        raise AssertionError(f"{name}: nobody asked")

    def answer(self, name: str) -> None:
        question = self.asked(name)
        self._door.send_task_success(question["token"], json.dumps(question["answer"]))


@pytest.fixture(scope="module")
def deploy(bootstrapped: Emulator) -> Callable[[int, int], Deployment]:
    def deployed(definition: int, code: int) -> Deployment:
        version = ["-c", f"definition={definition}", "-c", f"code={code}"]
        return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["--all", *version], app=APP, cwd=ROOT))

    return deployed


@pytest.fixture(scope="module")
def executions(deploy: Callable[[int, int], Deployment]) -> Mapping[str, Executions]:
    """By stack: one of each deployment waits for its answer, and one of the first at its gate, all this time."""
    for name, version in DEPLOYMENTS.items():
        deployed = deploy(*version)
        held = {stack: Executions(deployed, stack) for stack in STACKS}
        for each in held.values():
            each.open_gate(name)
            each.start(name)
            if name == "first":
                each.start("gated")
        for each in held.values():
            each.asked(name)
    return held


@pytest.fixture(scope="module")
def ended(executions: Mapping[str, Executions]) -> Mapping[tuple[str, str], Description]:
    """How they end, by stack and name, now that nothing holds them any more."""
    names = (*DEPLOYMENTS, "gated")
    for each in executions.values():
        each.open_gate("gated")
        for name in names:
            each.answer(name)
    return {
        (stack, name): each.client.wait(name, timeout_s=180) for stack, each in executions.items() for name in names
    }


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(("name", "version"), [*DEPLOYMENTS.items(), ("gated", DEPLOYMENTS["first"])])
def test_an_execution_ends_on_the_versions_that_it_began_with(
    ended: Mapping[tuple[str, str], Description], stack: str, name: str, version: tuple[int, int]
) -> None:
    end = ended[stack, name]
    assert end.status is Status.SUCCEEDED, end
    assert end.output["trail"] == trail(*version)


@pytest.mark.parametrize(("old", "new"), [(1, 2), (2, 2), (2, 3)])
def test_that_nothing_breaks_was_known_beforehand(old: int, new: int) -> None:
    found = changes(compiled(old), compiled(new))
    assert not [change for change in found if change.effect is Effect.BREAKS]
    assert (old == new) == all(change.effect is Effect.UNCHANGED for change in found)


def test_that_going_back_would_break_executions_was_known_too() -> None:
    found = changes(compiled(2), compiled(1))
    assert {change.subject for change in found if change.effect is Effect.BREAKS} == {
        "function Check",
        "function Conclude",
    }


def compiled(definition: int) -> Workflow:
    workflow = Definition.from_asl_file(HERE / f"workflow_{definition}.asl.json")
    return workflow.compile("workflow", None, {})
