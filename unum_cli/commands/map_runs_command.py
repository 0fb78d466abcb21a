"""``unum map-runs`` and ``children``: Map Runs of an execution, and the child executions of distributed ones."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, definition_of
from unum_cli.commands.printing import child_json, child_line, print_child, print_json
from unum_client.reading.child_executions import ChildExecution
from unum_client.reading.map_runs import Counts, MapRun
from unum_runtime.errors import UnumError
from unum_runtime.model.states import Json


def run(options: argparse.Namespace) -> None:
    """Execute the command in ``options.command``.

    Raises:
        UsageError: unreadable file, or unknown workflow.
        CommandFailed: unknown execution or child, no stored definition, version other than the file's, or AWS error.
    """
    client = connected(options)
    try:
        if options.command == "children":
            _print_children(client.children(options.execution, definition_of(options, client)), options)
        else:
            _print_runs(client.map_runs(options.execution, definition_of(options, client)), options)
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _print_runs(runs: Sequence[MapRun], options: argparse.Namespace) -> None:
    if options.json:
        print_json([_plain(each) for each in runs])
    else:
        for each in runs:
            print(_line(each))


def _plain(run: MapRun) -> Json:
    shown = asdict(run) | {"items": _totalled(run.items), "branches": _totalled(run.branches)}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in shown.items()}


def _totalled(counts: Counts) -> Json:
    return asdict(counts) | {"total": counts.total}


def _line(run: MapRun) -> str:
    where = f"{run.state}[{'.'.join(map(str, run.index))}]" if run.index else run.state
    again = f", try {run.generation + 1}" if run.generation else ""
    counts = ", ".join(f"{count} {name}" for name, count in asdict(run.items).items() if count)
    batches = "" if run.items.total == run.branches.total else f" in {run.branches.total} batches"
    return f"{where}{again}: {run.status}, {run.items.total} in all{batches}: {counts}"


def _print_children(children: Sequence[ChildExecution], options: argparse.Namespace) -> None:
    if options.child is not None:
        print_child(_named(children, options.child), as_json=options.json)
    elif options.json:
        print_json([child_json(each) for each in children])
    else:
        for each in children:
            print(child_line(each))


def _named(children: Sequence[ChildExecution], name: str) -> ChildExecution:
    for each in children:
        if each.name == name:
            return each
    raise CommandFailed(f"--child: expected one of {len(children)} begun child executions, got {name!r}; list them")
