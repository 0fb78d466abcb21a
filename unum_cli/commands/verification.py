"""``unum verify``: check the stored history of a deployed execution."""

import argparse
from dataclasses import replace

from unum_cli.commands.command_errors import CommandFailed
from unum_cli.commands.executions import connected, given_definition
from unum_cli.commands.printing import print_json
from unum_runtime.client.verification.verify import Verification
from unum_runtime.errors import UnumError
from unum_runtime.model.states import Json


def run(options: argparse.Namespace) -> None:
    """Print what is wrong, each with its place and what to do; nothing else if the history keeps all rules.

    Raises:
        UsageError: unreadable file, or unknown workflow.
        CommandFailed: something is wrong, unknown execution, or AWS error.
    """
    client = connected(options)
    if options.retention is not None:
        client = replace(client, retention_s=options.retention)
    try:
        found = client.verify(options.execution, given_definition(options, client))
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    if options.json:
        print_json(_plain(found))
    else:
        _print(found)
    if found.findings:
        raise CommandFailed(f"execution {found.execution}: {len(found.findings)} faults in {found.steps} commits")


def _plain(found: Verification) -> Json:
    faults = [
        {"rule": str(each.rule), "place": each.place, "found": each.found, "remedy": each.remedy}
        for each in found.findings
    ]
    return {"name": found.execution, "steps": found.steps, "faults": faults}


def _print(found: Verification) -> None:
    for each in found.findings:
        print(f"{each.place}: {each.rule}: {each.found}")
    for remedy in dict.fromkeys(each.remedy for each in found.findings):
        print(f"remedy: {remedy}")
    if not found.findings:
        print(f"execution {found.execution}: {found.steps} commits, nothing is wrong")
