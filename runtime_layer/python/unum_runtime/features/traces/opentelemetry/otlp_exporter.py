"""Exporter of the OpenTelemetry SDK: OTLP over HTTP, as JSON, by the standard library.

The SDK's own exporter needs Protobuf, which is compiled for one processor, and takes longer to import than all else.

Source: OpenTelemetry Specification, "OpenTelemetry Protocol Exporter".
"""

import logging
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from unum_runtime.features.traces.opentelemetry import otlp_json
from unum_runtime.json_text import to_ascii
from unum_runtime.model.states import Json

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


def _resource_spans(spans: Sequence[ReadableSpan]) -> Json:
    scopes: dict[Any, list[Json]] = {}
    for span in spans:
        scopes.setdefault(span.instrumentation_scope, []).append(_span(span))
    return otlp_json.resource_spans(
        spans[0].resource.attributes, ((_scope(scope), of_scope) for scope, of_scope in scopes.items())
    )


def _scope(scope: Any) -> Json:
    return {} if scope is None else {"name": scope.name, **({"version": scope.version} if scope.version else {})}


def _span(span: ReadableSpan) -> Json:
    return otlp_json.span(
        _ids(span.get_span_context()),
        span.name,
        span.kind.value + 1,  # the SDK counts from 0, the protocol from 1
        (span.start_time or 0, span.end_time or 0),
        parentSpanId="" if span.parent is None else f"{span.parent.span_id:016x}",
        attributes=otlp_json.attributes(span.attributes or {}),
        events=[otlp_json.event(each.name, each.timestamp, each.attributes or {}) for each in span.events],
        links=[
            {**_ids(each.context), "attributes": otlp_json.attributes(each.attributes or {})} for each in span.links
        ],
        droppedAttributesCount=span.dropped_attributes,
        droppedEventsCount=span.dropped_events,
        droppedLinksCount=span.dropped_links,
        status={"code": span.status.status_code.value, "message": span.status.description or ""},
    )


def _link(link: Any) -> Json:
    return {**_ids(link.context), "attributes": otlp_json.attributes(link.attributes or {})}


def _ids(context: Any) -> dict[str, Json]:
    state = context.trace_state.to_header() if context.trace_state else ""
    return otlp_json.ids_of(f"{context.trace_id:032x}", f"{context.span_id:016x}", state)
