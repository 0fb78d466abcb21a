"""Traces of executions that start executions, linked by the step between them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.cli.traces.collector import decoded, facts, lines, spans_of
from tests.unit.cli.traces.traced import named
from tests.unit.protocol.platform import Platform, chain
from unum_cli.timing import nesting
from unum_cli.timing.parents import STARTED_BY, Started, executions_in
from unum_cli.traces import family as family_module
from unum_cli.traces.exporter import document
from unum_cli.traces.family import Family
from unum_cli.traces.spans import Trace
from unum_client import Client
from unum_compiler import compile_workflow
from unum_runtime.features.services.service_function import _token
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.runtime import Call, JobPending

ARN = "arn:aws:states:us-east-1:123456789012:execution:"
ALIAS = "arn:aws:lambda:us-east-1:123456789012:function:f:start-child"
START = {
    "Type": "Task",
    "Resource": "arn:aws:states:::states:startExecution.sync:2",
    "Parameters": {"StateMachineArn": ALIAS, "Input.$": "$"},
    "ResultPath": "$.child",
    "Next": "Last",
}


@dataclass
class Nest(Platform):
    """A workflow whose first Task starts an execution of `child`, in the same store, and looks at it until its end."""

    child: Platform = field(default_factory=lambda: Platform.of(chain("A"), A=lambda event: event))
    knows: bool = True
    started: str = ""

    def _call(self, call: Call, event: Any) -> Any:
        if call.function != "$services":
            return super()._call(call, event)
        arn = f"{ARN}child:{_token(call)}"
        if call.job is None:
            self.child.clock.ms = self.clock.ms
            value = {STARTED_BY: f"{ARN}parent:p"} if self.knows else {}
            self.started = _token(call)
            self.child.start(self.started, value)
            self.child.deliver_all()
            return JobPending({"handle": {"ExecutionArn": arn}, "polls": 0}, 1_000)
        return {"ExecutionArn": arn, "Output": {"ExecutionArn": f"{ARN}child:of-another"}}

    def family(self, warnings: list[str] | None = None) -> Family:
        return Family(self.client_of, ("parent", "child"), (warnings if warnings is not None else []).append)

    def client_of(self, workflow: str) -> Client | None:
        names = ("parent", "child")
        return Client(store=self.memory, workflow=workflow, clock=self.clock) if workflow in names else None

    def traces(self, workflow: str, name: str) -> Sequence[Trace]:
        client = self.client_of(workflow)
        assert client is not None
        # Before its first commit, an execution has no version of its own.
        return [*self.family().traces(client, name, self.workflow if workflow == "parent" else None)]


LAST = {"Type": "Task", "Resource": "B", "End": True}


def nest(*, knows: bool = True, until: str = "end", stores: bool = True, last: Any = LAST, **fields: Any) -> Nest:
    """Return a parent `p` and its child; `fields` are more fields of the Task that starts the child."""
    states = {"Start": {**START, **fields}, "Last": last}
    definition = {"StartAt": "Start", "States": states}
    parent = Nest(
        compile_workflow(definition, name="parent", functions=["B"]),
        {"$services": lambda event: event, "B": lambda event: event},
        knows=knows,
    )
    parent.child = Platform(
        compile_workflow(chain("A"), name="child", functions=["A"]), {"A": lambda event: event}, parent.clock
    )
    parent.child.memory = parent.child.store = parent.memory
    for each in (parent, parent.child) if stores else ():
        write_definition(each.runtime())
    parent.start("p", {})
    parent.deliver_all()
    while parent.waiting and until == "end":
        parent.deliver(parent.pass_to_next())
        parent.deliver_all()
    return parent


_linked = family_module._link


def spans(traces: Sequence[Trace]) -> list[Any]:
    return spans_of(decoded(document(traces)))


def relations(span: Any) -> list[tuple[str, str, str]]:
    return [(facts(link)["unum.link"], link.trace_id.hex(), link.span_id.hex()) for link in span.links]


def check_links(traces: Sequence[Trace]) -> None:
    """Check that parent and child name each other."""
    parent, child = traces
    start = named(spans([parent]), "Start")
    (root, *_) = spans([child])
    assert relations(start) == [("child", child.trace_id, root.span_id.hex())]
    assert relations(root) == [("parent", parent.trace_id, start.span_id.hex())]


def test_parent_and_child_are_linked_both_ways() -> None:
    check_links(nest().traces("parent", "p"))


def test_both_are_shown() -> None:
    parent, child = (lines(spans([trace])) for trace in nest().traces("parent", "p"))
    assert parent == [
        "parent: 0+1000 succeeded",
        "  Start: 0+1000 succeeded child<-elsewhere",
        "    waiting: 0+1000",
        "  Last: 1000+0 succeeded",
        "    user code: 1000+0",
    ]
    assert child == [
        "child: 0+0 succeeded parent<-elsewhere",
        "  A: 0+0 succeeded",
        "    user code: 0+0",
    ]


def test_a_child_that_runs_is_linked_too() -> None:
    waiting = nest(until="child runs")
    check_links(waiting.traces("parent", "p"))
    assert lines(spans(waiting.traces("parent", "p")[:1]))[-1].startswith("  Start: 0+0 waiting unfinished")


def test_a_child_that_knows_its_parent_is_the_same_alone() -> None:
    whole = nest()
    assert [*whole.traces("child", whole.started)] == [*whole.traces("parent", "p")][1:]


def test_child_without_a_known_parent_is_linked_when_the_parent_is_traced() -> None:
    whole = nest(knows=False)
    check_links(whole.traces("parent", "p"))
    (alone,) = whole.traces("child", whole.started)
    assert alone.spans[0].links == ()


@pytest.mark.parametrize(
    "alias", [ALIAS, "${Child}"], ids=["alias in the definition", "alias that only the deployment knows"]
)
def test_a_child_whose_arn_is_dropped_is_found_by_its_name(alias: str) -> None:
    parameters = {"StateMachineArn": alias, "Input.$": "$"}
    check_links(nest(ResultSelector={"done": True}, Parameters=parameters).traces("parent", "p"))


def test_what_cannot_be_read_is_told() -> None:
    whole, warnings = nest(), list[str]()
    family = Family(lambda workflow: whole.client_of(workflow) if workflow == "parent" else None, (), warnings.append)
    client = whole.client_of("parent")
    assert client is not None
    (trace,) = family.traces(client, "p")
    assert not named(spans([trace]), "Start").links
    assert warnings == [f"child/{whole.started}: no link: its workflow is not in this stack or table"]


def test_a_cause_names_the_execution_that_failed() -> None:
    reply = {"Cause": json.dumps({"ExecutionArn": f"{ARN}child:c", "Status": "FAILED"})}
    assert [*executions_in(json.loads(reply["Cause"]))] == [Started("child", "c")]
    assert [*executions_in([{"a": {"executionArn": f"{ARN}child:d"}}, f"{ARN}child:e"])] == [Started("child", "d")]


def test_traces_of_one_command_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(family_module, "MOST_TRACES", 1)
    whole, warnings = nest(), list[str]()
    client = whole.client_of("parent")
    assert client is not None
    assert len([*whole.family(warnings).traces(client, "p")]) == 1
    assert warnings == ["more than 1 executions: trace the others by their names"]


@pytest.mark.parametrize(
    ("where", "name", "broken"),
    [
        (family_module.Family, "_children", lambda *_: []),
        (nesting, "default_name", lambda *_: "0" * 64),
        (family_module, "_link", lambda one, execution, relation, *_: _linked(one, execution, relation)),
    ],
    ids=["children not found", "other names", "link to the execution, not to the step"],
)
def test_broken_variants_are_found(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Callable[..., Any]
) -> None:
    whole = nest(knows=False, ResultSelector={"done": True} if name == "default_name" else {"arn.$": "$.ExecutionArn"})
    monkeypatch.setattr(where, name, broken)
    with pytest.raises((AssertionError, ValueError)):
        check_links(whole.traces("parent", "p"))
