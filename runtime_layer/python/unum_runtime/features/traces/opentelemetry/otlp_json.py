"""Spans in the JSON encoding of OTLP: identifiers in hexadecimal, 64-bit integers and times as text.

Functions and ``unum trace`` write their spans with it. Fields with the protocol's defaults are left out.

Source: OpenTelemetry Protocol Specification, "JSON Protobuf Encoding".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

from unum_runtime.model.states import Json


def resource_spans(resource: Mapping[str, Any], scopes: Iterable[tuple[Json, list[Json]]]) -> Json:
    """Return the spans of one resource, by the scope that made them."""
    of_scopes = [{"scope": scope, "spans": spans} for scope, spans in scopes]
    return {"resource": {"attributes": attributes(resource)}, "scopeSpans": of_scopes}


def span(ids: Mapping[str, Json], name: str, kind: int, times_ns: tuple[int, int], **more: Json) -> Json:
    """Return a span.

    Args:
        ids: its identity, as `ids_of` returns it.
        name: its name.
        kind: number that OTLP gives its kind.
        times_ns: begin and end in nanoseconds since 1970.
        more: other fields by their names in OTLP; empty ones and zeros are left out.
    """
    begin, end = map(str, times_ns)
    times = {"startTimeUnixNano": begin, "endTimeUnixNano": end}
    return {**ids, "name": name, "kind": kind, **times, **{field: value for field, value in more.items() if value}}


def ids_of(trace_id: str, span_id: str, trace_state: str = "") -> dict[str, Json]:
    """Return the identity of a span, from hexadecimal digits and the text of a header ``tracestate``."""
    found = {"traceId": trace_id, "spanId": span_id}
    return {**found, "traceState": trace_state} if trace_state else found


def event(name: str, at_ns: int, facts: Mapping[str, Any]) -> Json:
    """Return an event at a time in nanoseconds since 1970."""
    return {"timeUnixNano": str(at_ns), "name": name, "attributes": attributes(facts)}


def attributes(facts: Mapping[str, Any]) -> list[Json]:
    """Return facts with the type of each value."""
    return [{"key": key, "value": _value(value)} for key, value in facts.items()]


def _value(value: Any) -> Json:
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": attributes(value)}}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {"arrayValue": {"values": [*map(_value, value)]}}
    for kind, field, as_json in _SCALARS:
        if isinstance(value, kind):
            return {field: as_json(value)}
    return {"stringValue": str(value)}


def _number(value: float) -> Json:
    """Return `value`, or its name in Protobuf's JSON: JSON has no infinite numbers."""
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


_SCALARS: tuple[tuple[type, str, Callable[[Any], Json]], ...] = (
    (bool, "boolValue", bool),  # before numbers: True is an int in Python
    (int, "intValue", str),
    (float, "doubleValue", _number),
)
"""Fields of values by their type, each with the function that returns its JSON."""
