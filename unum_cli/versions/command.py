"""Command ``unum versions``: list published function versions, delete unneeded ones."""

import argparse
from collections.abc import Sequence

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import client_at, located, needing_boto3, session_of
from unum_cli.commands.printing import print_json
from unum_cli.commands.stack import Deployed
from unum_cli.versions.stored_versions import Functions, Search, StoredVersion
from unum_client.client import Client
from unum_runtime.errors import UnumError
from unum_runtime.functions.function_versions import function_of

_ROW = "{:>7}  {:>12}  {:40}  {}"


def run(options: argparse.Namespace) -> None:
    """Execute the action in ``options.action``.

    Raises:
        UsageError: unknown workflow.
        CommandFailed: AWS error, or executions whose versions are unknown.
    """
    if options.stack is None and (options.start_alias is None or options.control_alias is None):
        raise UsageError("--start-alias, --control-alias: expected both ARNs, got nothing; or give --stack STACK")
    if options.action == "list" and options.yes:
        raise UsageError("--yes: only `unum versions prune` deletes; remove it")
    with needing_boto3():
        session = session_of(options)
        found = located(session, options)
        functions = Functions(session.boto3.client("lambda"))

        def client(workflow: str, table: str) -> Client:
            same = workflow == found.workflow
            return client_at(found if same else Deployed(workflow=workflow, table=table, start_alias=None), session)

        roots = [function_of(each) for each in (found.start_alias, found.control_alias) if each]
        search = Search(functions, found.workflow, tuple(dict.fromkeys(roots)), client, options.keep)
    try:
        versions = search.versions()
        shown = versions if options.action == "list" else [each for each in versions if not each.needed_by]
        for each in shown if options.yes else ():
            functions.delete(each)
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    _print(shown, options)


def _print(versions: Sequence[StoredVersion], options: argparse.Namespace) -> None:
    size = sum(each.size for each in versions)
    is_pruning = options.action == "prune"
    if options.json:
        shown = [
            {
                "function": each.function,
                "version": each.version,
                "bytes": each.size,
                "needed_by": each.needed_by or None,
            }
            for each in versions
        ]
        print_json({"versions": shown, "bytes": size, "deleted": is_pruning and options.yes})
        return
    print(_ROW.format("VERSION", "BYTES", "FUNCTION", "NEEDED BY"))
    for each in versions:
        print(_ROW.format(each.version, f"{each.size:,}", each.function.rpartition(":")[2], each.needed_by or "-"))
    if not is_pruning:
        print(f"{len(versions)} versions, {size:,} bytes")
    elif options.yes:
        print(f"{len(versions)} versions deleted, {size:,} bytes freed")
    else:
        print(f"{len(versions)} versions would be deleted, and {size:,} bytes freed; delete them with --yes")


def _to_json(version: StoredVersion) -> dict[str, object]:
    needed_by = version.needed_by or None
    return {"function": version.function, "version": version.version, "bytes": version.size, "needed_by": needed_by}
