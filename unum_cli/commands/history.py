"""``unum history``: print the events of a deployed execution."""

import argparse
from collections.abc import Iterator
from datetime import datetime

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, definition_of, given_definition
from unum_cli.commands.printing import print_json
from unum_runtime.client.boto3_shapes.arns import Arns, home_of
from unum_runtime.client.client import Client
from unum_runtime.client.events.journal import HistoryEvent
from unum_runtime.client.stepfunctions import StepFunctionsClient
from unum_runtime.client.terminal.amounts import duration_text
from unum_runtime.client.terminal.columns import aligned
from unum_runtime.errors import UnumError
from unum_runtime.model.states import Json

HEADINGS = ("ID", "PREVIOUS", "AFTER", "EVENT", "INDEX", "STATE", "ERROR")
_RIGHT = frozenset({"ID", "PREVIOUS", "AFTER"})


def run(options: argparse.Namespace) -> None:
    """Print the events: a table, or JSON as ``aws stepfunctions get-execution-history`` prints it.

    Raises:
        UsageError: unreadable file, or unknown workflow.
        CommandFailed: unknown execution, no stored definition, version other than the file's, or AWS error.
    """
    client = connected(options)
    try:
        events = _events(client, options)
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    if options.json:
        print_json({"events": [_plain(event) for event in events]})
    else:
        print("\n".join(aligned([HEADINGS, *_rows(events)], _RIGHT)))


def _events(client: Client, options: argparse.Namespace) -> list[HistoryEvent]:
    """Return the events of the execution in `options`, a name or, as in boto3, an ARN."""
    arns, arn = Arns(client.workflow, home_of(client.start_alias)), options.execution
    if arns.child_of(arn) is not None:
        definition = given_definition(options, client)
    else:
        options.execution = arn = arns.name_of(arn)
        definition = definition_of(options, client)
    return StepFunctionsClient(client, definition=definition).events(executionArn=arn)


def _plain(event: HistoryEvent) -> dict[str, Json]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in event.items()}


def _rows(events: list[HistoryEvent]) -> Iterator[tuple[str, ...]]:
    state: dict[int, str] = {}
    for event in events:
        details: dict[str, Json] = next((event[name] for name in event if name.endswith("EventDetails")), {})
        own = event.get("unum", {})
        # What a Task does says nothing of its name; the event before it does.
        state[event["id"]] = name = details.get("name") or _inherited(event, state)
        after_ms = round((event["timestamp"] - events[0]["timestamp"]).total_seconds() * 1000)
        yield (
            str(event["id"]),
            str(event["previousEventId"] or "-"),
            ("~" if "approximate" in own else "") + duration_text(max(after_ms, 0)),
            event["type"],
            ".".join(map(str, own.get("index", ()))) or "-",
            name or "-",
            details.get("error", ""),
        )


def _inherited(event: HistoryEvent, state: dict[int, str]) -> str:
    is_own = event["type"].startswith("Execution")
    return "" if is_own else state.get(event["previousEventId"], "")
