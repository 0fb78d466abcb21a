"""``unum map-runs``: print the progress of the Map Runs of an execution."""

import argparse
from dataclasses import asdict
from datetime import datetime

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, definition_of
from unum_cli.commands.printing import print_json
from unum_runtime.client.reading.map_runs import Counts, MapRun
from unum_runtime.errors import UnumError
from unum_runtime.model.ir import Json


def run(options: argparse.Namespace) -> None:
    """Print one line for each Map Run, or a JSON array.

    Raises:
        UsageError: unreadable file, or unknown workflow.
        CommandFailed: unknown execution, no stored definition, version other than the file's, or AWS error.
    """
    client = connected(options)
    try:
        runs = client.map_runs(options.execution, definition_of(options, client))
    except UnumError as error:
        raise CommandFailed(str(error)) from error
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
