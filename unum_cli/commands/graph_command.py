"""``unum graph``: draw a definition from a file, the deployed one, or an execution in its own."""

import argparse

from unum_cli.commands.command_arguments import compiled_or_failed, write_text
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import connected, definition_of, given_definition, names_workflow
from unum_cli.commands.printing import print_json
from unum_cli.picture.mermaid import mermaid
from unum_cli.picture.svg import draw
from unum_runtime.errors import UnumError
from unum_runtime.model.ir import Workflow


def run(options: argparse.Namespace) -> None:
    """Print the picture, or write it to a file.

    Raises:
        UsageError: unreadable file, or neither a file nor a workflow.
        CommandFailed: problems in the definition, unknown execution, no stored definition, or an unwritable picture.
    """
    picture = _picture(options)
    if options.output:
        write_text(options.output, picture)
    if options.json:
        print_json({"output": options.output} if options.output else {"picture": picture})
    elif not options.output:
        print(picture, end="")


def _picture(options: argparse.Namespace) -> str:
    if not names_workflow(options):
        if options.file is None or options.execution is not None:
            raise UsageError("expected FILE; or --stack STACK, or --table TABLE and --workflow NAME, of a workflow")
        return _drawn(compiled_or_failed(options.file, options.name), options)
    try:
        return _deployed_picture(options)
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _deployed_picture(options: argparse.Namespace) -> str:
    """Return the picture of the deployed definition, or of an execution."""
    client = connected(options)
    if options.execution is None:
        return _drawn(given_definition(options, client) or client.deployed_definition(), options)
    definition = definition_of(options, client)
    if options.format == "mermaid":
        return mermaid(definition)
    # Status before steps, as in `unum watch`: the steps of an ended execution are complete.
    description = client.describe(options.execution)
    subtitle = f"execution {description.name}, {description.status.lower()}"
    return draw(definition, progress=client.progress(options.execution, definition), subtitle=subtitle)


def _drawn(workflow: Workflow, options: argparse.Namespace) -> str:
    return mermaid(workflow) if options.format == "mermaid" else draw(workflow)
