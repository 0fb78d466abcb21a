"""Confirmation of a parent named by an input, by the parent's own steps."""

from argparse import Namespace
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.cli.traces.test_nesting import ALIAS, ARN, LAST, Nest, nest
from tests.unit.protocol.platform import Platform, chain
from unum_cli.commands import executions
from unum_cli.timing import lineage as lineage_module
from unum_cli.timing.lineage import Lineage, lineage
from unum_cli.timing.parents import STARTED_BY, Started
from unum_cli.ui.directory import Place
from unum_cli.ui.page_server import link_to_parent
from unum_client import Client
from unum_runtime.errors import StoreError
from unum_runtime.protocol.requests.definition_records import write_definition

OTHER = Started("child", "of-somebody")
VALUE = {STARTED_BY: f"{ARN}parent:p"}
DROPPED: dict[str, Any] = {"ResultPath": None}


def judged(nested: Nest, name: str = "", value: Any = VALUE) -> Lineage:
    return lineage(nested.client_of, value, Started("child", name or nested.started))


@pytest.mark.parametrize("until", ["end", "look"])
@pytest.mark.parametrize("fields", [{}, DROPPED], ids=["told", "dropped"])
def test_a_parent_confirms_what_it_has_started(until: str, fields: Any) -> None:
    assert judged(nest(until=until, **fields)) is Lineage.CONFIRMED


def test_a_parent_confirms_a_name_of_its_own_while_it_waits_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name tells nothing then, and no step has committed it: the handle of the job does."""
    nested = nest(until="look")
    monkeypatch.setattr(lineage_module, "_default_names", lambda *_: ())
    assert judged(nested) is Lineage.UNKNOWN  # nothing is committed, so only the control function knows the definition
    monkeypatch.setattr(Client, "definition", lambda *_: nested.workflow)
    assert judged(nested) is Lineage.CONFIRMED
    assert judged(nested, "of-somebody") is Lineage.UNKNOWN


def test_a_parent_denies_what_it_has_not_started() -> None:
    assert judged(nest(), "of-somebody") is Lineage.DENIED


def test_a_parent_that_drops_what_it_has_started_denies_nothing() -> None:
    assert judged(nest(**DROPPED), "of-somebody") is Lineage.UNKNOWN


def test_an_arn_in_the_input_of_the_parent_confirms_nothing() -> None:
    """A forger may start both: the parent with the ARN of the child, whose Task returns its input."""
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    write_definition(platform.runtime())
    platform.start("p", {"ExecutionArn": f"{ARN}child:of-somebody"})
    platform.deliver_all()
    client = Client(store=platform.memory, workflow="w", clock=platform.clock)
    assert lineage(lambda _: client, {STARTED_BY: f"{ARN}w:p"}, OTHER) is Lineage.DENIED


def test_branches_are_not_read_and_deny_nothing() -> None:
    inner = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "A", "End": True}}}
    mapped = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": inner, "End": True}}}
    platform = Platform.of(mapped, A=lambda event: event)
    write_definition(platform.runtime())
    platform.start("p", [1])
    platform.deliver_all()
    client = Client(store=platform.memory, workflow="w", clock=platform.clock)
    assert lineage(lambda _: client, {STARTED_BY: f"{ARN}w:p"}, OTHER) is Lineage.UNKNOWN


def test_nothing_is_known_of_a_parent_that_cannot_be_read() -> None:
    nested = nest()
    assert judged(nested, value={STARTED_BY: f"{ARN}parent:expired"}) is Lineage.UNKNOWN
    assert judged(nested, value={STARTED_BY: f"{ARN}elsewhere:p"}) is Lineage.UNKNOWN
    assert judged(nest(stores=False), "of-somebody") is Lineage.UNKNOWN

    def refused(*_: Any, **__: Any) -> Any:
        raise StoreError("AccessDeniedException")

    nested.memory.query = refused
    assert judged(nested) is Lineage.UNKNOWN


@pytest.mark.parametrize("place", ["us-east-1:999999999999", "eu-west-1:123456789012"])
def test_nothing_is_known_of_a_parent_in_another_account_or_region(place: str) -> None:
    nested = nest()
    parent = nested.client_of("parent")
    assert parent is not None
    client = replace(parent, start_alias=f"{ALIAS.rpartition(':')[0]}:start-parent")
    value = {STARTED_BY: f"arn:aws:states:{place}:execution:parent:p"}
    started = Started("child", nested.started)
    assert lineage(lambda _: client, value, started) is Lineage.UNKNOWN
    assert lineage(lambda _: client, VALUE, started) is Lineage.CONFIRMED


def test_two_reads_confirm(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = nest()
    asked: list[str] = []
    for name in ("read", "query"):
        monkeypatch.setattr(nested.memory, name, _counted(getattr(nested.memory, name), asked))
    assert judged(nested) is Lineage.CONFIRMED
    assert asked == ["read", "query"]


def _counted(asking: Any, asked: list[str]) -> Any:
    return lambda *given, **options: asked.append(asking.__name__) or asking(*given, **options)


def test_commands_and_pages_do_not_lead_to_a_parent_that_denies(capsys: pytest.CaptureFixture[str]) -> None:
    nested = nest(last={**LAST, "Resource": "B"})
    nested.child.start("forged", VALUE)
    parent, child = nested.client_of("parent"), nested.client_of("child")
    assert parent is not None
    assert child is not None
    options = Namespace(execution="forged", json=False, receipt=False, stack=None)
    executions._describe(child, options)
    said = "parent   unknown: the input names parent/p, whose steps have not started this execution\n"
    assert said in capsys.readouterr().out
    options.json = True
    executions._describe(child, options)
    assert "started_by" not in capsys.readouterr().out
    places = {("S", "parent"): Place("S", "parent", lambda: parent), ("S", "child"): Place("S", "child", lambda: child)}
    own = places["S", "child"]
    assert link_to_parent(places, own, child.describe("forged")) == (Started("parent", "p"), "", Lineage.DENIED)
    path = "/S/parent/executions/p"
    link = link_to_parent(places, own, child.describe(nested.started))
    assert link == (Started("parent", "p"), path, Lineage.CONFIRMED)


def test_without_the_field_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = nest(knows=False)
    child = nested.client_of("child")
    assert child is not None
    monkeypatch.setattr("unum_cli.ui.page_server.lineage", None)
    assert link_to_parent({}, Place("S", "child", lambda: child), child.describe(nested.started)) is None
