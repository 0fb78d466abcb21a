"""Fields of the IR that the Amazon States Language lacks."""

from collections.abc import Mapping
from dataclasses import replace

from unum_compiler.frontends.ir_check import is_pure, workflow_problems
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import FanOut, Json, State, Workflow


def with_extensions(workflow: Workflow, extensions: Mapping[str, Mapping[str, Json]]) -> Workflow:
    """Return `workflow` extended by IR fields, keyed by state name.

    Raises:
        DefinitionError: with every field that its state cannot have, and its path in the IR.
    """
    if not extensions:
        return workflow
    states = {name: replace(state, **extensions.get(name, {})) for name, state in workflow.states.items()}
    extended = replace(workflow, states=states)
    result = replace(extended, states={name: _with_purity(state, extended) for name, state in states.items()})
    problems = tuple(workflow_problems(result))
    if problems:
        raise DefinitionError(problems)
    return result


def _with_purity(state: State, workflow: Workflow) -> State:
    """Return `state` with recomputed `pure`: quorums prevent purity."""
    return replace(state, pure=is_pure(workflow, state)) if isinstance(state, FanOut) else state
