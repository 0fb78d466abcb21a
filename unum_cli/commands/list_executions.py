"""``unum list``: print the executions of a deployed workflow, newest first."""

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, islice

from unum_cli.commands.command_arguments import attributes_in
from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected
from unum_cli.commands.printing import attributes_text, to_json
from unum_client.client import Client
from unum_client.reading.execution_list import ListedExecution
from unum_client.reading.page_tokens import LARGEST_PAGE
from unum_client.terminal.amounts import duration_text, time_text
from unum_runtime.errors import UnumError
from unum_runtime.json_text import to_ascii
from unum_runtime.model.checkpoint import Status

_ROW = "{:24}  {:9}  {:>9}  {}"


def run(options: argparse.Namespace) -> None:
    """Print one line for each execution, as pages arrive.

    Raises:
        UsageError: unknown workflow, or malformed attribute.
        CommandFailed: table without an index for lists, or AWS error.
    """
    status, attributes = None if options.status is None else Status(options.status), attributes_in(options.attribute)
    try:
        found = islice(_executions(connected(options), status, attributes, options.limit), options.limit)
        if options.json:
            for execution in found:
                print(to_ascii(to_json(execution)))
        else:
            _print_table(found)
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _executions(
    client: Client, status: Status | None, attributes: Mapping[str, str], limit: int
) -> Iterator[ListedExecution]:
    read = partial(client.list, status, attributes=attributes, limit=min(limit, LARGEST_PAGE))
    page = read()
    yield from page.executions
    while page.token is not None:
        page = read(token=page.token)
        yield from page.executions


def _print_table(executions: Iterator[ListedExecution]) -> None:
    first = [*islice(executions, 1)]  # nothing is printed if AWS has nothing to say
    print(_ROW.format("STARTED", "STATUS", "AFTER", "NAME"))
    for each in chain(first, executions):
        about = attributes_text(each.attributes or {})
        print(_ROW.format(time_text(each.started_at), each.status, _lasted(each), f"{each.name}  {about}".rstrip()))


def _lasted(execution: ListedExecution) -> str:
    if execution.stopped_at is None:
        return "-"
    return duration_text(int((execution.stopped_at - execution.started_at).total_seconds() * 1000))
