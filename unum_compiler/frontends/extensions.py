"""Fields of the IR for which the Amazon States Language has no words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from unum_compiler.frontends.ir_check import is_pure, workflow_problems
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import FanOut, Json, State, Workflow


def extended(workflow: Workflow, extensions: Mapping[str, Mapping[str, Json]]) -> Workflow:
    """`workflow` with `extensions`, which are fields by the name of their state.

    Raises:
        DefinitionError: with every one that its state cannot have, and its path in the IR.
    """
    if not extensions:
        return workflow
    extending = replace(
        workflow, states={name: _extended(state, extensions) for name, state in workflow.states.items()}
    )
    result = replace(extending, states={name: _settled(state, extending) for name, state in extending.states.items()})
    problems = tuple(workflow_problems(result))
    if problems:
        raise DefinitionError(problems)
    return result


def _extended(state: State, extensions: Mapping[str, Mapping[str, Any]]) -> State:
    return replace(state, **extensions[state.name]) if state.name in extensions else state


def _settled(state: State, workflow: Workflow) -> State:
    """`state` with what follows from the extensions: a fan-out of which some branches are enough is not pure."""
    return replace(state, pure=is_pure(workflow, state)) if isinstance(state, FanOut) else state
