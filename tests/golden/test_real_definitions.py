"""Definitions from public repositories, run with samples in place of their functions and services."""

from dataclasses import replace
from typing import Any

import pytest

from tests.golden import recordings
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.ir import Workflow
from unum_simulator.exploration import Violation
from unum_simulator.local import LocalWorkflow
from unum_simulator.simulation import simulate
from unum_simulator.stand_ins.modelled_services import ModelledServices

STEPS = 500
"""More than any of them needs: a loop that reaches it would not end."""

FEW_STEPS = 12
ENDLESS = "guyernest/step-functions-agent:step-functions/standard-llm.json"
"""A loop of a Task and a Map, which asks a model until it needs no tool."""
"""Enough under faults: loops of samples end nowhere, and the checks of each step look at all steps before it."""

LEAST_SUCCEEDED = 90
"""Others end in a Fail, or in a value that samples cannot know: of 132 that compile, 94 succeed."""


def compiled(definition: Any, steps: int) -> Workflow | None:
    """The workflow; None if the compiler refuses the definition."""
    try:
        return replace(Definition.from_asl(definition).compile("real", None), hop_budget=steps)
    except DefinitionError:
        return None


def executed(definition: Any, steps: int = STEPS) -> str | None:
    """The error in which an execution ends, empty after a success; None if the compiler refuses the definition."""
    workflow = compiled(definition, steps)
    if workflow is None:
        return None
    models = ModelledServices(workflow)
    outcome = LocalWorkflow(workflow, models.handlers()).run("e", models.input()).outcome
    return (outcome.error or "failed") if isinstance(outcome, Failure) else ""


@recordings.needed
@pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore")
def test_every_real_definition_runs_to_its_end() -> None:
    found = [(case["name"], executed(case["definition"])) for case in recordings.cases("corpus.jsonl")]
    ran = [(name, error) for name, error in found if error is not None]
    assert len(ran) > 130
    endless = [name for name, error in ran if error == "Unum.HopBudgetExceeded"]
    assert len(endless) <= 1, endless
    assert [error for _, error in ran].count("") >= LEAST_SUCCEEDED


@pytest.mark.long
@recordings.needed
@pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore")
def test_real_definitions_keep_the_guarantees_under_faults() -> None:
    found = {case["name"]: broken_by(case["definition"]) for case in recordings.cases("corpus.jsonl")}
    assert {name: problem for name, problem in found.items() if problem} == {}


@recordings.needed
@pytest.mark.filterwarnings("ignore::DeprecationWarning:botocore")
def test_a_map_that_is_one_step_too_many_fails_in_place_of_the_next_task() -> None:
    """The Task after it has not run, so the commit tells of no attempt."""
    (definition,) = (each["definition"] for each in recordings.cases("corpus.jsonl") if each["name"] == ENDLESS)
    assert executed(definition, FEW_STEPS) == "Unum.HopBudgetExceeded"
    assert broken_by(definition) == ""


def broken_by(definition: Any) -> str:
    """Return differences caused by faults in an execution of few steps; empty if none, or if the compiler refuses the
    definition.
    """
    workflow = compiled(definition, FEW_STEPS)
    if workflow is None:
        return ""
    models = ModelledServices(workflow)
    try:
        simulate(workflow, models.handlers(), models.input(), runs=1)
    except Violation as violation:
        return str(violation).splitlines()[0]
    return ""
