"""``unum trace``: print the trace of a deployed execution as text, or send it to a collector."""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, given_definition, relatives
from unum_cli.commands.printing import print_json
from unum_cli.traces.conventions import STATUS, UNFINISHED
from unum_cli.traces.exporter import Exporter, batches, document, settings
from unum_cli.traces.family import Family
from unum_cli.traces.spans import Span, Trace
from unum_client.boto3_shapes.arns import Arns, home_of
from unum_client.client import Client
from unum_client.terminal.amounts import aligned, duration_text
from unum_runtime.errors import UnumError


def run(options: argparse.Namespace) -> None:
    """Print the trace as a tree or as JSON, or send it.

    Raises:
        UsageError: unreadable file, unknown workflow, or invalid settings of the collector.
        CommandFailed: unknown execution, no stored definition, AWS error, or a collector that refuses spans.
    """
    # Wrong settings need no AWS request to be reported.
    exporter = None if options.otlp is None else Exporter(settings(options.otlp, os.environ), time.sleep)
    client = connected(options)
    try:
        name = Arns(client.workflow, home_of(client.start_alias)).name_of(options.execution)
        traces = [*_family(client, options).traces(client, name, given_definition(options, client))]
        if options.without_user_code:
            traces = [_without_user_code(each) for each in traces]
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    if exporter is not None:
        exporter.send(batches(traces))
        _report(traces, exporter.settings.url, as_json=options.json)
    elif options.json:
        print_json(document(traces))
    else:
        print("\n\n".join("\n".join(tree(trace)) for trace in traces))


def _without_user_code(trace: Trace) -> Trace:
    """Return `trace` without the spans that functions with the option `opentelemetry` send themselves."""
    return replace(trace, spans=[span for span in trace.spans if not span.of_function])


def _report(traces: list[Trace], url: str, *, as_json: bool) -> None:
    """Print what was sent."""
    if as_json:
        sent = [{"traceId": each.trace_id, "execution": each.execution, "spans": len(each.spans)} for each in traces]
        print_json({"url": url, "sent": sent})
        return
    for each in traces:
        print(f"{each.trace_id}  {each.workflow}/{each.execution}  {len(each.spans)} spans")


def _family(client: Client, options: argparse.Namespace) -> Family:
    """Return a reader of the execution and its relatives, in its stack or else in its table."""
    return Family(*relatives(client, options), _warn)


def _warn(text: str) -> None:
    print(text, file=sys.stderr)


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
    """Return a branch's number; its steps follow below."""
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
