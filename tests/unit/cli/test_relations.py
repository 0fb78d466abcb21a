"""Commands tell which executions belong together; `test_nesting` follows them in traces."""

import json
from argparse import Namespace
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.cli.traces.test_nesting import ARN, START, nest
from tests.unit.protocol.platform import Platform, chain
from unum_cli.commands import executions
from unum_cli.timing.levels import Levels
from unum_cli.timing.parents import STARTED_BY, Relations, Started, awaited_by, parent_in
from unum_cli.ui.directory import Place
from unum_cli.ui.page_server import links_to_children
from unum_client import Client
from unum_client.control import Missing
from unum_runtime.errors import DefinitionNotStored
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.history.timeline import Timeline
from unum_runtime.protocol.requests.definition_records import write_definition


def of(nested: Any, workflow: str) -> Client:
    client = nested.client_of(workflow)
    assert isinstance(client, Client)
    return client


def steps(client: Client, name: str, capsys: pytest.CaptureFixture[str], *, as_json: bool = False) -> list[str]:
    executions._steps(client, Namespace(execution=name, json=as_json))
    return capsys.readouterr().out.splitlines()


def described(client: Client, name: str, capsys: pytest.CaptureFixture[str], *, as_json: bool = False) -> str:
    executions._describe(client, Namespace(execution=name, json=as_json, receipt=False, stack=None))
    return capsys.readouterr().out


def test_a_step_names_what_it_has_started(capsys: pytest.CaptureFixture[str]) -> None:
    nested = nest()
    parent = of(nested, "parent")
    *_, last = steps(parent, "p", capsys)
    assert last == f"Start started child/{nested.started}"
    first, second = map(json.loads, steps(parent, "p", capsys, as_json=True))
    assert first["started"] == [{"workflow": "child", "name": nested.started}]
    # The value of the next step has the child, too, which it did not start.
    assert "started" not in second


def test_a_second_start_names_its_own_child_alone(capsys: pytest.CaptureFixture[str]) -> None:
    again = {name: value for name, value in START.items() if name != "Next"} | {"ResultPath": "$.again", "End": True}
    nested = nest(last=again)
    first, second = map(json.loads, steps(of(nested, "parent"), "p", capsys, as_json=True))
    assert second["started"] == [{"workflow": "child", "name": nested.started}]
    assert first["started"] != second["started"]


def test_a_step_names_whose_end_it_waits_for() -> None:
    missing = Missing(
        state="Start",
        index=(),
        since=datetime.fromtimestamp(0, UTC),
        waits_for=WaitsFor.JOB,
        invocation="p#1",
        until=None,
        job={"handle": {"ExecutionArn": f"{ARN}child:c"}, "polls": 1},
    )
    assert awaited_by(missing) == (Started("child", "c"),)
    assert awaited_by(replace(missing, job={"handle": {"JobRunId": "j"}, "polls": 0})) == ()
    assert awaited_by(replace(missing, job=None)) == ()


@pytest.mark.parametrize("until", ["end", "look"])
def test_a_child_names_its_parent_if_its_input_does(until: str, capsys: pytest.CaptureFixture[str]) -> None:
    nested = nest(until=until)
    child = of(nested, "child")
    assert "parent   parent/p\n" in described(child, nested.started, capsys)
    shown = json.loads(described(child, nested.started, capsys, as_json=True))
    assert shown["started_by"] == {"workflow": "parent", "name": "p", "confirmed": True}
    silent = nest(knows=False)
    assert "parent" not in described(of(silent, "child"), silent.started, capsys)
    assert "started_by" not in described(of(silent, "child"), silent.started, capsys, as_json=True)


def test_a_result_that_only_has_an_arn_started_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    platform = Platform.of(chain("A"), A=lambda _event: {"ExecutionArn": f"{ARN}other:e"})
    write_definition(platform.runtime())
    platform.start("e", {})
    platform.deliver_all()
    client = Client(store=platform.memory, workflow=platform.workflow.name, clock=platform.clock)
    assert len(steps(client, "e", capsys)) == len(("headings", "A"))


@pytest.mark.parametrize(("stacks", "path"), [(["One"], "/One/child/executions/"), (["One", "Two"], ""), ([], "")])
def test_the_page_of_a_step_leads_to_what_it_has_started(stacks: list[str], path: str) -> None:
    nested = nest()
    parent = of(nested, "parent")
    places = {(stack, "child"): Place(stack, "child", lambda: parent) for stack in stacks}
    levels = Levels(Timeline(*parent.past("p")), parent.clock.now_ms())
    start, last = parent.steps("p")
    (link,) = links_to_children(places, levels, start.checkpoint)
    assert link[:2] == (Started("child", nested.started), path and path + nested.started)
    # The value of the next step has the child, too, which it did not start.
    assert [*links_to_children(places, levels, last.checkpoint)] == []


def test_without_its_definition_a_step_names_nothing_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    parent = of(nest(stores=False), "parent")
    first, *_ = [*parent.steps("p")]
    with pytest.raises(DefinitionNotStored):
        Relations(parent, "p").started_by(first)
    executions._steps(parent, Namespace(execution="p", json=False))
    said = capsys.readouterr()
    assert "what Start has started is unknown: " in said.err
    assert " started " not in said.out


@pytest.mark.parametrize(
    ("value", "parent"),
    [
        ({STARTED_BY: f"{ARN}w:e"}, Started("w", "e")),
        ({STARTED_BY: "e"}, None),
        ({STARTED_BY: f"{ARN}w:e/Map:1"}, None),
        ({STARTED_BY: f"{ARN}w:e\nstatus   SUCCEEDED"}, None),
        ({STARTED_BY: f"{ARN}w:e?x"}, None),
        ({STARTED_BY: f"{ARN}w:\u202ee"}, None),
        ({STARTED_BY: f"{ARN}w:{'e' * 81}"}, None),
        ({STARTED_BY: 7}, None),
        ({}, None),
        ([{STARTED_BY: f"{ARN}w:e"}], None),
        (None, None),
    ],
)
def test_what_an_input_may_name(value: Any, parent: Started | None) -> None:
    assert parent_in(value) == parent
