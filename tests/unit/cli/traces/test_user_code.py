"""Spans that functions send, together with those that `unum trace` builds: one trace, without duplicates."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from tests.unit.cli.traces.collector import decoded, facts, spans_of
from tests.unit.cli.traces.test_nesting import check_links, nest
from tests.unit.cli.traces.traced import client_of, named
from tests.unit.cli.traces.user_code import Traced, call_in_span, query, sent, tree
from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform, chain
from unum_cli.traces.exporter import document
from unum_cli.traces.family import Family
from unum_cli.traces.trace_command import _without_user_code
from unum_compiler.options import FunctionOptions
from unum_runtime.features.traces.opentelemetry import otel_spans, span_ids
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.runtime import CallbackPending

CHAIN = """
w
  A
    user code
      select
  B
    queue
    user code
      insert
"""

MAP = """
w
  M
    M branch
      A exception
        queue
        waiting
        queue
        user code ERROR Busy
          try
        user code
          try
    M branch
      A
        queue
        user code
          try
  C <-A <-A
    queue
    user code
"""

WAIT = """
w
  A
    user code
  Pause
  B
    queue
    user code
"""

CALLBACK = """
w
  Ask
    waiting
    user code
      mail
  B
    queue
    user code
"""


class Busy(Exception):
    pass


def expected(text: str) -> list[str]:
    return text.strip("\n").splitlines()


def orchestration(platform: Traced, *, without_user_code: bool = True) -> list[Any]:
    """Return spans sent by `unum trace`."""
    traces = Family(lambda _: None, (), lambda _: None).traces(client_of(platform), "e", platform.workflow)
    return spans_of(decoded(document([_without_user_code(each) if without_user_code else each for each in traces])))


def a_chain() -> Traced:
    def read(event: Any) -> Any:
        query("select")
        return event

    def write(event: Any) -> Any:
        query("insert")
        return event

    platform = Traced.of(chain("A", "B"), A=read, B=write)
    platform.start()
    platform.go_on()
    return platform


def a_map_with_a_retry() -> Traced:
    tries: list[Any] = []

    def work(event: Any) -> Any:
        query("try")
        tries.append(event)
        if tries.count(1) == 1 and event == 1:
            raise Busy("secret")
        return event

    retry = [{"ErrorEquals": ["Busy"], "IntervalSeconds": 2, "MaxAttempts": 2}]
    definition = mapped("A", after="C")
    definition["States"]["M"]["ItemProcessor"]["States"]["A"]["Retry"] = retry
    platform = Traced.of(definition, A=work, C=len)
    platform.start(value=[1, 2])
    platform.go_on()
    return platform


def a_callback() -> Traced:
    tokens: list[str] = []

    def ask(event: Any) -> Any:
        query("mail")
        tokens.append(event["token"])
        return CallbackPending()

    resource = "arn:aws:states:::lambda:invoke.waitForTaskToken"
    ask_for = {"FunctionName": "Ask", "Payload": {"token.$": "$$.Task.Token"}}
    states = chain("Ask", "B", Ask={"Resource": resource, "Parameters": ask_for})
    platform = Traced.of(states, Ask=ask, B=lambda event: event)
    platform.start()
    platform.deliver_all()
    platform.clock.ms += 60_000
    respond.answer(platform.runtime(), respond.request(tokens[0], output="1"))
    platform.go_on()
    return platform


GOLDEN = [(a_chain, CHAIN), (a_map_with_a_retry, MAP), (a_callback, CALLBACK)]


@pytest.mark.parametrize(("execute", "golden"), GOLDEN, ids=["chain", "map with retry", "callback"])
def test_both_sides_are_one_trace(execute: Callable[[], Traced], golden: str) -> None:
    sent()
    platform = execute()
    check_one_trace([*orchestration(platform), *sent()], golden)


def check_one_trace(spans: list[Any], golden: str) -> None:
    assert len({span.trace_id for span in spans}) == 1
    assert tree(spans) == expected(golden)


def test_both_sides_give_an_attempt_the_same_identifier() -> None:
    sent()
    check_identifiers(a_map_with_a_retry(), sent())


def check_identifiers(platform: Traced, of_functions: list[Any]) -> None:
    """Check attempts by either side: children of their Task, parents of spans of libraries."""
    names = ("user code", "failed attempt")
    whole = orchestration(platform, without_user_code=False)
    attempts = {span.span_id: span.parent_span_id for span in whole if span.name in names}
    assert attempts == {span.span_id: span.parent_span_id for span in of_functions if span.name == "user code"}
    assert {span.parent_span_id for span in of_functions if span.name == "try"} <= attempts.keys()
    assert {span.trace_id for span in of_functions} == {whole[0].trace_id}


def test_user_code_of_a_child_is_in_the_child_s_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parent and child are linked both ways by the table's side; neither passes a context on."""
    sent()
    monkeypatch.setattr(Platform, "_call", call_in_span)
    traces = nest().traces("parent", "p")
    check_links(traces)
    found = [span for span in sent() if span.name == "user code"]
    assert [span.trace_id.hex() for span in found] == [traces[1].trace_id, traces[0].trace_id]
    attempts = {span.span_id for trace in traces for span in trace.spans if span.name == "user code"}
    assert {span.span_id.hex() for span in found} == attempts


@pytest.mark.parametrize("seconds", [60, 100_000], ids=["queue", "schedule"])
def test_a_trace_survives_waits(seconds: int) -> None:
    sent()
    states = chain("A", "B")
    states["States"]["A"]["Next"] = "Pause"
    states["States"]["Pause"] = {"Type": "Wait", "Seconds": seconds, "Next": "B"}
    platform = Traced.of(states, A=lambda event: event, B=lambda event: event)
    platform.start()
    platform.go_on()
    assert platform.clock.ms > 1_800_000_000_000 + seconds * 1000
    check_one_trace([*orchestration(platform), *sent()], WAIT)


def test_an_attempt_is_named_as_the_table_names_it() -> None:
    sent()
    a_chain()
    (first, *_) = [span for span in sent() if span.name == "user code"]
    assert facts(first) == {
        "unum.workflow": "w",
        "unum.execution": "e",
        "unum.state": "A",
        "unum.invocation": facts(first)["unum.invocation"],
        "unum.attempt": 1,
        "faas.invocation_id": "request",
        "aws.log.stream.names": ["stream"],
    }
    assert first.kind == 2  # SPAN_KIND_SERVER
    assert facts(named([first], "user code"))["unum.invocation"].startswith("e:")


def test_values_of_each_kind_are_sent() -> None:
    sent()
    a_chain()
    (span,) = [span for span in sent() if span.name == "select"]
    assert facts(span) == {"rows": 2, "ok": True, "share": 0.5}


def test_no_message_of_an_error_is_sent() -> None:
    sent()
    a_map_with_a_retry()
    (failed,) = [span for span in sent() if span.status.code == 2]
    assert (facts(failed)["error.type"], failed.status.message, len(failed.events)) == ("Busy", "Busy", 0)
    assert "secret" not in str(failed)


def test_a_task_that_another_commits_for_has_an_attempt_of_its_own() -> None:
    sent()
    platform = Traced.of(
        chain("A", "B"), {"A": FunctionOptions(checkpoint=False)}, A=lambda event: event, B=lambda event: event
    )
    platform.start()
    platform.go_on()
    one, other = (span for span in sent() if span.name == "user code")
    assert one.span_id != other.span_id
    assert one.parent_span_id == other.parent_span_id  # the step that commits for both
    assert one.parent_span_id in {span.span_id for span in orchestration(platform)}


def test_a_call_beside_workflows_has_no_span() -> None:
    sent()
    assert otel_spans.in_spans(lambda event, _: event)("direct", object()) == "direct"
    assert sent() == []


BROKEN: list[tuple[str, Any, str, Any]] = [
    ("no identifiers of ours", otel_spans._Chosen, "generate_span_id", RandomIdGenerator.generate_span_id),
    ("attempts not told apart", span_ids, "attempt_span", lambda *_: "0" * 15 + "1"),
    ("another Task", span_ids, "step_span", lambda *_: "0" * 15 + "1"),
    ("another trace", span_ids, "trace_id", lambda *_: uuid4().hex),
]


@pytest.mark.parametrize(("where", "name", "broken"), [each[1:] for each in BROKEN], ids=[each[0] for each in BROKEN])
def test_broken_variants_are_found(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Any) -> None:
    sent()
    platform = a_map_with_a_retry_under(monkeypatch, where, name, broken)
    with pytest.raises(AssertionError):
        check_identifiers(platform, sent())


def a_map_with_a_retry_under(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, broken: Any) -> Traced:
    """Execute with a mistake in the functions alone."""
    with monkeypatch.context() as patch:
        patch.setattr(where, name, broken)
        return a_map_with_a_retry()
