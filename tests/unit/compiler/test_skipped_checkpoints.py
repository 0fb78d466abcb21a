"""States that need a checkpoint in a function without."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import DefinitionError

WITHOUT = {"f": FunctionOptions(checkpoint=False)}
ALL = {"ErrorEquals": ["States.ALL"]}


def chain(after: dict[str, Any], **fields: Any) -> dict[str, Any]:
    states = {
        "A": {"Type": "Task", "Resource": "f", "Next": "B", **fields},
        "B": {**after, "Next": "C"},
        "C": {"Type": "Task", "Resource": "g", "End": True},
    }
    return {"StartAt": "A", "States": states}


TASK = {"Type": "Task", "Resource": "g"}


def test_the_next_task_commits_for_it_whatever_that_recovers_from() -> None:
    after = {**TASK, "Retry": [ALL], "Catch": [{**ALL, "Next": "C"}]}
    workflow = compile_workflow(chain(after, Assign={"x": 1}), name="w", functions=None, options=WITHOUT)
    assert workflow.task("A").committed_by == "B"


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (chain(TASK, Retry=[ALL]), "it has Retry or Catch"),
        (chain(TASK, Catch=[{**ALL, "Next": "C"}]), "it has Retry or Catch"),
        (chain({"Type": "Wait", "Seconds": 1}), "its end time committed"),
        (
            chain(
                TASK,
                Resource="arn:aws:states:::lambda:invoke.waitForTaskToken",
                Parameters={"FunctionName": "f", "Payload.$": "$$.Task.Token"},
            ),
            "arrives later",
        ),
    ],
)
def test_what_needs_a_checkpoint(definition: dict[str, Any], reason: str) -> None:
    with pytest.raises(DefinitionError, match=reason):
        compile_workflow(definition, name="w", functions=None, options=WITHOUT)
