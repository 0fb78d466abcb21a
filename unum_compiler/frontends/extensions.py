"""Fields of the IR that the Amazon States Language lacks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from unum_compiler.checks.differences import Difference
from unum_compiler.frontends.ir_check import is_pure, workflow_problems
from unum_compiler.problems import Report
from unum_runtime.asl.places import member
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import FanOut, Json, State

_MAP = "branches of a Map do not wait for each other in Step Functions; run the later step after the Map"
_REASONS = {
    "after_previous": _MAP,
    "left_out": "all branches of a Map run the same states in Step Functions; put a Choice before the state",
    "meets_previous": _MAP,
    "needs": "branches of a Parallel do not wait for each other in Step Functions; nest Parallel states instead",
    "quorum": "a Parallel or Map of Step Functions waits for all its branches; leave the number out",
}


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


def refuse_extensions(extensions: Mapping[str, Mapping[str, Json]]) -> None:
    """Raise DefinitionError for every field in `extensions`, which Step Functions lacks."""
    report = Report()
    for name, fields in extensions.items():
        for field in fields:
            place = member(member("$.states", name), field)
            report.differs(place, Difference.EXTENSION, _REASONS.get(field, "Step Functions has no such state"))
    report.raise_problems(None)


def refuse_ir() -> NoReturn:
    """Raise DefinitionError: compiled definitions are no definitions of Step Functions."""
    reason = "Step Functions has no such definition; compile one in the Amazon States Language"
    raise DefinitionError(
        (Problem("$", f'{Difference.IR}: refused by compatibility="strict"; {reason}', Difference.IR),)
    )


def _with_purity(state: State, workflow: Workflow) -> State:
    """Return `state` with recomputed `pure`: quorums and regions prevent purity."""
    return replace(state, pure=is_pure(workflow, state)) if isinstance(state, FanOut) else state
