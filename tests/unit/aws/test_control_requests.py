"""Operators' requests to the control function, for executions of each version."""

import json
from datetime import datetime
from typing import Any

import boto3
import pytest

from tests.unit.aws.control_platform import (
    NUDGING,
    SERVICE,
    Deployed,
    _refuse,
    at,
    definition,
    forget,
    forget_stored_definitions,
    swept,
)
from unum_client.descriptions import ForkedFrom
from unum_compiler import compile_workflow
from unum_runtime.errors import (
    ClientError,
    DefinitionNotStored,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    ExecutionNotRedrivable,
)
from unum_runtime.functions import definitions
from unum_runtime.functions.configuration import ENTRY
from unum_runtime.functions.operations import function_versions
from unum_runtime.model.checkpoint import Began, Status
from unum_runtime.model.ir import Workflow
from unum_runtime.protocol.control import operator_requests
from unum_runtime.protocol.control.operator_requests import On, VersionGone
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.requests.definition_records import read_definition


def test_an_execution_that_did_not_begin_begins_with_the_newest_versions(deployed: Deployed) -> None:
    deployed.started()
    deployed.functions.deploy(2, "old")
    (found,) = deployed.client.nudge("e").missing
    assert (found.state, found.index, found.waits_for) == ("A", (), WaitsFor.DELIVERY)
    assert [address for address, _ in deployed.functions.sent()] == [at("A", 2)]


def test_the_first_commit_says_which_versions_an_execution_began_with(deployed: Deployed) -> None:
    deployed.begun()
    (step,) = deployed.client.steps("e")
    assert step.checkpoint.began == Began(at("A", 1), {})


def test_a_nudge_goes_to_the_versions_that_the_execution_began_with(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "old")
    assert [each.state for each in deployed.client.why("e").missing] == ["B"]
    assert deployed.functions.sent() == []
    deployed.client.nudge("e")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"], event["step"]) == (at("B", 1), "B", 2)


def test_starters_of_other_workflows_and_of_themselves_continue_as_others(deployed: Deployed) -> None:
    deployed.functions.starts = {"$start": at("A", "start-Flow"), "$startOther": at("Other", "start-Other")}
    deployed.functions.deploy(1, "old")
    deployed.started()
    deployed.client.nudge("e")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["routes"]) == (at("A", 1), {"$start": at("A", "start-Flow")})
    deployed.functions.events = [(address, event)]
    deployed.run("A", 1, lambda found: found)
    deployed.functions.sent()
    deployed.client.nudge("e")
    ((address, event),) = deployed.functions.sent()
    assert (address, event["routes"]) == (at("B", 1), {"$start": at("A", "start-Flow")})
    deployed.functions.events = [(address, event)]
    deployed.run("B", 1, _refuse)
    deployed.client.redrive("e")
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]


def test_redrive_takes_deployed_versions_if_the_definition_is_the_same(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "old")
    deployed.client.redrive("e")
    deployed.run("B", 2, lambda _: "mended")
    assert (deployed.client.describe("e").status, deployed.client.describe("e").output) == (Status.SUCCEEDED, "mended")


def test_redrive_finds_the_function_in_which_executions_begin(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.services[at("A", 1)] |= {"carried": ["A"]}
    function_versions.configured.cache_clear()
    deployed.client.redrive("e")
    ((_, event),) = deployed.functions.sent()
    assert event["routes"] == {"A": at("A", 1)}


def test_a_nudge_after_a_redrive_goes_to_what_that_went_to(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "old")
    deployed.client.redrive("e")
    deployed.functions.sent()
    deployed.functions.deploy(3, "old")
    deployed.client.nudge("e")
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 2)]


def test_an_execution_of_another_definition_is_planned_by_that(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "new")
    deployed.functions.called.clear()
    redriven = deployed.client.redrive("e", on="original")
    assert deployed.functions.called == ["control:redrive-Flow"]
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    assert (redriven.on, redriven.reason) == (On.ORIGINAL, "it was asked for")


def test_a_redrive_goes_on_with_what_is_deployed_now_if_that_can_continue(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "new")
    redriven = deployed.client.redrive("e")
    assert (redriven.on, redriven.reason) == (On.CURRENT, "they can continue from what is committed")
    deployed.run("B", 2, lambda event: {"mended": event})
    assert deployed.client.describe("e").output == {"mended": {"mended": {"n": 1}}}, "of B, then of B2"
    with pytest.raises(ExecutionNotRedrivable, match="SUCCEEDED"):
        deployed.client.redrive("e")


def test_redrive_that_the_new_definition_cannot_continue_keeps_the_old_one(
    deployed: Deployed,
) -> None:
    deployed.failed()
    deployed.functions.definitions["without A"] = definition("B", "B2")
    deployed.functions.deploy(2, "without A")
    with pytest.raises(ExecutionNotRedrivable, match=r"state 'A': execution 'e' has committed it.*does not exist"):
        deployed.client.redrive("e", on="current")
    assert deployed.functions.sent() == []
    redriven = deployed.client.redrive("e")
    assert redriven.on is On.ORIGINAL
    assert redriven.reason.startswith("not on the current ones: state 'A'")
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    assert deployed.client.redrive("e").reason == "an earlier redrive runs on them"


def test_a_redrive_on_the_original_versions_runs_the_code_of_before(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "old")
    assert deployed.client.redrive("e", on="original").on is On.ORIGINAL
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]


def lose_the_definition(deployed: Deployed) -> None:
    """Let the definition of version 1 be stored nowhere, and version 2 be deployed."""
    forget_stored_definitions()
    del deployed.functions.services[at("A", 1)]["definition"]
    forget()
    deployed.functions.deploy(2, "new")


def test_an_execution_without_a_stored_definition_is_not_planned(deployed: Deployed) -> None:
    deployed.begun()
    lose_the_definition(deployed)
    with pytest.raises(VersionGone, match=r"'e' runs on IR .* is not stored; fork it with an input"):
        deployed.client.nudge("e")
    assert deployed.functions.sent() == []


@pytest.mark.parametrize(("on", "error"), [(On.CURRENT, DefinitionNotStored), (None, VersionGone)])
def test_a_redrive_without_a_stored_definition_is_refused(
    deployed: Deployed, on: On | None, error: type[Exception]
) -> None:
    deployed.failed()
    lose_the_definition(deployed)
    with pytest.raises(error):
        deployed.client.redrive("e", on=on)
    assert deployed.functions.sent() == []


def test_a_definition_that_this_layer_cannot_plan_is_refused_by_name(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "new")

    def missing(*_: Any) -> None:
        raise ModuleNotFoundError("no module", name="unum_runtime.asl.jsonata")

    monkeypatch.setattr(operator_requests, "answer", missing)
    with pytest.raises(VersionGone, match=r"needs unum_runtime\.asl\.jsonata"):
        deployed.client.nudge("e")


def test_many_are_redriven_and_each_says_how_it_went(deployed: Deployed) -> None:
    for name in ("e", "f", "g"):
        deployed.failed(name)
    deployed.functions.sent()
    deployed.client.redrive("f")
    deployed.functions.sent()
    results = {result.name: result for result in deployed.client.redrive_all("FAILED")}
    assert {name for name, result in results.items() if result.redriven} == {"e", "g"}
    assert [*deployed.client.redrive_all("FAILED")] == []
    with pytest.raises(ClientError, match="status: expected one of"):
        deployed.client.redrive_all("RUNNING")
    with pytest.raises(ClientError, match="on: expected one of"):
        deployed.client.redrive_all("FAILED", on="newest")
    with pytest.raises(ClientError, match="expected a time with a time zone"):
        deployed.client.redrive_all("FAILED", since=datetime.now())  # noqa: DTZ005 - that is the mistake


@pytest.mark.parametrize("request_", ["redrive", "fork", "nudge"])
def test_what_continues_an_execution_stores_the_definition_that_it_runs_on(deployed: Deployed, request_: str) -> None:
    deployed.failed()
    definitions._due_ms.clear()
    forget_stored_definitions()
    assert deployed.client.why("e").count == 0
    assert not is_stored(deployed, "old")
    if request_ == "fork":
        deployed.functions.deploy(2, "new")
        deployed.client.fork("e", from_node="B", new_name="f", input={})
        assert (is_stored(deployed, "old"), is_stored(deployed, "new")) == (False, True)
    else:
        getattr(deployed.client, request_)("e")
        assert (is_stored(deployed, "old"), is_stored(deployed, "new")) == (True, False)


def test_the_deployed_definition_is_that_of_the_newest_version(deployed: Deployed) -> None:
    deployed.begun()
    deployed.functions.deploy(2, "new")
    assert deployed.client.definition("e").to_json() == deployed.functions.definitions["old"]
    assert deployed.client.deployed_definition().to_json() == deployed.functions.definitions["new"]


def is_stored(deployed: Deployed, name: str) -> bool:
    try:
        digest = Workflow.from_json(deployed.functions.definitions[name]).digest
        read_definition(deployed.client.store, "Flow", digest)
    except DefinitionNotStored:
        return False
    return True


def test_a_fork_runs_on_what_is_deployed_now(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.deploy(2, "new")
    started = deployed.client.fork("e", from_node="B", new_name="f", input={"n": 2})
    assert started.name == "f"
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"], event["input"]) == (at("B", 2), "B", {"n": 2})
    assert [step.state for step in deployed.client.steps("f")] == ["A", "B"]


def test_a_fork_that_ran_out_of_time_is_finished_by_deliveries_that_follow(deployed: Deployed) -> None:
    deployed.failed()
    deployed.functions.remaining_ms = 30_000
    started = deployed.client.fork("e", from_node="B", new_name="f", input={"n": 2})
    assert started.name == "f"
    origin = deployed.client.describe("f").forked_from
    assert origin == ForkedFrom(execution="e", node="B", visit=1, is_finished=False)
    ((address, rest),) = deployed.functions.sent()
    assert (address, rest["control"]) == (at("control", 1), "fork")
    deployed.functions.deploy(2, "new")  # what follows stays on the version of the copies
    deployed.functions.remaining_ms = 300_000
    deployed.functions.invoke(FunctionName=address, Payload=json.dumps(rest))
    ((address, event),) = deployed.functions.sent()
    assert (address, event["state"], event["input"]) == (at("B", 1), "B", {"n": 2})


@pytest.mark.parametrize("verb", ["fork", "nudge", "sweep"])
def test_an_unfinished_fork_of_another_version_is_finished_on_that(deployed: Deployed, verb: str) -> None:
    deployed.failed()
    deployed.functions.remaining_ms = 30_000
    deployed.client.fork("e", from_node="B", new_name="f")
    deployed.functions.sent()
    deployed.functions.remaining_ms = 300_000
    deployed.functions.deploy(2, "new")
    (wait,) = deployed.client.why("f").missing
    assert (wait.state, wait.waits_for) == ("B", WaitsFor.DELIVERY)
    if verb == "fork":
        deployed.client.fork("e", from_node="B", new_name="f")
    elif verb == "nudge":
        deployed.client.nudge("f")
    else:
        swept(deployed.functions, NUDGING)
    assert [address for address, _ in deployed.functions.sent()] == [at("B", 1)]
    assert [step.checkpoint.digest for step in deployed.client.steps("f")] == [
        step.checkpoint.digest for step in deployed.client.steps("e")
    ]
    with pytest.raises(ExecutionAlreadyExists, match="'f'"):
        deployed.client.fork("e", from_node="B", new_name="f", input=1)
    with pytest.raises(ExecutionAlreadyExists, match="'f' of workflow 'Flow' is a fork of 'e' at 'B'"):
        deployed.client.start({"n": 1}, name="f")


def test_what_is_wrong_comes_back_by_the_name_that_boto3_has_for_it(deployed: Deployed) -> None:
    with pytest.raises(ExecutionDoesNotExist, match="'x'"):
        deployed.client.nudge("x")
    deployed.begun()
    with pytest.raises(ExecutionNotRedrivable, match="RUNNING"):
        deployed.client.redrive("e")


def test_a_wait_that_was_lost_comes_back_to_the_function_before_it(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues = boto3.client("sqs")
    url = queues.create_queue(QueueName="timer")["QueueUrl"]
    deployed.functions.timer = url
    service = {**SERVICE, "timer": url, "definition": ENTRY}
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps({"Flow": service}))
    forget()
    states = {
        "A": {"Type": "Task", "Resource": "A", "Next": "W"},
        "W": {"Type": "Wait", "Seconds": 1, "End": True},
    }
    waiting = compile_workflow({"StartAt": "A", "States": states}, name="Flow", functions=None).to_json()
    deployed.functions.definitions["waiting"] = waiting
    deployed.functions.deploy(1, "waiting")
    deployed.started()
    deployed.client.nudge("e")
    deployed.run("A", 1, lambda event: event)
    queues.purge_queue(QueueUrl=url)
    assert [each.waits_for for each in deployed.client.nudge("e").missing] == [WaitsFor.TIME]
    (message,) = queues.receive_message(QueueUrl=url, WaitTimeSeconds=3)["Messages"]
    body = json.loads(message["Body"])
    assert body["address"] == at("A", 1)
    deployed.functions.events = [(body["address"], body["event"])]
    deployed.run("A", 1, _refuse)
    assert deployed.client.describe("e").status is Status.SUCCEEDED
