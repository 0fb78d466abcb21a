"""Make the folders that a layer leaves out unimportable, as they are in its functions."""

import sys
from dataclasses import replace

import pytest

from unum_constructs.layer.content import runtime_folder
from unum_constructs.layer.features import LayerFacts, unused_folders
from unum_simulator import Scenario


def leave_out_unused(patch: pytest.MonkeyPatch, scenario: Scenario) -> None:
    """Make imports fail of all modules that the layer of a scenario's workflow lacks, loaded before or not."""
    workflow = replace(scenario.workflow, collection=scenario.collection)
    runtime = runtime_folder()
    for folder in unused_folders(LayerFacts(workflow)):
        for path in (runtime / folder).rglob("*.py"):
            parts = path.relative_to(runtime.parent).with_suffix("").parts
            patch.setitem(sys.modules, ".".join(parts[:-1] if parts[-1] == "__init__" else parts), None)
