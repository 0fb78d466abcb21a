"""A function without a provider of its own: its spans arrive at a collector before it returns."""

import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk import trace as sdk_trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext

from tests.unit.cli.traces.collector import Collector, decoded, facts
from unum_cli.traces.conventions import ERROR
from unum_cli.traces.exporter import document
from unum_cli.traces.spans import Event, Kind, Link, Span, Trace
from unum_runtime.features.traces.opentelemetry import otel_spans
from unum_runtime.features.traces.opentelemetry.otel_spans import JsonExporter
from unum_runtime.features.traces.opentelemetry.otlp_json import attributes

FUNCTION = """
import logging, os, sys
from types import SimpleNamespace
from unum_runtime.features.traces.traced import flushed, traced
from unum_runtime.protocol.runtime import Call

logging.basicConfig(stream=sys.stdout, format="%(message)s")
call = Call("e", "e:18c/M@1.0[3]#2", "A", "f", "Flow/e:18c/M@1.0[3]#2", attempt=1)
context = SimpleNamespace(unum=call, aws_request_id="r", get_remaining_time_in_millis=lambda: LEFT)
handle = flushed(traced(lambda event, context: event))
print(handle("done", context), flush=True)
print("grpc" in sys.modules or "google.protobuf" in sys.modules, flush=True)
os._exit(0)  # as a sandbox that is frozen and never thawed
"""


def run(left_ms: int = 20_000, kind: str = "opentelemetry", **environment: str) -> list[str]:
    """Run a function in a process of its own, and return what it prints."""
    given = {
        "UNUM_TRACES": kind,
        "UNUM_WORKFLOWS": json.dumps({"Flow": {"table": "t", "hosts": ["f"], "retention_s": 1}}),
        "AWS_LAMBDA_FUNCTION_NAME": "shop-f",
        **environment,
    }
    code = "import sys; sys.path[:0] = " + repr(sys.path) + FUNCTION.replace("LEFT", str(left_ms))
    command = [sys.executable, "-c", code.replace("import logging", "\nimport logging", 1)]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=True, timeout=120)  # noqa: S603
    return done.stdout.splitlines()


def test_spans_arrive_before_the_sandbox_freezes(collector: Collector) -> None:
    assert run(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url) == ["done", "False"]
    (span,) = collector.spans
    assert (span.name, collector.paths) == ("user code", ["/v1/traces"])
    assert span.trace_id.hex()[:8] == "00000000"  # the start's second
    assert facts(span)["unum.attempt"] == 2
    (resource,) = collector.requests[0].resource_spans
    named = {name: facts(resource.resource)[name] for name in ("service.name", "faas.name", "cloud.provider")}
    assert named == {"service.name": "Flow", "faas.name": "shop-f", "cloud.provider": "aws"}


def test_the_variables_of_opentelemetry_apply(collector: Collector) -> None:
    run(
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{collector.url}/own/path",
        OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20abc, x-tenant=7",
        OTEL_SERVICE_NAME="shop",
    )
    assert collector.paths == ["/own/path"]
    assert (collector.headers[0]["authorization"], collector.headers[0]["x-tenant"]) == ("Bearer abc", "7")
    assert facts(collector.requests[0].resource_spans[0].resource)["service.name"] == "shop"


@pytest.mark.parametrize("sampler", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_SAMPLER": "always_off"}])
def test_the_sdk_decides_what_is_kept(collector: Collector, sampler: dict[str, str]) -> None:
    assert run(20_000, "opentelemetry", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **sampler) == ["done", "False"]
    assert collector.spans == []


def test_a_collector_that_does_not_answer_fails_no_delivery() -> None:
    first, *rest = run(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    assert first.startswith("1 spans were not sent to http://127.0.0.1:1/v1/traces: ")
    assert rest == ["done", "False"]


def test_a_delivery_without_time_sends_nothing(collector: Collector) -> None:
    assert run(left_ms=100, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url) == ["done", "False"]
    assert collector.spans == []


def test_x_ray_alone_needs_no_sdk(collector: Collector) -> None:
    assert run(kind="xray", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url) == ["done", "False"]
    assert collector.spans == []


def test_settings_without_sense_are_the_defaults() -> None:
    exporter = JsonExporter.from_environment({"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"})
    assert (exporter._url, exporter._timeout_s) == ("http://localhost:4318/v1/traces", 2.0)
    assert JsonExporter.from_environment({"OTEL_EXPORTER_OTLP_TIMEOUT": "1500"})._timeout_s == 1.5


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (True, {"boolValue": True}),
        (2**60, {"intValue": str(2**60)}),
        (0.25, {"doubleValue": 0.25}),
        (float("inf"), {"doubleValue": "Infinity"}),
        (float("-inf"), {"doubleValue": "-Infinity"}),
        (float("nan"), {"doubleValue": "NaN"}),
        ("text", {"stringValue": "text"}),
        ((1, 2), {"arrayValue": {"values": [{"intValue": "1"}, {"intValue": "2"}]}}),
        ({"a": "b"}, {"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}}),
        (b"x", {"stringValue": "b'x'"}),
    ],
)
def test_values_in_json(value: Any, field: Any) -> None:
    assert attributes({"key": value}) == [{"key": "key", "value": field}]


def test_functions_and_the_command_write_equal_spans() -> None:
    """As a collector reads them."""
    here, parent, other = (SpanContext(5, number, is_remote=False) for number in (6, 7, 8))
    sdk = ReadableSpan(
        "Charge",
        here,
        parent,
        Resource({"service.name": "shop"}),
        {"rows": 2, "ok": True, ERROR: "Refused"},
        [sdk_trace.Event("retry", {"n": 1}, 3_000_000)],
        [trace.Link(other, {"unum.link": "earlier"})],
        trace.SpanKind.CLIENT,
        start_time=1_000_000,
        end_time=4_000_000,
        status=trace.Status(trace.StatusCode.ERROR, "Refused"),
        instrumentation_scope=InstrumentationScope("unum"),
    )
    own = Span(
        trace_id=f"{5:032x}",
        span_id=f"{6:016x}",
        parent_id=f"{7:016x}",
        name="Charge",
        from_ms=1,
        to_ms=4,
        kind=Kind.CLIENT,
        attributes={"rows": 2, "ok": True},
        error="Refused",
        events=(Event("retry", 3, {"n": 1}),),
        links=(Link(f"{5:032x}", f"{8:016x}", {"unum.link": "earlier"}),),
    )
    written = {"resourceSpans": [otel_spans._resource_spans([sdk])]}
    assert decoded(written) == decoded(document([Trace(own.trace_id, "w", "e", {"service.name": "shop"}, [own])]))
