"""Workflows that share a control plane: each is operated and recovered as if it were alone, and reaches no other."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Deployment, until
from tests.e2e.role_sessions import session_of
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_runtime.errors import ExecutionDoesNotExist
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import MARK

pytestmark = pytest.mark.e2e

STACK = "Together"
WORKFLOWS = ("One", "Two")
STARTS_IN = {"One": "First", "Two": "Both"}


@pytest.fixture(scope="module")
def clients(deployment: Deployment) -> Mapping[str, Client]:
    return {name: deployment.client(STACK, name) for name in WORKFLOWS}


def control(deployment: Deployment, alias: str) -> str:
    return f"{deployment.outputs[STACK]['Control']}:{alias}"


def intake(deployment: Deployment, workflow: str) -> str:
    return control(deployment, f"intake-{deployment.outputs[STACK][f'{workflow}Workflow']}")


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_step_that_dies_is_retried_by_its_own_workflow(clients: Mapping[str, Client], workflow: str) -> None:
    client = clients[workflow]
    found = client.wait(client.start({"dies": True}).name, timeout_s=PATIENCE_S)
    assert (found.status, found.output["attempt"]) == (Status.SUCCEEDED, 1)


def has_ended(client: Client, name: str) -> bool:
    """Return True if the execution has ended; it begins when its first delivery does not die."""
    with suppress(ExecutionDoesNotExist):
        return client.describe(name).stopped_at is not None
    return False


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_start_by_an_event_that_dies_is_recovered(deployment: Deployment, workflow: str) -> None:
    """The failed start comes to the alias for starts of the one, and to the only intake of the other."""
    outputs, client = deployment.outputs[STACK], deployment.client(STACK, workflow)
    event = json.dumps({"dies": True, "by": "event"})
    address = outputs[f"{workflow}StartAlias"]
    started = deployment.session.client("lambda").invoke(FunctionName=address, InvocationType="Event", Payload=event)
    name = started["ResponseMetadata"]["RequestId"]
    until(lambda: has_ended(client, name))
    assert client.describe(name).status is Status.SUCCEEDED


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_an_administrator_operates_each_by_the_shared_alias(clients: Mapping[str, Client], workflow: str) -> None:
    client = clients[workflow]
    name = client.start({"n": 1}).name
    client.wait(name, timeout_s=PATIENCE_S)
    node = "Second" if workflow == "One" else "Last"
    fork = client.fork(name, from_node=node, new_name=f"fork-{name}").name
    assert client.wait(fork, timeout_s=PATIENCE_S).status is Status.SUCCEEDED
    assert client.stop(name) == client.describe(name).stopped_at, "which keeps an earlier end"


def test_synchronous_start_is_answered_by_its_own_workflow(deployment: Deployment) -> None:
    answer = deployment.invoke(deployment.outputs[STACK]["Sync"], {"input": {"n": 1}, "name": "in-sync"})
    assert (answer["status"], json.loads(answer["output"])) == ("SUCCEEDED", {"n": 1, "attempt": 0})
    assert deployment.client(STACK, "One").describe("in-sync").status is Status.SUCCEEDED


def test_permanent_address_starts_its_own_workflow(deployment: Deployment) -> None:
    answer = deployment.invoke(deployment.outputs[STACK]["Permanent"], {"n": 1})
    assert answer["workflow"] == deployment.outputs[STACK]["TwoWorkflow"]
    client = deployment.client(STACK, "Two")
    until(lambda: has_ended(client, answer["execution"]))
    assert client.describe(answer["execution"]).status is Status.SUCCEEDED


def test_one_sweep_is_sent_on_for_each_workflow(deployment: Deployment) -> None:
    outputs = deployment.outputs[STACK]
    request = {MARK: 1, "control": "sweep", "silent_ms": 10**9, "nudge": True, "letters": outputs["DeadLetters"]}
    assert deployment.invoke(control(deployment, "sweep"), request) == {"workflows": 2}


def invocation_refusal(functions: Any, address: str) -> str:
    """Return the code of the error that IAM answers an invocation with."""
    with pytest.raises(ClientError) as error:
        functions.invoke(FunctionName=address, Payload=b"{}")
    return str(error.value.response["Error"]["Code"])


@pytest.mark.parametrize(("function", "workflow"), [("First", "One"), ("Second", "One"), ("Both", "Two")])
def test_no_function_may_invoke_what_belongs_to_another(deployment: Deployment, function: str, workflow: str) -> None:
    outputs = deployment.outputs[STACK]
    own = outputs[f"{workflow}Workflow"]
    (other,) = (outputs[f"{each}Workflow"] for each in WORKFLOWS if each != workflow)
    starts = "" if function in STARTS_IN.values() else f"start-intake-{own}"
    closed = (
        "sweep",
        "operate",
        f"intake-{other}",
        f"start-intake-{other}",
        f"describe-{other}",
        starts,
        "1",
        "$LATEST",
    )
    with session_of(deployment, outputs[f"{function}Function"]) as session:
        functions = session.client("lambda")
        for alias in filter(None, closed):
            address = control(deployment, alias)
            assert invocation_refusal(functions, address) in ("AccessDeniedException", "AccessDenied"), address
        functions.invoke(FunctionName=intake(deployment, workflow), InvocationType="DryRun", Payload=b"{}")


def test_record_of_another_workflow_has_no_effect_at_an_intake(
    deployment: Deployment, clients: Mapping[str, Client]
) -> None:
    """A function of the one may forge a record at its own intake, and name an execution of the other there."""
    victim, outputs = clients["Two"], deployment.outputs[STACK]
    name = victim.start({"n": 1}).name
    victim.wait(name, timeout_s=PATIENCE_S)
    before = [*victim.steps(name)]
    checkpoint = before[-1].checkpoint
    payload = {
        MARK: 1,
        "workflow": victim.workflow,
        "ir": checkpoint.digest,
        "state": before[-1].state,
        "execution": name,
    }
    record = {
        "requestContext": {
            "requestId": "forged",
            "functionArn": f"{outputs['BothFunction']}:1",
            "condition": "RetriesExhausted",
        },
        "requestPayload": payload,
        "responsePayload": {"errorType": "Forged", "errorMessage": "never happened"},
    }
    with session_of(deployment, outputs["SecondFunction"]) as session:
        answer = session.client("lambda").invoke(FunctionName=intake(deployment, "One"), Payload=json.dumps(record))
    found = json.load(answer["Payload"])
    assert found["errorType"] == "NotOurEvent"
    assert outputs["TwoWorkflow"] in found["errorMessage"]
    assert [*victim.steps(name)] == before
