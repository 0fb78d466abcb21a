"""Spans of each kind of step, with time, errors and links."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest

from tests.unit.cli.traces.collector import facts, lines
from tests.unit.cli.traces.traced import client_of, named, traced, traced_on
from tests.unit.cli.ui.shop import Shop
from tests.unit.client.test_region_history import begun
from tests.unit.protocol.map_platform import mapped
from tests.unit.protocol.platform import Platform, chain
from unum_cli.traces import family
from unum_cli.traces.exporter import document
from unum_cli.traces.family import Family
from unum_cli.traces.spans import Link
from unum_compiler import compile_workflow
from unum_runtime.features.traces.opentelemetry import span_ids
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.naming import Execution

DONE = """
orders: 0+1870 succeeded
  Receive: 0+120 succeeded
    user code: 0+120 cold
  Lines: 120+720 succeeded
    Lines branch: 120+680 succeeded
      Price: 120+320 succeeded
        queue: 120+40
        cold start: 160+200
        user code: 360+80 cold
      Round: 440+360 succeeded
        queue: 440+160
        cold start: 600+200
        user code: 800+0 cold
    Lines branch: 120+720 succeeded
      Price: 120+440 succeeded
        queue: 120+360
        user code: 480+80
      Round: 560+280 succeeded
        queue: 560+280
        user code: 840+0
  Charge: 840+490 succeeded fan-in<-Round fan-in<-Round
    queue: 840+40
    cold start: 880+200
    user code: 1080+250 cold
  Ship: 1330+540 succeeded
    queue: 1330+40
    cold start: 1370+200
    user code: 1570+300 cold
"""

RETRIED = """
  Charge: 440+6870 succeeded exception(Busy at 290) exception(Busy at 2580) fan-in<-Round fan-in<-Round
    queue: 440+40
    failed attempt: 480+250 ERROR Busy
    waiting: 730+2040
    failed attempt: 2770+250 ERROR Busy
    waiting: 3020+4000
    queue: 7020+40
    user code: 7060+250
"""

CAUGHT = """
  Charge: 440+290 caught ERROR Broken fan-in<-Round fan-in<-Round
    queue: 440+40
    user code: 480+250 ERROR Broken
  Refund: 730+360 succeeded
    queue: 730+40
    cold start: 770+200
    user code: 970+120 cold
"""

FAILED = """
  Charge: 440+290 failed ERROR PermissionError fan-in<-Round fan-in<-Round
    queue: 440+40
    user code: 480+250 ERROR PermissionError
"""

WAITING = """
  Approve: 440+600270 waiting unfinished fan-in<-Round fan-in<-Round
"""

ANSWERED = """
  Approve: 840+3600310 succeeded fan-in<-Round fan-in<-Round
    queue: 840+240
    waiting: 1080+3600070
  Charge: 3601150+490 succeeded
"""


def of(shop: Shop, name: str) -> list[Any]:
    return traced(shop.client, name)


def expected(text: str) -> list[str]:
    return text.strip("\n").splitlines()


def test_a_chain_with_a_map(shop: Shop) -> None:
    assert lines(of(shop, "done")) == expected(DONE)


@pytest.mark.parametrize(
    ("name", "steps", "status"),
    [
        ("retried", RETRIED, "succeeded"),
        ("caught", CAUGHT, "succeeded"),
        ("failed", FAILED, "failed ERROR PermissionError"),
        ("waiting", WAITING, "running unfinished"),
    ],
)
def test_each_kind_of_step_is_shown_as_such(shop: Shop, name: str, steps: str, status: str) -> None:
    found = lines(of(shop, name))
    assert "\n".join(expected(steps)) in "\n".join(found)
    assert found[0].partition(" ")[2].partition(" ")[2] == status


def test_identifiers_never_change(shop: Shop) -> None:
    """Backends have spans of earlier releases, which links refer to."""
    spans = of(shop, "done")
    assert {span.trace_id.hex() for span in spans} == {"6b49d23cf595c422077eb3db859e0bd8"}
    assert [span.span_id.hex() for span in spans if span.name in ("orders", "Lines", "Ship")] == [
        "b0466822a42fb5eb",
        "e118a643355e8020",
        "227ca83578787c12",
    ]


def test_the_trace_id_begins_with_the_time_of_the_start() -> None:
    found = span_ids.trace_id("w", Execution("e", 1_800_000_000_123))
    assert (int(found[:8], 16), len(found)) == (1_800_000_000, 32)


def check_that_twice_is_the_same(shop: Shop) -> None:
    one, other = (list(Family(lambda _: None, (), print).traces(shop.client, "retried")) for _ in range(2))
    assert json.dumps(document(one)) == json.dumps(document(other))
    identifiers = [span.span_id for span in one[0].spans]
    assert len({*identifiers}) == len(identifiers)


def check_that_a_join_names_its_branches(shop: Shop) -> None:
    spans = of(shop, "done")
    rounds = [span.span_id for span in spans if span.name == "Round"]
    assert [link.span_id for link in named(spans, "Charge").links] == rounds


def check_that_retries_are_told(shop: Shop) -> None:
    spans = of(shop, "retried")
    assert [facts(event)["exception.type"] for event in named(spans, "Charge").events] == ["Busy", "Busy"]
    tried = [span for span in spans if span.name == "failed attempt"]
    assert [(facts(span)["unum.attempt"], facts(span)["error.type"]) for span in tried] == [(1, "Busy"), (2, "Busy")]


CHECKS = [check_that_twice_is_the_same, check_that_a_join_names_its_branches, check_that_retries_are_told]


@pytest.mark.parametrize("check", CHECKS)
def test_what_every_trace_holds(shop: Shop, check: Callable[[Shop], None]) -> None:
    check(shop)


@pytest.mark.parametrize(
    ("check", "where", "name", "broken"),
    [
        (CHECKS[0], span_ids, "_span", lambda *_: uuid4().hex[:16]),
        (CHECKS[0], span_ids, "_span", lambda *_: "0" * 15 + "1"),
        (CHECKS[1], family.ExecutionSpans, "_fan_in", lambda *_: Link("0" * 32, "0" * 16)),
        (CHECKS[2], family, "_failed", lambda *_: []),
    ],
    ids=["random ids", "one id for all", "no fan-in", "lost retries"],
)
def test_broken_variants_are_found(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, check: Callable[[Shop], None], where: Any, name: str, broken: Any
) -> None:
    monkeypatch.setattr(where, name, broken)
    with pytest.raises(AssertionError):
        check(shop)


def test_every_span_has_a_parent_before_it_and_lies_within_the_trace(shop: Shop) -> None:
    for name in ("done", "retried", "caught", "failed", "waiting"):
        root, *others = of(shop, name)
        known = {root.span_id}
        for span in others:
            assert span.parent_span_id in known
            known.add(span.span_id)
            assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
            assert span.end_time_unix_nano <= root.end_time_unix_nano


def test_an_invocation_is_named_as_opentelemetry_does(shop: Shop) -> None:
    spans = of(shop, "done")
    ship = named(spans, "Ship")
    (code,) = (span for span in spans if span.parent_span_id == ship.span_id and span.name == "user code")
    assert facts(code) == {
        "unum.attempt": 1,
        "faas.coldstart": True,
        "faas.invocation_id": facts(code)["faas.invocation_id"],
        "aws.log.stream.names": ["stream of Ship"],
    }
    assert facts(code)["faas.invocation_id"].startswith("request-")
    assert (code.kind, ship.kind) == (2, 1)  # SPAN_KIND_SERVER, SPAN_KIND_INTERNAL
    assert {name: facts(ship)[name] for name in ("unum.state.type", "unum.function", "unum.attempts")} == {
        "unum.state.type": "Task",
        "unum.function": "Ship",
        "unum.attempts": 1,
    }


def test_no_data_of_executions_is_sent(shop: Shop) -> None:
    """Causes, inputs and results may be secret, and a collector has other readers than a table."""
    found = json.dumps(document(Family(lambda _: None, (), print).traces(shop.client, "failed")))
    assert "stolen" not in found
    assert "<script>" not in found


def test_an_answered_callback_has_waited() -> None:
    shop = Shop()
    shop.run("approved", approve=True)
    shop.platform.clock.ms += 3_600_000
    unfinished = of(shop, "approved")
    shop.client.send_task_success(shop.tokens[-1], '"me"')
    shop.go_on()
    spans = of(shop, "approved")
    assert named(unfinished, "Approve").span_id == named(spans, "Approve").span_id
    assert "\n".join(expected(ANSWERED)) in "\n".join(lines(spans))
    assert facts(named(spans, "Approve"))["unum.pattern"] == "CALLBACK"
    assert not any(facts(span).get("unum.unfinished") for span in spans)


def test_a_wait_is_a_span_of_its_own_though_it_has_no_commit() -> None:
    states = chain("A", "B")
    states["States"]["A"]["Next"] = "Pause"
    states["States"]["Pause"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    platform = Platform.of(states, A=lambda event: event, B=lambda event: event)
    platform.start()
    platform.deliver_all()
    platform.clock.ms += 1_500
    assert lines(traced_on(platform))[-1] == "  Pause: 0+1500 waiting unfinished"
    platform.deliver(platform.pass_to_next())
    assert lines(traced_on(platform))[-3:] == [
        "  Pause: 0+60000 succeeded",
        "  B: 60000+0 succeeded",
        "    user code: 60000+0",
    ]


def test_a_wait_that_commits_has_one_span() -> None:
    platform = Platform.of({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 5, "End": True}}})
    platform.start()
    platform.deliver_all()
    platform.deliver(platform.pass_to_next())
    assert lines(traced_on(platform)) == ["w: 0+5000 succeeded", "  W: 0+5000 succeeded"]


def test_a_map_whose_retrier_begins_again_has_a_span_for_each_time() -> None:
    runs: list[Any] = []

    def fail_once(event: Any) -> Any:
        runs.append(event)
        if len(runs) == 1:
            raise ValueError(event)
        return event

    retry = [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 3, "MaxAttempts": 1}]
    platform = Platform.of(mapped("A", after="C", Retry=retry), A=fail_once, C=lambda event: event)
    platform.start(value=[1])
    platform.deliver_all()
    while platform.waiting:
        platform.deliver(platform.pass_to_next())
        platform.deliver_all()
    spans = [span for span in traced_on(platform) if span.name == "M"]
    assert [(facts(span)["unum.attempts"], span.status.message) for span in spans] == [(1, "ValueError"), (2, "")]
    assert spans[0].span_id != spans[1].span_id


def test_a_redrive_is_an_event_and_a_link_to_what_had_failed() -> None:
    shop = Shop()
    shop.run("failed", card="stolen")
    shop.platform.clock.ms += 1_000
    assert shop.client.control is not None
    shop.client.control.redrive("failed", on="original")
    shop.go_on()
    spans = of(shop, "failed")
    first, second = (span for span in spans if span.name == "Charge")
    assert [(link.span_id, facts(link)["unum.link"]) for link in second.links] == [(first.span_id, "redrive")]
    assert [(event.name, facts(event)["error.type"]) for event in spans[0].events] == [
        ("unum.redrive", "PermissionError")
    ]


def test_what_a_stop_ends_is_stopped_and_no_failure_of_its_own() -> None:
    shop = Shop()
    shop.run("stopped", approve=True)
    shop.platform.clock.ms += 5_000
    assert shop.client.control is not None
    shop.client.control.stop("stopped", error="Enough")
    shop.platform.clock.ms += 5_000
    root, *_, last = lines(of(shop, "stopped"))
    assert root == "orders: 0+6110 aborted ERROR Enough"
    assert last == "  Approve: 840+5270 stopped fan-in<-Round fan-in<-Round"


def test_a_fork_has_a_trace_of_its_own_that_names_its_original() -> None:
    shop = Shop()
    shop.run("failed", card="stolen")
    shop.platform.clock.ms += 1_000
    assert shop.client.control is not None
    shop.client.control.fork("failed", from_node="Charge", new_name="again", input={"card": "mine"})
    shop.go_on()
    original, spans = of(shop, "failed"), of(shop, "again")
    (link,) = spans[0].links
    assert (link.trace_id, link.span_id) == (original[0].trace_id, original[0].span_id)
    assert facts(link)["unum.link"] == "fork"
    assert lines(spans)[1].strip().startswith("Charge: ")
    assert all(span.start_time_unix_nano >= spans[0].start_time_unix_nano for span in spans)


def test_nodes_of_a_graph_name_their_sources() -> None:
    spans = traced_on(begun(*"acbed"))
    nodes = [span for span in spans if span.name == "dag branch"]
    by_id = {span.span_id: span.name for span in spans}
    sources = [[by_id[link.span_id] for link in node.links] for node in nodes]
    assert sources == [[], ["a"], ["a"], ["b", "c"], ["c"]]
    assert all(one.start_time_unix_nano <= other.start_time_unix_nano for one, other in pairwise(nodes[:3:2]))


def test_links_of_a_wide_fan_in_are_limited_and_counted() -> None:
    platform = Platform.of(mapped("A", after="C"), A=lambda event: event, C=len)
    platform.run(value=[*range(130)])
    joined = named(traced_on(platform), "C")
    assert (len(joined.links), joined.dropped_links_count) == (128, 2)


def test_a_service_call_is_a_client_of_its_service() -> None:
    arguments = {"QueueUrl": "q", "MessageBody": "m"}
    state = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": arguments, "End": True}
    workflow = compile_workflow({"StartAt": "Send", "States": {"Send": state}}, name="w", functions=None)
    platform = Platform(workflow, {"$services": lambda _: {"MessageId": "m"}})
    platform.run()
    call = named(traced_on(platform), "service call")
    assert call.kind == 3  # SPAN_KIND_CLIENT
    assert {name: value for name, value in facts(call).items() if not name.startswith("unum.")} == {
        "rpc.system": "aws-api",
        "rpc.service": "sqs",
        "rpc.method": "SendMessage",
        "messaging.system": "aws_sqs",
        "messaging.operation.name": "SendMessage",
        "messaging.operation.type": "send",
    }


def test_the_resource_is_the_workflow(shop: Shop) -> None:
    (one,) = document(Family(lambda _: None, (), print).traces(shop.client, "done"))["resourceSpans"]
    assert one["resource"]["attributes"][0] == {"key": "service.name", "value": {"stringValue": "orders"}}
    assert client_of(shop.platform).workflow == "orders"


def test_an_attempt_that_took_no_time_comes_before_the_wait_after_it() -> None:
    runs: list[Any] = []

    def fail_once(event: Any) -> Any:
        runs.append(event)
        return 1 / (len(runs) - 1)

    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 2, "MaxAttempts": 1}]
    platform = Platform.of(chain("A", A={"Retry": retry}), A=fail_once)
    platform.options["arrival"] = Arrival(platform.clock.ms)
    platform.start()
    platform.deliver_all()
    event = platform.pass_to_next()
    platform.options["arrival"] = Arrival(platform.clock.ms)
    platform.deliver(event)
    assert [line.strip() for line in lines(traced_on(platform))[2:]] == [
        "failed attempt: 0+0 ERROR ZeroDivisionError",
        "waiting: 0+2000",
        "user code: 2000+0",
    ]
