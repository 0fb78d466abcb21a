"""A function that is control function and failure handler of several workflows: which alias takes what."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.aws.control_platform import ACCOUNT, CACHES, SERVICE, Context
from unum_runtime.errors import NotOurEvent
from unum_runtime.functions.configuration import ENTRY
from unum_runtime.functions.operations import (
    control_entry,
    control_requests,
    execution_versions,
    failure_function,
    function_versions,
    shared_entry,
)
from unum_runtime.functions.operations.served_workflow import WorkflowContext, to_own_version, workflow_of
from unum_runtime.model.envelope import MARK
from unum_runtime.protocol.control.control_aliases import find_alias
from unum_runtime.protocol.control.operator_requests import Control, request
from unum_runtime.protocol.control.sweep import Sweep

FUNCTION = f"{ACCOUNT}:plane"
NAMES = ("One", "Two")


@pytest.fixture(autouse=True)
def plane(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    services = {name: {**SERVICE, "table": name, "definition": ENTRY} for name in NAMES}
    services["Two"] = {**services["Two"], "takes_starts": True}
    monkeypatch.setenv("UNUM_WORKFLOWS", json.dumps(services))
    monkeypatch.setenv("UNUM_DIRECTORY", "intake")
    for each in CACHES:
        each.cache_clear()
    yield
    for each in CACHES:
        each.cache_clear()


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What the control function is asked, with the workflow."""
    found: list[tuple[str, Any]] = []

    def answer(event: Any, context: Any) -> Any:
        found.append((workflow_of(context), event))
        return {}

    monkeypatch.setattr(control_requests, "answer", answer)
    return found


def context(alias: str) -> Any:
    return Context(f"{FUNCTION}:{alias}", "7")


def start(function: str = "F", alias: str = "start-Two") -> Any:
    return {
        "requestContext": {
            "functionArn": f"{ACCOUNT}:{function}:{alias}",
            "requestId": "r",
            "condition": "RetriesExhausted",
        },
        "requestPayload": {"order": 1},
        "responsePayload": {"errorType": "E"},
    }


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("stop-One", ("stop", "One")),
        ("start-intake-Two", ("start-intake", "Two")),
        ("intake-Two", ("intake", "Two")),
        ("run-One", ("run", "One")),
        ("call-abc-One", ("call-abc", "One")),
        ("anything-One", None),
        ("One", None),
        ("stop-Three", None),
    ],
)
def test_the_alias_says_kind_and_workflow(name: str, found: tuple[str, str] | None) -> None:
    assert find_alias(name, NAMES) == found


@pytest.mark.parametrize("workflow", NAMES)
def test_request_at_an_alias_is_for_its_workflow(answered: list[Any], workflow: str) -> None:
    asked = request(Control.STOP, "e")
    shared_entry.handle(asked, context(f"stop-{workflow}"))
    assert answered == [(workflow, asked)]


def test_request_cannot_name_another_workflow_at_an_alias(answered: list[Any]) -> None:
    shared_entry.handle({**request(Control.STOP, "e"), "workflow": "Two"}, context("stop-One"))
    assert [workflow for workflow, _ in answered] == ["One"]


def test_alias_of_one_kind_takes_no_other_request(answered: list[Any]) -> None:
    refused = shared_entry.handle({**request(Control.DELETE, "e"), "control": "delete"}, context("stop-Two"))
    assert refused == {
        "error": "ValidationException",
        "message": "control: the alias 'stop-Two' takes stop, got 'delete': invoke 'delete-Two'",
    }
    assert not answered


def test_shared_alias_takes_every_request_that_names_a_workflow(answered: list[Any]) -> None:
    asked = request(Control.DELETE, "e")
    shared_entry.handle({**asked, "workflow": "Two"}, context("operate"))
    assert answered == [("Two", asked)]
    for event in (asked, {**asked, "workflow": "Three"}, {**asked, "workflow": 1}, "x"):
        refused = shared_entry.handle(event, context("operate"))
        assert refused["message"].startswith("workflow: expected one of ['One', 'Two'], got ")


def test_version_goes_on_with_the_workflow_that_it_has_named(answered: list[Any]) -> None:
    asked = request(Control.REDRIVE, "e")
    address, payload = to_own_version(asked, WorkflowContext(context("redrive-Two"), "Two"))
    assert address == f"{FUNCTION}:7"
    shared_entry.handle(json.loads(payload), context("7"))
    assert answered == [("Two", asked)]


def test_sweep_is_sent_on_for_each_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(control_requests, "invoker", lambda: Sender(sent))
    asked = Sweep(silent_ms=1, nudges=True)
    assert shared_entry.handle(asked.to_json(), context("sweep")) == {"workflows": 2}
    assert [address for address, _ in sent] == [f"{FUNCTION}:7"] * 2
    assert [json.loads(payload) for _, payload in sent] == [{**asked.to_json(), "workflow": name} for name in NAMES]


def test_sweep_of_a_control_plane_without_workflows_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNUM_WORKFLOWS", "{}")
    monkeypatch.setattr(control_requests, "invoker", lambda: Sender([]))
    asked = Sweep(silent_ms=1, nudges=True, letters="https://queue")
    assert shared_entry.handle(asked.to_json(), context("sweep")) == {"workflows": 0}


class Sender:
    """Keeps what is sent."""

    def __init__(self, sent: list[Any]) -> None:
        self._sent = sent

    def invoke(self, events: Any) -> None:
        self._sent += events


@pytest.mark.parametrize("event", [request(Control.STOP, "e"), {}, {MARK: 1, "control": "sweep"}])
def test_alias_of_sweeps_takes_nothing_else(event: Any) -> None:
    assert shared_entry.handle(event, context("sweep"))["error"] == "ValidationException"


def test_failed_start_is_refused_at_an_intake_of_several_roles() -> None:
    with pytest.raises(NotOurEvent, match="failed starts arrive at 'start-intake-One'"):
        shared_entry.handle(start(alias="start-One"), context("intake-One"))


@pytest.mark.parametrize("alias", ["intake-Two", "start-intake-One"])
def test_failed_start_is_started_where_starts_arrive(monkeypatch: pytest.MonkeyPatch, alias: str) -> None:
    started: list[str] = []
    monkeypatch.setattr(failure_function, "_start_again", lambda _event, context: started.append(workflow_of(context)))
    shared_entry.handle(start(), context(alias))
    assert started == [alias.rpartition("-")[2]]


def test_record_of_another_workflow_is_refused_at_an_intake() -> None:
    event = {MARK: 1, "workflow": "Two", "execution": "e"}
    record = {**start(alias="1"), "requestPayload": event}
    with pytest.raises(NotOurEvent, match=r"event.workflow: expected one of \['One'\], got 'Two'"):
        shared_entry.handle(record, context("intake-One"))


def test_record_of_a_shared_function_is_sent_to_the_other_intake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNUM_OTHERS", json.dumps({"One": {"Two": ""}}))
    sent: list[Any] = []
    monkeypatch.setattr(failure_function, "LambdaInvoker", lambda _client: Sender(sent))
    monkeypatch.setattr(function_versions, "lambda_client", lambda: None)
    record = {**start(alias="1"), "requestPayload": {MARK: 1, "workflow": "Two", "execution": "e"}}
    shared_entry.handle(record, context("intake-One"))
    assert [(address, json.loads(payload)) for address, payload in sent] == [(f"{FUNCTION}:intake-Two", record)]


def test_deployed_versions_are_known_for_each_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution_versions, "_recent", {})
    monkeypatch.setattr(execution_versions, "newest_versions", workflow_of)
    contexts = [WorkflowContext(context("nudge"), name) for name in (*NAMES, *NAMES)]
    found: list[Any] = [execution_versions.recent_versions(each) for each in contexts]
    assert found == [*NAMES, *NAMES]


def test_directory_is_the_intake_of_the_workflow() -> None:
    assert function_versions.directory_of(f"{FUNCTION}:stop-Two", "Two") == f"{FUNCTION}:intake-Two"


def test_control_function_of_one_workflow_has_no_intake() -> None:
    assert control_entry.handle({}, context("intake-One"))["error"] == "ValidationException"
