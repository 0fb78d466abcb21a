"""Three deployments while executions wait: each stays on the code and the definition that it began with, to its end."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment
from tests.e2e.versions.executions import Executions, trail
from tests.patience import PATIENCE_S
from unum_client import Description
from unum_compiler.analysis.changes import Effect, changes
from unum_compiler.definition import Definition
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Workflow

HERE = Path(__file__).parent / "versions"

DEPLOYMENTS = {"first": (1, 1), "definition": (2, 1), "code": (2, 2), "both": (3, 3)}
"""Numbers of definition and code, by what has changed; deployed in this order."""

STACKS = ("Versions", "Apart")
"""One has all in itself, the other has its functions in two stacks."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine


@pytest.fixture(scope="module")
def deploy(bootstrapped: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Deployment]:
    folder = tmp_path_factory.mktemp("versions")
    numbers = [f"{name}={definition}.{code}" for name, (definition, code) in DEPLOYMENTS.items()]
    subprocess.run([sys.executable, "-m", "tests.e2e.versions.app", str(folder), *numbers], cwd=ROOT, check=True)  # noqa: S603 - ours

    def deployed(name: str) -> Deployment:
        return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=str(folder / name), cwd=ROOT))

    return deployed


@pytest.fixture(scope="module")
def executions(deploy: Callable[[str], Deployment]) -> Mapping[str, Executions]:
    """By stack: one of each deployment waits for its answer, and one of the first at its gate, all this time."""
    for name in DEPLOYMENTS:
        deployed = deploy(name)
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
    """Return the ends of executions by stack and name, after nothing holds them any more."""
    names = (*DEPLOYMENTS, "gated")
    for each in executions.values():
        each.open_gate("gated")
        for name in names:
            each.answer(name)
    return {
        (stack, name): each.client.wait(name, timeout_s=PATIENCE_S)
        for stack, each in executions.items()
        for name in names
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
