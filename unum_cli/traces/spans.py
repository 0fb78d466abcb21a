"""Spans as the data model of OpenTelemetry has them; times in milliseconds since 1970.

Source: OpenTelemetry Specification, "Tracing API" and "opentelemetry/proto/trace/v1/trace.proto".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

Attribute: TypeAlias = str | bool | int | Sequence[str] | Sequence[int]
Attributes: TypeAlias = Mapping[str, Attribute]


class Kind(IntEnum):
    """Kind of a span, by the number that OTLP gives it."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3


@dataclass(frozen=True, slots=True)
class Link:
    """Reference to a related span, in the same trace or another trace."""

    trace_id: str
    span_id: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """Event at one point in time during a span."""

    name: str
    at_ms: int
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Span.

    Attributes:
        trace_id: trace, 32 hexadecimal digits.
        span_id: the span, 16 hexadecimal digits.
        parent_id: span around it; empty for the root.
        name: name, the same for all spans of one kind.
        kind: role of the work in calls between services.
        from_ms: begin.
        to_ms: end; of an unfinished span, the time at which it was read.
        attributes: facts about it.
        error: name of the error that it ended with; None without one.
        events: what happened during it, in order.
        links: spans that it follows from, beside its parent.
        dropped_links: number of links that were left out.
        of_function: True for an attempt of user code, which functions with the option `opentelemetry` send, too.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    from_ms: int
    to_ms: int
    kind: Kind = Kind.INTERNAL
    attributes: Attributes = field(default_factory=dict)
    error: str | None = None
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    dropped_links: int = 0
    of_function: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """Trace of one execution.

    Attributes:
        trace_id: the trace.
        workflow: name of the workflow.
        execution: name of the execution.
        resource: facts about the workflow.
        spans: its spans, each after the span around it.
    """

    trace_id: str
    workflow: str
    execution: str
    resource: Attributes
    spans: Sequence[Span]
