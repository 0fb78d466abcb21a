"""Sending to a collector: what it gets, and what becomes of its refusals."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.cli.traces.collector import Collector
from tests.unit.cli.ui.shop import Shop
from unum_cli.commands.command_errors import CommandFailed
from unum_cli.traces import exporter
from unum_cli.traces.exporter import Exporter, Settings, batches
from unum_cli.traces.family import Family
from unum_cli.traces.spans import Trace


def wait(_seconds: float) -> None:
    """Take no time."""


def settings(url: str, **fields: Any) -> Settings:
    return replace(Settings(url=f"{url}/v1/traces", headers={}, timeout_s=10, compresses=False), **fields)


def traces(shop: Shop) -> list[Trace]:
    return [*Family(lambda _: None, (), print).traces(shop.client, "retried")]


def send(collector: Collector, shop: Shop, pauses: list[float] | None = None, **fields: Any) -> None:
    sleep = wait if pauses is None else pauses.append
    Exporter(settings(collector.url, **fields), sleep).send(batches(traces(shop)))


def test_a_collector_gets_every_span(collector: Collector, shop: Shop) -> None:
    send(collector, shop, headers={"Authorization": "secret"})
    (trace,) = traces(shop)
    assert [span.span_id.hex() for span in collector.spans] == [span.span_id for span in trace.spans]
    assert collector.paths == ["/v1/traces"]
    (headers,) = collector.headers
    assert (headers["content-type"], headers["authorization"]) == ("application/json", "secret")


def test_requests_are_limited_in_size(collector: Collector, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "MOST_SPANS", 10)
    send(collector, shop)
    (trace,) = traces(shop)
    assert len(collector.requests) == -(-len(trace.spans) // 10)
    assert len(collector.spans) == len(trace.spans)


def test_requests_are_compressed_if_wanted(collector: Collector, shop: Shop) -> None:
    send(collector, shop, compresses=True)
    assert collector.headers[0]["content-encoding"] == "gzip"
    assert collector.spans


def test_a_collector_that_is_busy_is_asked_again(collector: Collector, shop: Shop) -> None:
    collector.answers += [(503, {}, ""), (429, {"Retry-After": "7"}, ""), (504, {"Retry-After": "7200"}, "")]
    pauses: list[float] = []
    send(collector, shop, pauses)
    assert (pauses, len(collector.requests)) == ([1.0, 7.0, 30], 1)


def test_a_collector_that_stays_busy_is_not_asked_for_ever(collector: Collector, shop: Shop) -> None:
    collector.answers += [(503, {}, "overloaded")] * 9
    with pytest.raises(CommandFailed, match="HTTP 503 Service Unavailable: overloaded"):
        send(collector, shop)
    assert len(collector.paths) == 5


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((400, {}, '{"code": 3, "message": "no tenant"}'), "got HTTP 400 Bad Request: no tenant"),
        ((401, {}, ""), "got HTTP 401 Unauthorized: no reason given"),
        ((404, {"Content-Type": "text/plain"}, "404 page\nnot found"), "got HTTP 404 Not Found: 404 page not found"),
        ((302, {"Location": "/elsewhere"}, ""), "got HTTP 302 Found: no reason given"),
        (
            (200, {}, '{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}'),
            "got rejected 3 spans: too old",
        ),
    ],
    ids=["message", "no content", "text", "redirect", "partial"],
)
def test_a_refusal_is_told(collector: Collector, shop: Shop, answer: Any, text: str) -> None:
    collector.answers.append(answer)
    with pytest.raises(CommandFailed) as failed:
        send(collector, shop, headers={"Authorization": "secret"})
    assert str(failed.value) == f"{collector.url}/v1/traces: expected the collector to accept the spans, {text}"
    assert len(collector.paths) == 1


@pytest.mark.parametrize(
    "answer", ["", "{}", '{"partialSuccess": {}}', '{"partialSuccess": {"rejectedSpans": "0"}}', "?"]
)
def test_other_answers_are_acceptance(collector: Collector, shop: Shop, answer: str) -> None:
    collector.answers.append((200, {}, answer))
    send(collector, shop)
    assert collector.spans


def test_without_a_collector(shop: Shop) -> None:
    sender = Exporter(settings("http://127.0.0.1:1"), wait)
    with pytest.raises(CommandFailed, match=r"no answer: .*refused; expected an OpenTelemetry collector"):
        sender.send(batches(traces(shop)))


def test_an_unreadable_certificate(shop: Shop) -> None:
    missing = settings("https://127.0.0.1:1", authority="/no/such/file")
    with pytest.raises(CommandFailed, match=r"no answer: .*No such file"):
        Exporter(missing, wait).send(batches(traces(shop)))
