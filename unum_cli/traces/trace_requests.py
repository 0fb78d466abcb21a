"""Requests with the spans of traces, for a collector; `unum_runtime.model.otlp_json` encodes the spans."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from unum_cli.traces.conventions import ERROR
from unum_cli.traces.spans import Attribute, Link, Span, Trace
from unum_runtime.model import otlp_json
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
    return otlp_json.resource_spans(trace.resource, [(_SCOPE, [*map(_span, spans)])])


def _span(span: Span) -> Json:
    failed: Mapping[str, Attribute] = {} if span.error is None else {ERROR: span.error}
    return otlp_json.span(
        otlp_json.ids_of(span.trace_id, span.span_id),
        span.name,
        int(span.kind),
        (_nanoseconds(span.from_ms), _nanoseconds(span.to_ms)),
        parentSpanId=span.parent_id,
        attributes=otlp_json.attributes({**span.attributes, **failed}),
        events=[otlp_json.event(each.name, _nanoseconds(each.at_ms), each.attributes) for each in span.events],
        links=[*map(_link, span.links)],
        droppedLinksCount=span.dropped_links,
        status=None if span.error is None else {"code": _STATUS_ERROR, "message": span.error},
    )


def _link(link: Link) -> Json:
    return {**otlp_json.ids_of(link.trace_id, link.span_id), "attributes": otlp_json.attributes(link.attributes)}


def _nanoseconds(ms: int) -> int:
    return ms * 1_000_000
