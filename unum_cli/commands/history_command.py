"""``unum history`` and ``verify``: print events of a deployed execution, or faults of its stored history."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, definition_of, given_definition
from unum_cli.commands.printing import print_json
from unum_client.boto3_shapes.arns import Arns, home_of
from unum_client.client import Client
from unum_client.events.journal import HistoryEvent
from unum_client.stepfunctions import StepFunctionsClient
from unum_client.terminal.amounts import aligned, duration_text
from unum_client.verification.findings import Finding
from unum_runtime.errors import UnumError
from unum_runtime.model.states import Json

HEADINGS = ("ID", "PREVIOUS", "AFTER", "EVENT", "INDEX", "STATE", "ERROR")
_RIGHT = frozenset({"ID", "PREVIOUS", "AFTER"})


def run(options: argparse.Namespace) -> None:
    """Execute the command in ``options.command``.

    Raises:
        UsageError: unreadable file, or unknown workflow.
        CommandFailed: unknown execution, no stored definition, version other than the file's, faults, or AWS error.
    """
    client = connected(options)
    try:
        if options.command == "verify":
            _verify(client, options)
        else:
            _print_events(_events(client, options), options)
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _print_events(events: list[HistoryEvent], options: argparse.Namespace) -> None:
    """Print a table, or JSON as ``aws stepfunctions get-execution-history`` prints it."""
    if options.json:
        print_json({"events": [_plain(event) for event in events]})
    else:
        print("\n".join(aligned([HEADINGS, *_rows(events)], _RIGHT)))


def _events(client: Client, options: argparse.Namespace) -> list[HistoryEvent]:
    """Return events of the execution named in `options`, by name or ARN."""
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


def _verify(client: Client, options: argparse.Namespace) -> None:
    """Print faults of the stored history, each with place and remedy.

    Raises:
        CommandFailed: faults were found.
    """
    if options.retention is not None:
        client = replace(client, retention_s=options.retention)
    found = client.verify(options.execution, given_definition(options, client))
    if options.json:
        print_json({"name": found.execution, "steps": found.steps, "faults": [*map(_fault, found.findings)]})
    else:
        for each in found.findings:
            print(each)
        for remedy in dict.fromkeys(each.remedy for each in found.findings):
            print(f"remedy: {remedy}")
    if found.findings:
        raise CommandFailed(f"execution {found.execution}: {len(found.findings)} faults in {found.steps} commits")
    if not options.json:
        print(f"execution {found.execution}: {found.steps} commits, nothing is wrong")


def _fault(found: Finding) -> Json:
    return {"rule": str(found.rule), "place": found.place, "found": found.found, "remedy": found.remedy}
