"""Definitions in a cloud assembly, the output of ``cdk synth``."""

from pathlib import Path

from unum_cli.commands.command_errors import UsageError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER


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
