"""States with their programs: made once for a workflow, in every sandbox."""

from collections.abc import Mapping
from functools import lru_cache

from unum_runtime.asl.languages import program
from unum_runtime.asl.program import Program
from unum_runtime.model.ir import State, Workflow


def compiled(workflow: Workflow, state: State) -> Program:
    """What the fields of `state` of `workflow` compile to; each compiles itself when it is first used."""
    return _programs(workflow)[state.name]


@lru_cache(maxsize=64)
def _programs(workflow: Workflow) -> Mapping[str, Program]:
    return {name: program(state) for name, state in workflow.states.items()}
