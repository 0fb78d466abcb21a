"""Single states, each compiled inside the smallest state machine that can hold it."""

from collections.abc import Iterator

from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json

NAME = "StateName"
"""What Step Functions calls a state that has no name."""


def workflow_around(definition: Json, name: str | None, *, machine: str = "tested") -> tuple[Workflow, str]:
    """Return a workflow that contains the state under test, and the name of the state.

    Args:
        definition: a state, or a whole state machine that contains state `name`.
        name: name of the state in the machine, at any depth; None for a single state.
        machine: name of the workflow.

    Raises:
        DefinitionError: with every problem of the definition; JSON paths include the machine around the state.
    """
    whole = _around(definition) if name is None else definition
    workflow = Definition.from_asl(whole).compile(machine, None)
    found = NAME if name is None else name
    if found not in workflow.states:
        known = ", ".join(sorted(workflow.states))
        raise DefinitionError((Problem("$.States", f"there is no state {found!r}; there are: {known}"),))
    return workflow, found


def _around(state: Json) -> Json:
    """Return a machine that starts with `state` and ends at each of its targets."""
    if not isinstance(state, dict):
        raise DefinitionError((Problem("$", "expected an object with the definition of a state, or of a machine"),))
    if "StartAt" in state:
        raise DefinitionError((Problem("$", "this is a state machine; say which of its states is to be tested"),))
    ends = {target: {"Type": "Succeed"} for target in _targets(state) if target != NAME}
    return {"StartAt": NAME, "States": {NAME: state, **ends}}


def _targets(state: dict[str, Json]) -> Iterator[str]:
    rules = [rule for field in ("Choices", "Catch") for rule in _objects(state.get(field))]
    named = [state.get("Next"), state.get("Default"), *(rule.get("Next") for rule in rules)]
    yield from (name for name in named if isinstance(name, str))


def _objects(value: Json) -> list[dict[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
