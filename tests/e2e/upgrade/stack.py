"""Stack that each release leaves behind: the workflow that changes, and one that fans out and waits."""

import json
from pathlib import Path
from typing import Any

from constructs import Construct

from tests.e2e.versions.stack import Versions
from unum_constructs import Definition, UnumWorkflow

CROWD = Path(__file__).parent / "crowd.asl.json"
HANDLERS = {"Each": "gate", "Close": "note"}


class Upgrade(Versions):
    """Workflow "Workflow" in two definitions, and workflow "Crowd", whose branches wait for a time and at a gate."""

    def __init__(self, scope: Construct, construct_id: str, *, definition: int, code: int) -> None:
        super().__init__(scope, construct_id, definition=definition, code=code)
        asl: Any = json.loads(CROWD.read_text(encoding="utf-8"))
        functions = {key: self.new_function(self, key, handler) for key, handler in HANDLERS.items()}
        UnumWorkflow(self, "Crowd", definition=Definition.from_asl(asl), functions=functions)
