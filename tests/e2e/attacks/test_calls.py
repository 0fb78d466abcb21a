"""Callers of a Task read nothing else, whatever name and definition a starter chooses for an execution."""

import json
from typing import Any

import pytest

from tests.e2e.attacks.world import STACK, World
from tests.e2e.conftest import Deployment
from unum_client import Client
from unum_runtime.features.memo import calling
from unum_runtime.model.checkpoint import Status
from unum_runtime.protocol.control.control_aliases import call_alias

pytestmark = pytest.mark.e2e

SECRET = "what the caller must not read"


def ask(world: World, run: str) -> Any:
    """Return the answer to the caller's question what became of `run`."""
    lambdas = world.session_of("Caller").client("lambda")
    (address,) = (each for each in world.addresses if f":{call_alias('Second')}-" in each)
    asked = json.dumps(calling.question("Second", run)).encode()
    return json.loads(lambdas.invoke(FunctionName=address, Payload=asked)["Payload"].read())


@pytest.mark.parametrize("force", [False, True], ids=["plain", "forced"])
def test_caller_reads_no_execution_that_a_starter_names_like_a_run(deployment: Deployment, *, force: bool) -> None:
    world = World(deployment)
    name = f"{calling._run_prefix('Second')}{'0123456789abcdef' * 2}"[:-1] + str(int(force))
    alias = world.deployment.outputs[STACK]["FlowStartAlias"]
    starter = Client.connect(session=world.session_of("Starter"), workflow=world.name, start_alias=alias)
    starter.start({"hold_s": 0, "secret": SECRET}, name=name, force=force)
    ended = world.client().wait(name, timeout_s=120)
    assert (ended.status, SECRET in json.dumps(ended.output)) == (Status.SUCCEEDED, True)
    answer = ask(world, name)
    assert SECRET not in json.dumps(answer)
    assert answer["error"] == "ExecutionDoesNotExist"


def test_caller_reads_its_own_call(deployment: Deployment) -> None:
    world = World(deployment)
    call = world.client().begin_call("Second", {"own": SECRET})
    assert call.result(timeout_s=120) == {"own": SECRET}
