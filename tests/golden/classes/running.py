"""Runs of generated definitions."""

from typing import Any

from tests.golden import adapter
from tests.golden.classes.jsonpath_fields import Failed
from unum_runtime.clock import SkippingClock
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow


def _echo(event: Json, _context: Any) -> Json:
    return event


def ended(definition: Json, value: Json) -> Json | Failed:
    """Return the output of an execution with Tasks that return their event, or its error."""
    workflow = adapter.compiled(definition)
    tasks = {task.name: _echo for task in workflow.tasks}
    ending = adapter.described(LocalWorkflow(workflow, tasks, clock=SkippingClock()).run("generated", value))
    return ending["output"] if ending["status"] == "SUCCEEDED" else Failed(str(ending["error"]))
