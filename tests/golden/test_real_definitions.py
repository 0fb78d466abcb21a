"""Definitions from public repositories, run with samples in place of their functions and services."""

from dataclasses import replace
from typing import Any

import pytest

from tests.golden import recordings
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Failure
from unum_runtime.simulator.local import LocalWorkflow
from unum_runtime.simulator.stand_ins.modelled_services import ModelledServices

STEPS = 500
"""More than any of them needs: a loop that reaches it would not end."""

LEAST_SUCCEEDED = 90
"""Others end in a Fail, or in a value that samples cannot know: of 132 that compile, 94 succeed."""


def executed(definition: Any) -> str | None:
    """The error in which an execution ends, empty after a success; None if the compiler refuses the definition."""
    try:
        workflow = replace(Definition.from_asl(definition).compile("real", None), hop_budget=STEPS)
    except DefinitionError:
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
