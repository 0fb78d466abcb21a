"""Pages of real executions, without a browser."""

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from tests.unit.cli.ui.shop import HOSTILE, Broken, Shop, Visitor, key_of, open_shop, served
from unum_cli.timing.parents import STARTED_BY
from unum_client.client import Client
from unum_compiler import compile_workflow
from unum_runtime.errors import DefinitionNotStored
from unum_runtime.model.checkpoint import Status

P = "/Shop/orders"
E = f"{P}/executions"


def names(text: str) -> list[str]:
    return re.findall(rf'href="{E}/([a-z0-9]+)"', text)


def test_one_workflow_is_shown_at_once(visitor: Visitor) -> None:
    answer = visitor.ask("/")
    assert (answer.status, answer.headers["location"]) == (303, f"{P}/")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["waiting", "failed", "retried", "caught", "done"]),
        ("status=FAILED", ["failed"]),
        ("status=RUNNING", ["waiting"]),
        ("name=ai", ["waiting", "failed"]),
        ("name=done", ["done"]),
        ("since=2027-01-15T08:03", ["waiting", "failed", "retried"]),
        ("until=2027-01-15T08:03", ["caught", "done"]),
        ("name=absent", []),
        ("status=NONSENSE&since=nonsense&name=%22", []),
    ],
)
def test_filters(visitor: Visitor, query: str, expected: list[str]) -> None:
    answer = visitor.ask(f"{P}/?{query}")
    assert (answer.status, names(answer.text)) == (200, expected)


def test_pages_of_executions_follow_each_other() -> None:
    shop = Shop()
    for number in range(120):
        shop.platform.clock.ms += 1_000
        shop.platform.start(f"e{number}", {})
    with served(shop) as visitor:
        visitor.enter()
        found, path = [], f"{P}/"
        while path:
            answer = visitor.ask(path)
            found += names(answer.text)
            following = re.search(r'rel="next" href="([^"]+)"', answer.text)
            path = f"{P}/{following[1].replace('&amp;', '&')}" if following else ""
    assert found == [f"e{number}" for number in reversed(range(120))]


def test_an_execution_without_its_definition_is_described(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise DefinitionNotStored("its retention has passed")

    monkeypatch.setattr(Client, "definition", refuse)
    with served(shop) as visitor:
        answer = visitor.enter().ask(f"{E}/done")
        assert answer.status == 200
        assert "its retention has passed" in answer.words
        assert visitor.ask(f"{E}/done/step?key={key_of(shop, 'done', 'Charge')}").status == 404


def test_a_step_shows_input_output_error_and_tries(shop: Shop, visitor: Visitor) -> None:
    caught = visitor.ask(f"{E}/caught/step?key={key_of(shop, 'caught', 'Charge')}").words
    assert "Charge caught" in caught
    assert "&lt;script&gt;" in caught
    assert "&#34;prices&#34;: [" in caught
    retried = visitor.ask(f"{E}/retried/step?key={key_of(shop, 'retried', 'Charge')}").words
    assert "Attempts Attempt Result Began (UTC) Lasted 1 failed Busy" in retried
    assert "2 failed Busy" in retried
    assert "3 succeeded" in retried
    assert "Log stream stream of Charge" in retried
    cold = visitor.ask(f"{E}/done/step?key={key_of(shop, 'done', 'Ship')}").words
    assert "Sandbox cold, began in 200 ms" in cold


def test_a_value_is_a_file_that_no_browser_shows(shop: Shop, visitor: Visitor) -> None:
    key = key_of(shop, "failed", "Receive")
    for path in (f"{E}/failed/value?of=input", f"{E}/failed/value?of=output&key={key}"):
        answer = visitor.ask(path)
        assert json.loads(answer.text)["note"] == HOSTILE
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "path",
    [
        f"{E}/nobody",
        "/Shop/nothing/",
        "/No/orders/",
        f"{E}/done/step?key=wrong",
        f"{E}/done/branches?key=",
        f"{P}/nothing",
    ],
)
def test_what_is_not_there(visitor: Visitor, path: str) -> None:
    assert visitor.ask(path).status == 404


def test_versions_are_compared(visitor: Visitor) -> None:
    assert "No change." in visitor.ask(f"{P}/versions?old=done&new=deployed").words
    assert visitor.ask(f"{P}/versions?old=nobody").status == 404


def test_a_change_of_version_is_shown() -> None:
    shop = open_shop()
    before = shop.client.definition("done")
    states = {name: state for name, state in before.states.items() if name != "Refund"}
    charge: Any = states["Charge"]
    shop.platform.workflow = replace(before, states=states | {"Charge": replace(charge, catch=())})
    with served(shop) as visitor:
        words = visitor.enter().ask(f"{P}/versions?old=done").words
    assert "state Refund" in words
    assert "state Charge" in words


def test_a_child_leads_to_the_parent_that_its_input_names() -> None:
    shop, arn = open_shop(), "arn:aws:states:us-east-1:123456789012:execution:"
    shop.run("own", **{STARTED_BY: f"{arn}orders:done"})
    shop.run("foreign", **{STARTED_BY: f"{arn}elsewhere:e"})
    shop.run("hostile", **{STARTED_BY: f"{arn}orders:done\nstatus SUCCEEDED"})
    with served(shop) as visitor:
        visitor.enter()
        assert f'<a href="{E}/done">orders/done</a>, as the input says' in visitor.ask(f"{E}/own").text
        assert "<code>elsewhere/e</code>, as the input says" in visitor.ask(f"{E}/foreign").text
        assert "as the input says" not in visitor.ask(f"{E}/hostile").text
        assert "as the input says" not in visitor.ask(f"{E}/done").text


@pytest.mark.slow("an execution with 2,000 branches runs before its pages are read")
def test_a_map_of_2000_has_pages() -> None:
    """`python -m benchmarks.page` measures what they take."""
    shop = open_shop(wide=2_000)
    key = key_of(shop, "wide", "Receive")
    with served(shop) as visitor:
        visitor.enter()
        paths = (f"{E}/wide", f"{E}/wide/branches?key={key}&page=20", f"{E}/wide/branch?key={key}&index=1999")
        whole, page, branch = map(visitor.ask, paths)
        assert (whole.status, page.status, branch.status) == (200, 200, 200)
        assert "Page 20 of 20, 2,000 branches" in page.words
        assert len(whole.text) < 100_000
        assert visitor.ask(f"{E}/wide/branch?key={key}&index=2000").status == 404


@pytest.mark.parametrize(
    ("path", "does", "costs"),
    [
        (f"{P}/start", "Starts an execution.", "what the latest execution, waiting, has cost so far"),
        (f"{P}/answer", "A token is accepted once.", "2 requests to Lambda, 2 write units"),
        (f"{E}/waiting/stop", "nothing new starts", "$0.000000825 at least: 1 request to Lambda, 1 write units"),
        (f"{E}/waiting/nudge", "Sends again the events", "1 events, and the steps that follow"),
        (f"{E}/failed/redrive", "successful steps are kept", "1 steps run again at least"),
        (f"{E}/done/fork", "Starts another execution from one state", "results are copied"),
        (f"{E}/done/delete", "That cannot be undone.", "the deleted items, by their size"),
    ],
)
def test_an_operation_says_what_it_will_do_and_cost(
    owner: tuple[Shop, Visitor], path: str, does: str, costs: str
) -> None:
    words = owner[1].ask(path).words
    assert does in words
    assert costs in words
    assert re.search(r"\$0\.0000\d+ at least", words)


def test_operations_are_carried_out(owner: tuple[Shop, Visitor]) -> None:
    shop, visitor = owner

    def status(name: str) -> Status:
        shop.go_on()
        return shop.client.describe(name).status

    order = json.dumps({"lines": [{"count": 1}], "approve": True})
    assert "new started at" in visitor.send(f"{P}/start", name="new", input=order).words
    assert status("new") is Status.RUNNING
    token = shop.tokens[-1]
    assert "has its result" in visitor.send(f"{P}/answer", token=token, output='"me"', **{"with": "success"}).words
    assert status("new") is Status.SUCCEEDED
    assert "Stopped at" in visitor.send(f"{E}/waiting/stop", error="Late").words
    assert status("waiting") is Status.ABORTED
    shop.platform.functions["Charge"] = lambda event: event
    assert "Redriven at" in visitor.send(f"{E}/failed/redrive", on="original").words
    assert status("failed") is Status.SUCCEEDED
    assert "Started again" in visitor.send(f"{E}/done/fork", node="Ship", name="again", visit="1").words
    assert status("again") is Status.SUCCEEDED
    assert "Fork of done" in visitor.ask(f"{E}/again").words
    assert "nothing was deleted" in visitor.send(f"{E}/done/delete", confirm="other").words
    assert status("done") is Status.SUCCEEDED
    assert "What remains" in visitor.send(f"{E}/done/delete", confirm="done").words
    assert visitor.ask(f"{E}/done/step?key={key_of(shop, 'again', 'Ship')}").status == 404


def test_a_nudge_sends_a_lost_event_again(owner: tuple[Shop, Visitor]) -> None:
    shop, visitor = owner
    shop.platform.start("lost", {"lines": [], "approve": False})
    shop.platform.sent.clear()
    assert visitor.ask(f"{E}/lost").status == 200
    assert "Found 1 missing commits" in visitor.send(f"{E}/lost/nudge").words
    shop.go_on()
    assert shop.client.describe("lost").status is Status.SUCCEEDED


NO_JSON = ("[" * 100_000, '{"a":' * 100_000, "1e999", "9" * 5_000, "NaN", '"\\ud800"')


@pytest.mark.parametrize(
    ("path", "form"),
    [
        (f"{P}/start", {"input": "{"}),
        *((f"{P}/start", {"input": bad}) for bad in NO_JSON),
        *((f"{P}/answer", {"with": "success", "token": "wrong", "output": bad}) for bad in NO_JSON),
        *((f"{E}/done/fork", {"node": "Ship", "name": "x", "input": bad}) for bad in NO_JSON),
        (f"{E}/done/fork", {"node": "Ship", "name": "x", "visit": "9" * 5_000}),
        (f"{P}/start", {"input": "1", "name": "not a name"}),
        (f"{P}/answer", {"with": "success", "token": "wrong", "output": "1"}),
        (f"{P}/answer", {"with": "nothing"}),
        (f"{E}/done/redrive", {}),
        (f"{E}/waiting/delete", {"confirm": "waiting"}),
        (f"{E}/done/fork", {"node": "Nowhere", "name": "x"}),
        (f"{E}/done/fork", {"node": "Ship", "name": "x", "visit": "one"}),
    ],
)
def test_what_cannot_be_done_is_said(owner: tuple[Shop, Visitor], path: str, form: dict[str, str]) -> None:
    answer = owner[1].send(path, **form)
    assert answer.status == 400
    assert "Not possible" in answer.words


SURROGATE = json.loads('"\\ud800"')
STRANGE = "<b>\"&'/#?%"


def other_shop(definition: Any, value: Any, **functions: Any) -> Shop:
    """A shop with another workflow, and its execution `e`."""
    shop = Shop()
    handlers = {"Same": lambda event: event, **functions}
    shop.platform.workflow = compile_workflow(definition, name="orders", functions=handlers)
    shop.platform.functions = handlers
    shop.platform.start("e", value)
    shop.platform.deliver_all()
    return shop


def test_strange_names_and_values_are_shown_as_they_are() -> None:
    def fail(_: Any) -> Any:
        raise Broken(HOSTILE + SURROGATE)

    state = {"Type": "Task", "Resource": "Same", "Next": "Last"}
    last = {"Type": "Task", "Resource": "Fail", "End": True}
    definition = {"StartAt": STRANGE, "States": {STRANGE: state, "Last": last}}
    shop = other_shop(definition, {"text": STRANGE}, Same=lambda _: {}, Fail=fail)
    with served(shop) as visitor:
        visitor.enter()
        for path in (f"{E}/e", *(f"{E}/e/step?key={key_of(shop, 'e', name)}" for name in (STRANGE, "Last"))):
            answer = visitor.ask(path)
            assert answer.status == 200
            assert "<b>" not in answer.text
        assert "\\ud800" in visitor.ask(f"{E}/e").text
        assert visitor.ask(f"{E}/e/value?of=input").status == 200


def test_a_branch_of_a_distributed_map_is_a_child_execution() -> None:
    processor: dict[str, Any] = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    processor |= {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "Same", "End": True}}}
    shop = other_shop(
        {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": processor, "End": True}}}, [1, 2]
    )
    child = shop.client.children("e")[1]
    scope = next(step.checkpoint.opens for step in shop.client.steps("e") if step.checkpoint.opens)
    with served(shop) as visitor:
        words = visitor.enter().ask(f"{E}/e/branch?key={quote(str(scope.origin), safe='')}&index=1").words
    assert child.name in words
    assert "Output 2" in words


def test_a_map_right_at_the_start_and_an_empty_one() -> None:
    processor = {"StartAt": "A", "States": {"A": {"Type": "Task", "Resource": "Same", "End": True}}}
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": processor, "End": True}}}
    for value, expected in (([1], "1 branches"), ([], "succeeded")):
        with served(other_shop(definition, value)) as visitor:
            answer = visitor.enter().ask(f"{E}/e")
            assert answer.status == 200
            assert expected in answer.words
