"""Applications in the formats of the original Unum: a template, and a configuration for each function."""

from collections.abc import Mapping
from pathlib import Path

from unum_compiler.frontends.files import read_file
from unum_compiler.frontends.unum.application import STATE_MACHINE, Place, all_configured, read_nodes, read_template
from unum_compiler.frontends.unum.topology import state_machine
from unum_runtime.model.states import Json


def read_application(folder: str | Path) -> tuple[Json, Mapping[str, Mapping[str, Json]]]:
    """Return the state machine of the application in `folder`, and the fields of its states that the IR has alone.

    A template may name a file in the Amazon States Language, from which the original would generate the configurations.

    Raises:
        OSError: a file cannot be read.
        DefinitionError: a file is missing or has an error; names the file and the field.
    """
    root = Path(folder)
    template, file = read_template(root)
    options = template.get("Globals") or {}
    kind, named = options.get("WorkflowType"), options.get("WorkflowDefinition")
    if named is None:
        # The original's command line also takes the definition as an argument, and writes the configurations.
        is_generated = (root / STATE_MACHINE).is_file() and not all_configured(root, template)
        if is_generated:
            return read_file(root / STATE_MACHINE), {}
        return state_machine(read_nodes(root, template, file))
    if kind != "step-functions":
        Place(file, "$.Globals.WorkflowType").refuse(f'expected "step-functions", got {kind!r}')
    if not isinstance(named, str) or not (root / named).is_file():
        Place(file, "$.Globals.WorkflowDefinition").refuse(f"expected a file such as {STATE_MACHINE!r}, got {named!r}")
    return read_file(root / named), {}
