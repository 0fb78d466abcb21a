"""Traces in the JSON encoding of OTLP: identifiers in hexadecimal, 64-bit integers and times as text.

Source: OpenTelemetry Protocol Specification, "JSON Protobuf Encoding".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from unum_cli.traces.conventions import ERROR
from unum_cli.traces.spans import Attribute, Attributes, Event, Link, Span, Trace
from unum_runtime.model.states import Json

MOST_SPANS = 512
"""Most spans in one request, as the batches of OpenTelemetry's exporters have: collectors limit its size."""

_STATUS_ERROR = 2
_SCOPE = {"name": "unum"}


def batches(traces: Iterable[Trace]) -> Iterator[Json]:
    """Yield ``ExportTraceServiceRequest`` objects with all spans of `traces`."""
    for trace in traces:
        for first in range(0, len(trace.spans), MOST_SPANS):
            yield {"resourceSpans": [_resource_spans(trace, trace.spans[first : first + MOST_SPANS])]}


def document(traces: Iterable[Trace]) -> dict[str, Json]:
    """Return all spans of `traces` as one ``ExportTraceServiceRequest``."""
    return {"resourceSpans": [_resource_spans(trace, trace.spans) for trace in traces]}


def _resource_spans(trace: Trace, spans: Sequence[Span]) -> Json:
    return {
        "resource": {"attributes": _attributes(trace.resource)},
        "scopeSpans": [{"scope": _SCOPE, "spans": [*map(_span, spans)]}],
    }


def _span(span: Span) -> Json:
    failed: Mapping[str, Attribute] = {} if span.error is None else {ERROR: span.error}
    made: dict[str, Json] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "kind": int(span.kind),
        "startTimeUnixNano": _nanoseconds(span.from_ms),
        "endTimeUnixNano": _nanoseconds(span.to_ms),
        "attributes": _attributes({**span.attributes, **failed}),
    }
    if span.parent_id:
        made["parentSpanId"] = span.parent_id
    if span.events:
        made["events"] = [*map(_event, span.events)]
    if span.links:
        made["links"] = [*map(_link, span.links)]
    if span.dropped_links:
        made["droppedLinksCount"] = span.dropped_links
    if span.error is not None:
        made["status"] = {"code": _STATUS_ERROR, "message": span.error}
    return made


def _event(event: Event) -> Json:
    return {
        "timeUnixNano": _nanoseconds(event.at_ms),
        "name": event.name,
        "attributes": _attributes(event.attributes),
    }


def _link(link: Link) -> Json:
    return {"traceId": link.trace_id, "spanId": link.span_id, "attributes": _attributes(link.attributes)}


def _attributes(attributes: Attributes) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Attribute) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case str():
            return {"stringValue": value}
    return {"arrayValue": {"values": [*map(_value, value)]}}


def _nanoseconds(ms: int) -> str:
    return str(ms * 1_000_000)
