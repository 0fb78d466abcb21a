"""``unum diff``: show the effect of a deployment on running executions."""

import argparse
from dataclasses import asdict
from pathlib import Path

from unum_cli.commands.command_arguments import compiled_or_failed
from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import connected, names_workflow
from unum_compiler.analysis.changes import Effect, changes, with_values_of
from unum_runtime.errors import UnumError
from unum_runtime.json_text import to_readable
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER

_REMEDY = (
    "executions that run on OLD can fail: remove in two deployments, the first without the way in, the second when all "
    "executions of OLD have ended"
)


def run(options: argparse.Namespace) -> None:
    """Print the changes.

    Raises:
        UsageError: unreadable file, or not the definitions that the other options ask for.
        CommandFailed: problems in a definition, none stored, or a change that breaks running executions.
    """
    old, new = _deployed_and_new(options) if names_workflow(options) else _both(options)
    found = changes(old, with_values_of(old, new))
    if options.format == "json":
        print(to_readable([asdict(change) for change in found], indent=2))
    else:
        print("\n".join(map(str, found)))
    if any(change.effect is Effect.BREAKS for change in found):
        raise CommandFailed(_REMEDY)


def _both(options: argparse.Namespace) -> tuple[Workflow, Workflow]:
    """Return the definitions in the files OLD and NEW."""
    if options.old is None or options.execution is not None:
        raise UsageError("expected OLD and NEW; or NEW and --stack STACK, or --table TABLE and --workflow NAME")
    return _in_file(options.old, options.name), _in_file(options.new, options.name)


def _deployed_and_new(options: argparse.Namespace) -> tuple[Workflow, Workflow]:
    """Return the deployed definition, or an execution's, and the one in the file NEW.

    Raises:
        CommandFailed: no definition is stored, or AWS error.
    """
    if options.old is not None:
        raise UsageError(f"expected NEW alone, because the workflow's store has OLD; got {options.old} as well")
    try:
        client = connected(options)
        old = client.definition(options.execution) if options.execution else client.deployed_definition()
    except UnumError as error:
        raise CommandFailed(str(error)) from error
    return old, _in_file(options.new, client.workflow)


def _in_file(file: str, name: str) -> Workflow:
    return in_assembly(file, name) if is_assembly(file) else compiled_or_failed(file, name)


def is_assembly(path: str) -> bool:
    """Return True if `path` is a folder."""
    return Path(path).is_dir()


def in_assembly(folder: str, name: str) -> Workflow:
    """Return the definition of workflow `name` in the assembly `folder`.

    Raises:
        UsageError: the folder has no definition of that name, or several.
    """
    # Layers of several Pythons and runtimes contain equal definitions.
    found = {path.read_text(encoding="utf-8") for path in Path(folder).rglob(f"{WORKFLOWS_FOLDER}/{name}.json")}
    if len(found) != 1:
        raise UsageError(
            f"{folder}: expected one definition of workflow {name!r} in its files, found {len(found)}; run "
            "`cdk synth` into an empty folder, and give that"
        )
    return Workflow.from_json(found.pop())
