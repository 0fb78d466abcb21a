"""Exporter of the OpenTelemetry SDK: OTLP over HTTP, as JSON, by the standard library.

The SDK's own exporter needs Protobuf, which is compiled for one processor, and takes longer to import than all else.

Sources: OpenTelemetry Protocol Specification, "JSON Protobuf Encoding"; OpenTelemetry Protocol Exporter.
"""

import logging
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from math import isfinite, isnan
from typing import Any
from urllib.parse import unquote

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from unum_runtime.json_text import to_ascii

DEFAULT_URL = "http://localhost:4318"
"""Place of a collector in an extension of the function."""

DEFAULT_TIMEOUT_S = 2.0
"""Longest time for an answer, in seconds, shorter than the specification's 10: a function pays for it."""

_PREFIX = "OTEL_EXPORTER_OTLP_"
_LOG = logging.getLogger("unum_runtime")


class JsonExporter(SpanExporter):
    """Exporter to one collector.

    Args:
        url: address that spans are sent to.
        headers: headers of its requests.
        timeout_s: longest time for an answer, in seconds.

    Attributes:
        limit_s: longest time that the delivery leaves, in seconds.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float) -> None:
        self._url, self._headers, self._timeout_s = url, headers, timeout_s
        self.limit_s = timeout_s

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "JsonExporter":
        """Return the exporter that the variables of OpenTelemetry describe; those for traces alone come first."""

        def read(name: str) -> str:
            return environment.get(f"{_PREFIX}TRACES_{name}") or environment.get(_PREFIX + name, "")

        general = (environment.get(f"{_PREFIX}ENDPOINT") or DEFAULT_URL).rstrip("/")
        url = environment.get(f"{_PREFIX}TRACES_ENDPOINT") or f"{general}/v1/traces"
        timeout = read("TIMEOUT")
        timeout_s = int(timeout) / 1000 if timeout.isdecimal() else DEFAULT_TIMEOUT_S
        return cls(url, dict(_headers(read("HEADERS"))), timeout_s)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send `spans`; log failures, raise none."""
        content = to_ascii({"resourceSpans": [_resource_spans(spans)]}).encode()
        headers = {**self._headers, "Content-Type": "application/json"}
        request = urllib.request.Request(self._url, content, headers)  # noqa: S310 - the deployment's own setting
        try:
            with urllib.request.urlopen(request, timeout=min(self._timeout_s, self.limit_s)):  # noqa: S310 - as above
                return SpanExportResult.SUCCESS
        except (OSError, ValueError, HTTPException) as error:
            _LOG.warning("%d spans were not sent to %s: %s", len(spans), self._url, error)
            return SpanExportResult.FAILURE


def _headers(text: str) -> list[tuple[str, str]]:
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return [(name.strip(), unquote(value.strip())) for name, _, value in pairs]


def _resource_spans(spans: Sequence[ReadableSpan]) -> Any:
    scopes: dict[Any, list[Any]] = {}
    for span in spans:
        scopes.setdefault(span.instrumentation_scope, []).append(_span(span))
    return {
        "resource": {"attributes": _attributes(spans[0].resource.attributes)},
        "scopeSpans": [{"scope": _scope(scope), "spans": of_scope} for scope, of_scope in scopes.items()],
    }


def _scope(scope: Any) -> Any:
    return {} if scope is None else {"name": scope.name, **({"version": scope.version} if scope.version else {})}


def _span(span: ReadableSpan) -> Any:
    made = {
        **_place(span.get_span_context()),
        "name": span.name,
        "kind": span.kind.value + 1,  # the SDK counts from 0, the protocol from 1
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": _attributes(span.attributes),
        "events": [_event(event) for event in span.events],
        "links": [{**_place(link.context), "attributes": _attributes(link.attributes)} for link in span.links],
        "droppedAttributesCount": span.dropped_attributes,
        "droppedEventsCount": span.dropped_events,
        "droppedLinksCount": span.dropped_links,
        "status": {"code": span.status.status_code.value, "message": span.status.description or ""},
    }
    return made if span.parent is None else {**made, "parentSpanId": f"{span.parent.span_id:016x}"}


def _place(context: Any) -> dict[str, str]:
    found = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    return {**found, "traceState": context.trace_state.to_header()} if context.trace_state else found


def _event(event: Any) -> Any:
    return {"timeUnixNano": str(event.timestamp), "name": event.name, "attributes": _attributes(event.attributes)}


def _attributes(attributes: Any) -> list[Any]:
    return [{"key": key, "value": _value(value)} for key, value in (attributes or {}).items()]


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": _attributes(value)}}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {"arrayValue": {"values": [*map(_value, value)]}}
    for kind, field, as_json in _SCALARS:
        if isinstance(value, kind):
            return {field: as_json(value)}
    return {"stringValue": str(value)}


def _number(value: float) -> Any:
    """Return `value`, or its name in Protobuf's JSON: JSON has no infinite numbers."""
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


_SCALARS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (bool, "boolValue", bool),  # before numbers: True is an int in Python
    (int, "intValue", str),
    (float, "doubleValue", _number),
)
"""Fields of values by their type, each with the function that returns its JSON."""
