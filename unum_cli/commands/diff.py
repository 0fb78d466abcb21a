"""``unum diff``: show the effect of a deployment on running executions."""

import argparse
import json
from dataclasses import asdict

from unum_cli.commands.arguments import compiled_or_failed
from unum_cli.commands.command_errors import CommandFailed
from unum_compiler.analysis.changes import Change, Effect, changes

_REMEDY = (
    "executions that run on OLD can fail: remove in two deployments, the first without the way in, the second when all "
    "executions of OLD have ended"
)


def run(options: argparse.Namespace) -> None:
    """Print the changes.

    Raises:
        UsageError: unreadable file.
        CommandFailed: problems in a definition, or a change that breaks running executions.
    """
    name = options.name
    found = changes(compiled_or_failed(options.old, name), compiled_or_failed(options.new, name))
    if options.format == "json":
        print(json.dumps([asdict(change) for change in found], indent=2, ensure_ascii=False))
    else:
        print("\n".join(map(_line, found)))
    if any(change.effect is Effect.BREAKS for change in found):
        raise CommandFailed(_REMEDY)


def _line(change: Change) -> str:
    return f"{change.effect:<9}  {change.subject}: {change.message}"
