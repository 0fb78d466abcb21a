"""Traces as text: a line for each span, indented by its depth."""

from collections.abc import Iterator

from unum_cli.traces.conventions import STATUS, UNFINISHED
from unum_cli.traces.spans import Span, Trace
from unum_client.terminal.amounts import duration_text
from unum_client.terminal.columns import aligned

HEADINGS = ("SPAN", "BEGAN", "DURATION", "STATUS", "NOTES")
_RIGHT = frozenset({"BEGAN", "DURATION"})


def tree(trace: Trace) -> Iterator[str]:
    """Yield the lines of a trace."""
    yield f"trace {trace.trace_id} of {trace.workflow}/{trace.execution}"
    depths: dict[str, int] = {}
    rows: list[tuple[str, ...]] = [HEADINGS]
    for span in trace.spans:
        depth = depths[span.span_id] = depths.get(span.parent_id, -1) + 1
        rows.append(_row(span, depth, trace.spans[0].from_ms))
    yield from aligned(rows, _RIGHT)


def _row(span: Span, depth: int, from_ms: int) -> tuple[str, ...]:
    lasted = duration_text(span.to_ms - span.from_ms)
    return (
        "  " * depth + span.name + _index(span),
        duration_text(span.from_ms - from_ms),
        f"{lasted}+" if span.attributes.get(UNFINISHED) else lasted,
        str(span.attributes.get(STATUS, "failed" if span.error is not None else "")).lower(),
        ", ".join(_notes(span)),
    )


def _index(span: Span) -> str:
    """Return the number of a branch; its steps are below it."""
    found = span.attributes.get("unum.index")
    is_branch = isinstance(found, list) and "unum.invocation" not in span.attributes
    return f" {found[-1]}" if is_branch and isinstance(found, list) else ""


def _notes(span: Span) -> Iterator[str]:
    if span.error is not None:
        yield span.error
    if "unum.note" in span.attributes:
        yield f"waits {span.attributes['unum.note']}" if span.attributes[STATUS] == "waiting" else "not committed yet"
    if "unum.caught.next" in span.attributes:
        yield f"continues at {span.attributes['unum.caught.next']}"
    if span.events:
        yield f"{len(span.events)} {span.events[0].name.removeprefix('unum.')} event{'s' * (len(span.events) > 1)}"
    if span.attributes.get("faas.coldstart"):
        yield "cold sandbox"
    counts: dict[str, int] = {}
    for link in span.links:
        relation = str(link.attributes.get("unum.link", "link"))
        counts[relation] = counts.get(relation, 0) + 1
    if span.dropped_links:
        counts["fan-in"] = counts.get("fan-in", 0) + span.dropped_links
    for relation, count in counts.items():
        yield f"fan-in of {count}" if relation == "fan-in" else f"link: {relation}"
