"""``unum memo``: list, show and forget results that executions share."""

import argparse
from collections.abc import Iterator
from itertools import chain, islice

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import connected
from unum_cli.commands.printing import print_json, to_json
from unum_client.client import Client
from unum_client.reading.page_tokens import LARGEST_PAGE
from unum_client.remembered_results import RememberedResult
from unum_client.terminal.amounts import time_text
from unum_runtime.errors import UnumError

_ROW = "{:64}  {:24}  {:24}  {}"


def run(options: argparse.Namespace) -> None:
    """Execute the action in ``options.action``.

    Raises:
        UsageError: unknown workflow, or an action without its options.
        CommandFailed: unknown Task or result, or AWS error.
    """
    if options.stack is None and options.control_alias is None:
        raise UsageError("--control-alias: expected the ARN of the control function, got nothing; or give --stack")
    if options.action != "list" and options.step is None:
        raise UsageError("--step: expected the Task whose results are meant, got nothing")
    if (options.action == "show" or (options.action == "forget" and not options.all)) == (options.key is None):
        raise UsageError("--key: expected the name of a result, as `unum memo list` prints it; or forget --all")
    try:
        _ACTIONS[options.action](connected(options), options)
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _list(client: Client, options: argparse.Namespace) -> None:
    found = islice(_results(client, options), options.limit)
    if options.json:
        print_json([to_json(each) for each in found])
        return
    first = [*islice(found, 1)]  # nothing is printed if AWS has nothing to say
    print(_ROW.format("KEY", "STORED", "UNTIL", "STEP AND EVENT"))
    for each in chain(first, found):
        times = ["-" if at is None else time_text(at) for at in (each.at, each.until)]
        print(_ROW.format(each.key, *times, f"{', '.join(each.states)} {each.of}"))


def _results(client: Client, options: argparse.Namespace) -> Iterator[RememberedResult]:
    limit = min(options.limit, LARGEST_PAGE)
    page = client.remembered(options.step, limit=limit)
    yield from page.results
    while page.token is not None:
        page = client.remembered(options.step, limit=limit, token=page.token)
        yield from page.results


def _show(client: Client, options: argparse.Namespace) -> None:
    result = client.remembered_result(options.step, options.key)
    print_json(to_json(result) if options.json else result.value)


def _forget(client: Client, options: argparse.Namespace) -> None:
    forgotten = client.forget(options.step, options.key)
    if options.json:
        print_json({"step": options.step, "forgotten": forgotten})
    else:
        print(f"{forgotten} results of {options.step} forgotten")


_ACTIONS = {"list": _list, "show": _show, "forget": _forget}
