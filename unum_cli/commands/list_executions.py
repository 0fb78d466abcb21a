"""``unum list``: print the executions of a deployed workflow, newest first."""

import argparse
import json
from collections.abc import Iterator
from itertools import chain, islice

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected
from unum_cli.commands.printing import to_json
from unum_runtime.client.client import Client
from unum_runtime.client.reading.execution_list import ListedExecution
from unum_runtime.client.reading.page_tokens import LARGEST_PAGE
from unum_runtime.client.terminal.amounts import duration_text, time_text
from unum_runtime.errors import UnumError
from unum_runtime.model.checkpoint import Status

_ROW = "{:24}  {:9}  {:>9}  {}"


def run(options: argparse.Namespace) -> None:
    """Print one line for each execution, as pages arrive.

    Raises:
        UsageError: unknown workflow.
        CommandFailed: table without an index for lists, or AWS error.
    """
    status = None if options.status is None else Status(options.status)
    try:
        found = islice(_executions(connected(options), status, options.limit), options.limit)
        if options.json:
            for execution in found:
                print(json.dumps(to_json(execution)))
        else:
            _print_table(found)
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _executions(client: Client, status: Status | None, limit: int) -> Iterator[ListedExecution]:
    page = client.list(status, limit=min(limit, LARGEST_PAGE))
    yield from page.executions
    while page.token is not None:
        page = client.list(status, limit=min(limit, LARGEST_PAGE), token=page.token)
        yield from page.executions


def _print_table(executions: Iterator[ListedExecution]) -> None:
    first = [*islice(executions, 1)]  # nothing is printed if AWS has nothing to say
    print(_ROW.format("STARTED", "STATUS", "AFTER", "NAME"))
    for each in chain(first, executions):
        print(_ROW.format(time_text(each.started_at), each.status, _lasted(each), each.name))


def _lasted(execution: ListedExecution) -> str:
    if execution.stopped_at is None:
        return "-"
    return duration_text(int((execution.stopped_at - execution.started_at).total_seconds() * 1000))
