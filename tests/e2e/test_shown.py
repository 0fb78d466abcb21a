"""Steps that fail, are caught, are retried, wait or begin cold, each shown as such by `steps`, the trace and the page.

Users' own commands are asked: ``unum``, in a process of its own, over a deployed workflow.
"""

import json
import re
from collections.abc import Mapping
from html import unescape
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from tests.e2e.command_line import unum
from tests.e2e.conftest import Deployment, until
from tests.e2e.test_page import page
from tests.patience import PATIENCE_S
from tests.unit.cli.traces.collector import decoded, facts, spans_of
from unum_client import Client
from unum_runtime.protocol.history.pending import WaitsFor

pytestmark = pytest.mark.e2e

STACK = ("--stack", "Shown")
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"


class Told(NamedTuple):
    """One step as a view shows it: state, status with its error, and notes."""

    state: str
    status: str
    notes: str = ""


DONE = Told("Receive", "SUCCEEDED")
CASES: Mapping[str, list[Told]] = {
    "fails": [DONE, Told("Ship", "FAILED PermissionError")],
    "catches": [DONE, Told("Charge", "CAUGHT Declined"), Told("Refund", "SUCCEEDED")],
    "retries": [DONE, Told("Print", "SUCCEEDED", "retried 2 times after Busy, Busy"), Told("Pack", "SUCCEEDED")],
    "asks": [DONE, Told("Ask", "WAITING for an answer")],
    "pauses": [DONE, Told("Pause", "WAITING for its time until TIME")],
}
"""Rows of ``unum steps``; those of steps that are cold have a note more."""

SPANS: Mapping[str, list[str]] = {
    "fails": ["Receive succeeded", "Ship failed ERROR PermissionError"],
    "catches": ["Receive succeeded", "Charge caught ERROR Declined", "Refund succeeded"],
    "retries": ["Receive succeeded", "Print succeeded exception Busy exception Busy", "Pack succeeded"],
    "asks": ["Receive succeeded", "Ask waiting unfinished"],
    "pauses": ["Receive succeeded", "Pause waiting unfinished"],
}
INSIDE: Mapping[str, tuple[str, list[str]]] = {
    "fails": ("Ship", ["user code ERROR PermissionError"]),
    "catches": ("Charge", ["user code ERROR Declined"]),
    "retries": ("Print", ["failed attempt ERROR Busy", "waiting", "failed attempt ERROR Busy", "waiting", "user code"]),
}
"""Spans inside that of a step, but for queues and cold starts."""

ROWS: Mapping[str, list[Told]] = {
    "fails": [Told("Receive", "succeeded"), Told("Ship", "failed PermissionError")],
    "catches": [
        Told("Receive", "succeeded"),
        Told("Charge", "caught Declined", "caught, continues at Refund"),
        Told("Refund", "succeeded"),
    ],
    "retries": [Told("Receive", "succeeded"), Told("Print", "succeeded", "retried 2 times"), Told("Pack", "succeeded")],
    "asks": [Told("Receive", "succeeded"), Told("Ask", "waiting", "for an answer with its task token")],
    "pauses": [Told("Receive", "succeeded"), Told("Pause", "waiting", "for a time")],
}
GRAPHS: Mapping[str, tuple[str, str, list[str]]] = {
    "fails": ("failed", "failed", ["Ship"]),
    "catches": ("succeeded", "caught", ["Charge", "Refund"]),
    "retries": ("succeeded", "succeeded", ["Print", "Pack"]),
    "asks": ("running", "waiting", ["Ask"]),
    "pauses": ("running", "waiting", ["Pause"]),
}
"""Status of the execution, and of the first of these states after the Choice; no other state is reached."""


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    """The workflow, with an execution of each case; those that wait will not end."""
    client = deployment.client("Shown", "ShopOrders")
    for name in ("cold", "warm"):
        client.run({"case": name}, name=name, timeout_s=PATIENCE_S)
    for case in CASES:
        client.start({"case": case}, name=case)
    for case in ("fails", "catches", "retries"):
        client.wait(case, timeout_s=PATIENCE_S)
    until(lambda: waits(client, "pauses") == [WaitsFor.TIME])
    until(lambda: waits(client, "asks") == [WaitsFor.ANSWER])
    return client


def waits(client: Client, name: str) -> list[WaitsFor]:
    return [missing.waits_for for missing in client.pending(name)]


def printed_steps(name: str) -> list[Told]:
    """The rows that the command prints, without times, and without cold starts."""
    head, *lines = unum("steps", name, *STACK).splitlines()
    assert head.split() == ["STATE", "INDEX", "ATTEMPT", "QUEUED", "DURATION", "BYTES", "STATUS"]
    return [row(re.split(r"\s{2,}", line)) for line in lines]


def row(cells: list[str]) -> Told:
    state, *_, status = cells
    said, _, notes = status.removesuffix(")").partition(" (")
    kept = [note for note in notes.split("; ") if not re.fullmatch(r"cold, init \S+ m?s", note)]
    return Told(state, re.sub(TIME, "TIME", said), "; ".join(kept))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("case", CASES)
def test_steps(case: str) -> None:
    assert printed_steps(case) == CASES[case]


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("case", CASES)
def test_steps_in_json(case: str) -> None:
    found = [json.loads(line) for line in unum("steps", case, "--json", *STACK).splitlines()]
    reply = [
        (each["state"], " ".join(filter(None, [re.sub(TIME, "TIME", each["status"]), each.get("error")])))
        for each in found
    ]
    assert reply == [(each.state, each.status) for each in CASES[case]]
    failed = [attempt["error"] for each in found if "delivery" in each for attempt in each["delivery"]["failed"]]
    assert failed == (["Busy", "Busy"] if case == "retries" else [])
    assert [each.get("waits_for") for each in found][1:] == {"asks": ["answer"], "pauses": ["time"]}.get(
        case, [None] * (len(found) - 1)
    )


@pytest.mark.usefixtures("client")
def test_describe_says_where_an_execution_is() -> None:
    """As `steps` shows, with the time since."""
    found = {case: [each for each in unum("describe", case, *STACK).splitlines() if each[:2] == "at"] for case in CASES}
    asks, pauses = found.pop("asks"), found.pop("pauses")
    assert [re.sub(r"for [^,]+$", "for SPAN", each) for each in asks] == [
        "at       Ask, WAITING for an answer, for SPAN"
    ]
    assert [re.sub(r"for [^,]+$", "for SPAN", re.sub(TIME, "TIME", each)) for each in pauses] == [
        "at       Pause, WAITING for its time until TIME, for SPAN"
    ]
    assert not any(found.values())


def spans(name: str) -> list[Any]:
    """The spans that the command prints, as a collector reads them."""
    return spans_of(decoded(json.loads(unum("trace", name, "--json", *STACK))))


def inside(parent: Any, found: list[Any]) -> list[Any]:
    return [each for each in found if each.parent_span_id == parent.span_id]


def words(span: Any) -> str:
    own, said = facts(span), [span.name]
    said += [own["unum.status"]] if "unum.status" in own else []
    said += ["unfinished"] if own.get("unum.unfinished") else []
    said += [f"ERROR {own['error.type']}"] if "error.type" in own else []
    assert (span.status.code, span.status.message) == ((2, own["error.type"]) if "error.type" in own else (0, ""))
    return " ".join([*said, *(f"{event.name} {facts(event)['exception.type']}" for event in span.events)])


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("case", CASES)
def test_trace(case: str) -> None:
    root, *found = spans(case)
    steps = inside(root, found)
    assert [words(each) for each in steps] == SPANS[case]
    if case not in INSIDE:
        assert facts(root)["unum.unfinished"]
        return
    state, expected = INSIDE[case]
    (step,) = [each for each in steps if each.name == state]
    parts = [words(each) for each in inside(step, found) if each.name not in ("queue", "cold start")]
    assert parts == expected
    assert facts(step)["unum.attempts"] == (3 if case == "retries" else 1)
    assert facts(step).get("unum.caught.next") == ("Refund" if case == "catches" else None)


def test_a_cold_step_in_each_view(client: Client) -> None:
    """Beside the same step in the sandbox that was kept; no other execution comes to this Task."""
    cold, warm = (unum("steps", name, *STACK).splitlines()[-1] for name in ("cold", "warm"))
    assert re.search(r"^Weigh .* SUCCEEDED \(cold, init \S+ m?s\)$", cold)
    assert re.search(r"^Weigh .* SUCCEEDED$", warm)
    cold, warm = (json.loads(unum("steps", each, "--json", *STACK).splitlines()[-1]) for each in ("cold", "warm"))
    assert cold["delivery"]["init_ms"] > 0
    assert warm["delivery"]["init_ms"] is None
    for name in ("cold", "warm"):
        root, *found = spans(name)
        _, weigh = inside(root, found)
        parts = inside(weigh, found)
        begins = [span.name for span in parts if span.name == "cold start"]
        assert begins == (["cold start"] if name == "cold" else [])
        assert [facts(span)["faas.coldstart"] for span in parts if span.name == "user code"] == [name == "cold"]
        assert sum(span.end_time_unix_nano - span.start_time_unix_nano for span in parts) == (
            weigh.end_time_unix_nano - weigh.start_time_unix_nano
        )
    with page(*STACK) as visitor:
        for name in ("cold", "warm"):
            path = f"/Shown/{client.workflow}/executions/{name}"
            text = visitor.ask(path).text
            weigh = rows_of(text)[-1]
            assert weigh == Told("Weigh", "succeeded", "cold start" if name == "cold" else "")
            assert ('<rect class="cold-start"' in text.partition('id="row-2"')[2]) == (name == "cold")
            (step,) = re.findall(r'href="([^"]+)">Weigh<', text)
            assert ("Sandbox cold, began in" in visitor.ask(unescape(step)).words) == (name == "cold")


def rows_of(text: str) -> list[Told]:
    """The rows of the page's table of steps."""
    found = []
    for status, line in re.findall(r'<tr id="row-\d+" class="([^"]+)">(.*?)</tr>', text, re.DOTALL):
        state, reply, *_ = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL)
        notes = "; ".join(re.findall(r"<small>(.*?)</small>", reply))
        shown = " ".join(re.sub(r"<small.*", "", reply, flags=re.DOTALL).split())
        assert f'<span class="badge {status}">' in shown
        found.append(Told(plain(state), plain(shown), notes))
    return found


def plain(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


@pytest.fixture(scope="module")
def pages(client: Client) -> Mapping[str, str]:
    """The page of each execution, as `unum ui` serves it."""
    with page(*STACK) as visitor:
        return {case: visitor.ask(f"/Shown/{client.workflow}/executions/{case}").text for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_page(pages: Mapping[str, str], case: str) -> None:
    found = [reply._replace(notes=without_cold_start(reply.notes)) for reply in rows_of(pages[case])]
    assert found == ROWS[case]


def without_cold_start(notes: str) -> str:
    return "; ".join(note for note in notes.split("; ") if note != "cold start")


@pytest.mark.parametrize("case", CASES)
def test_graph(pages: Mapping[str, str], case: str) -> None:
    status, first, states = GRAPHS[case]
    assert f'<span class="badge {status}">' in pages[case].partition("</h1>")[0]
    (data,) = re.findall(r'data-graph="([^"]*)"', pages[case])
    graph = json.loads(unescape(data))
    found = {node["id"]: node["status"] for node in graph["nodes"] if "status" in node}
    expected = dict.fromkeys(("Receive", "Which?", *states), "succeeded") | {states[0]: first}
    assert {state: said for state, said in found.items() if said != "pending"} == expected
    taken = [(edge["from"], edge["to"]) for edge in graph["edges"] if edge["taken"]]
    markers = {node["marker"]: node["id"] for node in graph["nodes"] if "marker" in node}
    way = [markers["start"], "Receive", "Which?", *states, *([markers["end"]] if status == "succeeded" else [])]
    assert {*taken} == {*pairwise(way)}
