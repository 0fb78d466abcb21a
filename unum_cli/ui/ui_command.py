"""``unum ui``: a page on localhost that shows the executions of deployed workflows."""

import argparse
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from unum_cli.aws.session import Session
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import client_at, located, names_workflow, needing_boto3, session_of, stack_failure
from unum_cli.commands.printing import print_json
from unum_cli.commands.stack import Deployed, all_deployed
from unum_cli.logs.search import LogSearch
from unum_cli.ui.directory import Address, Directory, Place
from unum_client.client import Client
from unum_runtime.wire.call_errors import call_errors

NO_STACK = "-"


def run(options: argparse.Namespace) -> None:
    """Print the page's URL, and serve the page until Ctrl-C.

    Raises:
        UsageError: unknown workflow.
        CommandFailed: packages are missing, the port is in use, or AWS error.
    """
    try:
        from unum_cli.ui.guard import (  # noqa: PLC0415 - the packages of a web server are an extra
            OneTimeCode,
            Secrets,
            opened,
        )
        from unum_cli.ui.page_server import open_socket, server_of  # noqa: PLC0415 - the same
        from unum_cli.ui.site import Site  # noqa: PLC0415 - the same
    except ImportError as error:
        raise CommandFailed(f"{error}; the page needs more packages: pip install 'unum-cli[ui]'") from error
    directory = _directory(options)
    directory.places()  # a wrong name is an error of the command, not of the page
    try:
        bound = open_socket(options.port)
    except OSError as error:
        raise CommandFailed(
            f"--port {options.port}: {error.strerror}; choose another one, or 0 for a free one"
        ) from error
    code = OneTimeCode() if options.open else None
    secrets = Secrets(bound.getsockname()[1], code=code)
    _announce(secrets.url, options)
    server = server_of(Site(directory, secrets, options.allow_changes))
    with opened(secrets.url_with(code)) if code else nullcontext():
        server.run(sockets=[bound])


def _announce(url: str, options: argparse.Namespace) -> None:
    if options.json:
        print_json({"url": url})
    else:
        print(url, flush=True)


def _directory(options: argparse.Namespace) -> Directory:
    """Return the workflows that `options` name, or those of all stacks."""
    with needing_boto3():
        session = session_of(options)
    if options.table is not None and not names_workflow(options):
        raise UsageError("--table: expected the workflow's name as well; add --workflow NAME")

    made: dict[Address, tuple[Deployed, Place]] = {}

    def listed() -> Mapping[Address, Place]:
        found = _found(session, options)
        for address, one in found.items():
            if made.get(address, (None,))[0] != one:  # new, or deployed again elsewhere
                made[address] = (one, _place(address, one, session, options))
        return {address: place for address, (_, place) in made.items() if address in found}

    return Directory(listed)


def _place(address: Address, found: Deployed, session: Session, options: argparse.Namespace) -> Place:
    connect = partial(_connected, found, session, options)
    return Place(*address, connect=connect, search=partial(LogSearch.by, session=session))


def _found(session: Session, options: argparse.Namespace) -> Mapping[Address, Deployed]:
    if options.table is not None or (options.stack is not None and options.workflow is not None):
        one = located(session, options)
        return {(options.stack or NO_STACK, one.workflow): one}
    return {(stack, one.workflow): one for stack, one in _in_stacks(session, options.stack)}


def _in_stacks(session: Session, stack: str | None) -> list[tuple[str, Deployed]]:
    """Return the workflows of a stack, or of all stacks.

    Raises:
        UsageError: unknown stack.
        CommandFailed: AWS refused to describe stacks.
    """
    with needing_boto3():
        pages = session.boto3.client("cloudformation").get_paginator("describe_stacks")
    found: list[tuple[str, Deployed]] = []
    try:
        for page in pages.paginate() if stack is None else pages.paginate(StackName=stack):
            for each in page["Stacks"]:
                outputs = {output["OutputKey"]: output["OutputValue"] for output in each.get("Outputs", ())}
                found += [(each["StackName"], one) for one in all_deployed(outputs)]
    except call_errors() as error:
        raise stack_failure(stack or "(all)", error) from error
    return found


def _connected(found: Deployed, session: Session, options: argparse.Namespace) -> Client:
    client = client_at(found, session)
    # What only changes something is not even connected.
    return client if options.allow_changes else replace(client, starts=None, tasks=None)
