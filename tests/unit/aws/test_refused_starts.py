"""Refused starts, by request and by way of asking: each reaches its sender as a failure, and a repetition does not.

The function is the one that Lambda calls; its table is in moto. Lambda reports an exception to a caller that waits as a
function error with the exception's class and text, and gives any other event to the intake after the last attempt.
"""

import json
from typing import Any

import boto3
import pytest

from tests.unit.aws.test_task_function import TABLE, Context, Deploy, Deployed, Sent, deploy, sqs
from unum_runtime.cold_start.records import replace as replaced
from unum_runtime.errors import ClientError, ExecutionAlreadyExists, ExecutionDoesNotExist, ValidationException
from unum_runtime.functions import runtime_factory, task_function
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Writer, start_event, start_request
from unum_runtime.model.naming import start_partition_prefix
from unum_runtime.model.requests import INPUT, UPLOADED, run_request, uploaded_event
from unum_runtime.protocol.control.deletions.delete import delete
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.start_records import start_record as stored_record

__all__ = ["deploy", "sqs"]  # fixtures

MALFORMED: list[Any] = [
    None, 5, "x", [], {}, {"foo": 1}, {"start": "e", "input": 1}, {"$unum": 1}, {"$unum": 1, "start": 5},
    {"$unum": 1, "start": "e", "input": 1, "more": 1}, {"$unum": 1, "start": "e", "input": 1, "answer": False},
    {"$unum": 1, "start": "e", "input": 1, "answer": "yes"}, {"$unum": 1, "start": "e", "input": 1, "force": True},
    {"$unum": 1, "describe": "e"}, {"$unum": 1, "token": "t", "output": "1"}, {"$unum": 1, "control": "stop"},
    {"$unum": 1, "workflow": "Flow", "ir": "d", "execution": ["e", 5], "frames": [], "step": 1, "state": "T"},
]  # fmt: skip

OTHER_INPUTS: list[tuple[Any, Any]] = [
    ({"n": 1}, {"n": 2}),
    ({"n": 1}, {"n": 1.0}),
    ({"n": 1}, {"n": True}),
    (None, {}),
    ([], {}),
    ("1", 1),
]


def ask(event: Any, alias: str = "run-Flow", request: str = "another") -> Any:
    return task_function.handle(json.loads(json.dumps(event)), Context(alias, aws_request_id=request))


def names() -> set[str]:
    """The executions with a start record."""
    items = boto3.resource("dynamodb").Table(TABLE).scan()["Items"]
    prefix = start_partition_prefix("Flow")
    keys = {str(item["pk"]) for item in items}
    return {key.removeprefix(prefix) for key in keys if key.startswith(prefix)}


@pytest.fixture
def flow(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> Deployed:
    deployed = deploy({"Resource": "F"}, lambda event, _context: event)
    monkeypatch.setattr(runtime_factory, "invoker", Sent)
    return deployed


@pytest.mark.usefixtures("flow")
@pytest.mark.parametrize("event", MALFORMED)
def test_malformed_request_is_a_function_error(event: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValidationException, match=r'expected "start" and one of .*; nothing was started'):
        ask(event)
    logged = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["message"], line["error"]) for line in logged] == [("refused", "ValidationException")]
    assert names() == set()


@pytest.mark.parametrize(("first", "other"), OTHER_INPUTS)
def test_name_with_another_input_is_refused_however_it_is_asked(flow: Deployed, first: Any, other: Any) -> None:
    assert ask(start_event("e", first)) == {"workflow": "Flow", "execution": "e"}
    with pytest.raises(ExecutionAlreadyExists, match=r"'e' .* was started with another input at .*; nothing"):
        ask(start_event("e", other))
    assert ask(run_request("e", {INPUT: other}))["error"] == "ExecutionAlreadyExists"
    assert (flow.client.describe("e").input, names()) == (first, {"e"})


@pytest.mark.usefixtures("flow")
def test_another_input_is_refused_after_a_start_with_an_answer() -> None:
    assert ask(run_request("e", {INPUT: 1}))["IsNew"]
    with pytest.raises(ExecutionAlreadyExists):
        ask(start_event("e", 2))
    assert ask(start_event("e", 1)) == {"workflow": "Flow", "execution": "e"}


@pytest.mark.usefixtures("flow")
@pytest.mark.parametrize("again", [start_event("e", {"a": 1, "b": [2]}), start_event("e", {"b": [2], "a": 1})])
def test_same_name_and_input_is_the_same_execution(again: Any) -> None:
    for _ in range(2):
        assert ask(again) == {"workflow": "Flow", "execution": "e"}
    assert ask(run_request("e", {INPUT: again["input"]}))["Status"] == "SUCCEEDED"
    assert names() == {"e"}


@pytest.mark.usefixtures("flow")
def test_repeated_start_of_a_stopped_execution_is_no_failure() -> None:
    ask(run_request("e", {INPUT: 1}))
    rt = runtime_factory.runtime_here("Flow", Context("7"))
    stop(rt, stored_record(rt.store, "Flow", "e").name.execution, Failure("Stop", None))
    for event in (start_event("e", 1), start_request("e")):
        assert ask(event) == {"workflow": "Flow", "execution": "e"}


@pytest.mark.usefixtures("flow")
@pytest.mark.parametrize("event", [start_request("nobody"), start_request("nobody", Writer("w", 5))])
def test_start_request_without_a_record_is_a_function_error(event: Any) -> None:
    with pytest.raises(ExecutionDoesNotExist, match="no start record of execution 'nobody' in workflow 'Flow'"):
        ask(event)
    with pytest.raises(ExecutionDoesNotExist, match="expected a name"):
        ask(start_request("a b"))
    assert names() == set()


@pytest.mark.usefixtures("flow")
@pytest.mark.parametrize("event", [start_event("e", 1), start_event("e", 2), start_request("e")])
def test_name_of_a_deleted_execution_is_refused(event: Any) -> None:
    ask(start_event("e", 1))
    rt = runtime_factory.runtime_here("Flow", Context("7"))
    delete(replaced(rt, remaining_ms=lambda: 300_000), "e")
    with pytest.raises(ExecutionAlreadyExists, match="'e' of workflow 'Flow' was deleted, and keeps its name"):
        ask(event)
    assert ask(run_request("e", {INPUT: 1}))["error"] == "ExecutionAlreadyExists"


@pytest.mark.usefixtures("flow")
def test_upload_that_is_absent_is_a_function_error() -> None:
    with pytest.raises(ClientError, match="expected an upload of this workflow"):
        ask(uploaded_event("e", f"Flow/~uploads/{'a' * 64}"))
    assert ask(run_request("e", {UPLOADED: "x"}))["error"] == "InvalidExecutionInput"
    assert names() == set()
