"""Calls of single Tasks at the control function: each Task has an alias of its own."""

import json
from typing import Any

import pytest

from tests.unit.aws.control_platform import CONTROL, Context, Deployed, at, definition
from unum_runtime.features.memo import calling
from unum_runtime.functions.operations import control_entry, execution_versions
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import control_alias_name
from unum_runtime.protocol.control.control_aliases import ControlAlias, call_alias


def memoizing() -> str:
    table = json.loads(definition("A", "B"))
    table["states"]["B"]["memoize"] = True
    return Workflow.from_json(json.dumps(table)).to_json()


OF_ONE_KIND = [each for each in ControlAlias if each is not ControlAlias.OPERATE]


@pytest.fixture
def callable_b(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> Deployed:
    monkeypatch.setattr(execution_versions, "_recent", {})
    deployed.functions.definitions["memo"] = memoizing()
    deployed.functions.deploy(2, "memo")
    return deployed


def ask(deployed: Deployed, event: Any, alias: str) -> Any:
    deployed.functions.use("control")
    return control_entry.handle(event, Context(f"{CONTROL}:{control_alias_name(alias, 'Flow')}", "2"))


def test_a_task_in_the_middle_is_called_alone_on_the_newest_version(callable_b: Deployed) -> None:
    calls = [callable_b.client.begin_call("B", {"n": n}) for n in (1, 1, 2)]
    events = callable_b.functions.sent()
    assert [(address, event["state"], event["input"]) for address, event in events] == [
        (at("B", 2), "B", {"n": 1}),
        (at("B", 2), "B", {"n": 2}),
    ]
    assert set(callable_b.functions.called) == {f"control:{control_alias_name(call_alias('B'), 'Flow')}"}
    assert [each.is_done() for each in calls] == [False] * 3
    event = Envelope.from_json(events[0][1])
    own = callable_b.client.definition(event.name.execution.name)
    assert (own.digest, [*own.states], own.variant) == (event.digest, ["B"], "call")
    assert callable_b.client.describe(event.name.execution.name).status is Status.RUNNING


def test_a_nudge_sends_the_lost_event_of_a_call_again(callable_b: Deployed) -> None:
    callable_b.client.begin_call("B", 1)
    ((_, first),) = callable_b.functions.sent()
    assert callable_b.client.nudge(first["execution"][0]).count == 1
    ((address, again),) = callable_b.functions.sent()
    assert (address, again["ir"], again["state"]) == (at("B", 2), first["ir"], "B")


@pytest.mark.parametrize("alias", [*OF_ONE_KIND, call_alias("A"), call_alias("")])
def test_a_call_is_taken_at_the_alias_of_its_task_alone(callable_b: Deployed, alias: str) -> None:
    for event in (calling.request("B", 1), calling.question("B", f"{calling._run_prefix('B')}{'0' * 32}")):
        answer = ask(callable_b, event, alias)
        assert "error" in answer
        assert answer["error"] != "ExecutionDoesNotExist", answer
    assert callable_b.functions.sent() == []


@pytest.mark.parametrize(
    "event", [{"control": "stop", "execution": "e"}, {"control": "list_remembered", "limit": 1}, {}]
)
def test_the_alias_of_a_task_takes_nothing_but_its_calls(callable_b: Deployed, event: Any) -> None:
    callable_b.started()
    assert "error" in ask(callable_b, {"$unum": 1, **event, "state": "B"}, call_alias("B"))
    assert callable_b.client.describe("e").status is Status.RUNNING


def test_a_task_that_shares_no_results_has_no_calls(callable_b: Deployed) -> None:
    answer = ask(callable_b, calling.request("A", 1), call_alias("A"))
    assert "expected a Task with memoize" in answer["message"]


def test_alias_of_administrators_takes_calls(callable_b: Deployed) -> None:
    answer = ask(callable_b, calling.request("B", 1), ControlAlias.OPERATE)
    assert answer["Status"] == Status.RUNNING
