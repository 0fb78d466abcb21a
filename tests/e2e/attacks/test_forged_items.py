"""Roles that can change items of executions, by key and verb, and the effects on executions."""

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.attacks.forging import VERBS, Targets, changes, seen, stored, targets
from tests.e2e.attacks.stack import VERBS as HOLES
from tests.e2e.attacks.test_attacks_on_control import MAY
from tests.e2e.attacks.world import STACK, World, record
from tests.e2e.conftest import Deployment, until
from unum_client.verification.findings import Rule
from unum_runtime.model.checkpoint import Failure, Status, Success, stop_record
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Execution, Name
from unum_runtime.protocol.history.start_records import last_step

pytestmark = pytest.mark.e2e

Changes = set[tuple[str, str, str]]
"""Changes of items, each as workflow, kind of key, and verb."""

EXECUTIONS = ("checkpoint", "end", "stop", "branch")
"""Kinds of keys of executions, which functions of their workflow write."""

STARTS = ("start", "pause")
"""Kinds of keys beside start records, which only the function in which executions start may write."""


def all_of(workflow: str, kinds: tuple[str, ...], verbs: tuple[str, ...]) -> Changes:
    return {*itertools.product((workflow,), kinds, verbs)}


ACCEPTED: Mapping[str, Changes] = {
    **{role: set() for role in MAY},
    "FlowFirst": all_of("Flow", (*EXECUTIONS, *STARTS), ("put",)) | all_of("Flow", ("definition",), ("put",)),
    "FlowSecond": all_of("Flow", EXECUTIONS, ("put",)),
    "OtherFirst": all_of("Other", (*EXECUTIONS, *STARTS), ("put",)) | all_of("Other", ("definition",), ("put",)),
    "OtherSecond": all_of("Other", EXECUTIONS, ("put",)),
}
"""What the threat model accepts: functions of one workflow trust each other with its executions. No other role changes
items, and nothing those of another workflow. Without fan-outs and eager collection, roles have no right to update."""


@pytest.fixture(scope="module")
def world(deployment: Deployment) -> Iterator[World]:
    found = World(deployment)
    yield found
    found.forget()


@pytest.fixture(scope="module")
def attacked(world: World) -> dict[str, Targets]:
    return {workflow: targets(world, workflow) for workflow in ("Flow", "Other")}


def changed_by(world: World, role: str, attacked: Mapping[str, Targets]) -> Changes:
    return {(name, *change) for name, found in attacked.items() for change in changes(world, role, found)}


@pytest.mark.parametrize("role", ACCEPTED)
def test_role_changes_only_items_of_its_own_workflow(role: str, world: World, attacked: dict[str, Targets]) -> None:
    before = {name: seen(world, found) for name, found in attacked.items()}
    assert changed_by(world, role, attacked) == ACCEPTED[role]
    assert {name: seen(world, found) for name, found in attacked.items()} == before


@pytest.mark.parametrize("hole", HOLES)
def test_each_planted_right_is_reported(hole: str, world: World, attacked: dict[str, Targets]) -> None:
    verbs = {
        "HolePut": {"put"},
        "HoleUpdate": {"update"},
        "HoleDelete": {"delete"},
        "HoleBatch": {"put", "delete", "batch put", "batch delete"},
    }[hole]
    found = changed_by(world, hole, attacked)
    assert {verb for _, _, verb in found} == verbs
    assert {(workflow, kind) for workflow, kind, _ in found} == {
        (name, kind) for name, each in attacked.items() for kind in each.keys
    }


def test_the_planted_rights_are_of_all_verbs() -> None:
    assert set(VERBS) == {"put", "update", "delete", "batch put", "batch delete"}


# What comes of it: tried with the workflow whose Tasks remember no results, so that what runs again charges again


def _past(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "ttl": int(time.time()) - 86_400}


def _events(world: World, found: Targets) -> Iterator[Any]:
    """Yield events that make an intake plan the last Task of an ended execution again."""
    client = world.client(found.workflow)
    end = [*client.steps(found.ended)][-1].checkpoint
    value = Value(Success({"hold_s": 0, "charge": found.charge}), end.committed_ms)
    event = Envelope(
        workflow=client.workflow,
        digest=str(end.digest),
        name=end.name,
        state="Second",
        input=value,
        sent_s=int(time.time()),
        routes={},
    )
    payload = json.loads(event.to_bytes())
    function = world.functions[f"{found.workflow}Second"]["FunctionArn"]
    # A failure of the runtime, after which the intake sends the event again.
    yield record(payload, f"{function}:1", {"errorType": "StoreError", "errorMessage": "forged"})


def attack(world: World, role: str, found: Targets) -> None:
    """Let a finished execution run again, and stop one that runs, as far as the role may."""
    session = world.session_of(role)
    table = session.resource("dynamodb").Table(world.deployment.outputs[STACK]["FlowTable"])
    events = [*_events(world, found)]
    with suppress(ClientError):
        table.put_item(Item=_past(stored(world, found.keys["end"]) or {}))
    lambdas = session.client("lambda")
    handlers = [each for each in world.addresses if "OnFailureHandler" in each]
    for address, event in itertools.product(handlers, events):
        with suppress(ClientError):
            lambdas.invoke(FunctionName=address, Payload=json.dumps(event))
    key, start = found.keys["stop"], stored(world, found.keys["start"]) or {}
    execution = Execution(found.running, int(start["at"]))
    forged = stop_record(Name(execution, (), 2), Failure("Forged", None), int(time.time() * 1000))
    item = {"pk": key.partition, "sk": key.sort, "ttl": int(time.time()) + 7 * 86_400, **forged.to_item()}
    with suppress(ClientError):
        table.put_item(Item=item)
    world.settle()


@pytest.mark.parametrize("role", ["OtherFirst", "OtherSecond"])
def test_own_functions_end_and_repeat_executions_and_verification_tells(role: str, world: World) -> None:
    found = targets(world, "Other")
    client = world.client("Other")
    assert [each.findings for each in map(client.verify, (found.ended, found.running))] == [[], []]
    before = seen(world, found)
    end = stored(world, found.keys["end"])
    attack(world, role, found)
    until(lambda: seen(world, found).charged == before.charged + 1)
    assert client.describe(found.running).status is Status.ABORTED
    until(lambda: last_step(client.store, client.workflow, _ended(world, found)).ending is not None)
    # The Task has run again and committed: only the time of its commit, and what is not stored any more, tells.
    assert stored(world, found.keys["end"]) != end
    assert Rule.STOP in {each.rule for each in client.verify(found.running).findings}


def _ended(world: World, found: Targets) -> Execution:
    client = world.client(found.workflow)
    return [*client.steps(found.ended)][-1].checkpoint.name.execution


def test_an_expired_end_is_found_by_verification(world: World) -> None:
    found = targets(world, "Other")
    table = world.session_of("OtherSecond").resource("dynamodb").Table(world.deployment.outputs[STACK]["FlowTable"])
    table.put_item(Item=_past(stored(world, found.keys["end"]) or {}))
    assert world.client("Other").describe(found.ended).status is Status.RUNNING
    assert Rule.EXPIRY in {each.rule for each in world.client("Other").verify(found.ended).findings}


@pytest.mark.parametrize("role", [each for each in ACCEPTED if each not in ("OtherFirst", "OtherSecond")])
def test_no_other_role_ends_or_repeats_executions(role: str, world: World, attacked: dict[str, Targets]) -> None:
    found = attacked["Other"]
    before = seen(world, found)
    attack(world, role, found)
    assert seen(world, found) == before
    assert [each.findings for each in map(world.client("Other").verify, (found.ended, found.running))] == [[], []]
