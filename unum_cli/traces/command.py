"""``unum trace``: print the trace of a deployed execution, or send it to a collector."""

import argparse
import os
import sys
import time
from dataclasses import replace

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, given_definition, relatives
from unum_cli.commands.printing import print_json
from unum_cli.traces.exporter import Exporter
from unum_cli.traces.family import Family
from unum_cli.traces.settings import settings
from unum_cli.traces.spans import Trace
from unum_cli.traces.trace_requests import batches, document
from unum_cli.traces.tree import tree
from unum_client.boto3_shapes.arns import Arns, home_of
from unum_client.client import Client
from unum_runtime.errors import UnumError


def run(options: argparse.Namespace) -> None:
    """Print the trace as a tree or as JSON, or send it.

    Raises:
        UsageError: unreadable file, unknown workflow, or invalid settings of the collector.
        CommandFailed: unknown execution, no stored definition, AWS error, or a collector that refuses spans.
    """
    # Wrong settings need no AWS call to be reported.
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
    """Return what reads the execution and its relatives: in the same stack, else in the same table."""
    return Family(*relatives(client, options), _warn)


def _warn(text: str) -> None:
    print(text, file=sys.stderr)
