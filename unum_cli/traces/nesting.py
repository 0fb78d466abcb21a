"""Executions of other workflows that a step has started, and the execution that started one.

A step that starts an execution has the ARN in its result, in the cause of its failure, or in the handle of its job. A
child knows its parent if its input says so, in the field that AWS recommends for this.

Source: AWS Step Functions Developer Guide, "Start workflow executions from a task state".
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from unum_cli.timing.levels import Levels
from unum_runtime.client.control import Missing
from unum_runtime.model.checkpoint import Checkpoint, Failure, Success
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.history.timeline import Timeline

STARTED_BY = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"
"""Field of a child's input with the ARN of its parent."""

_START = frozenset({"states:startExecution", "states:startExecution:2"})
_ARN = re.compile(r"arn:[^:]+:states:[^:]*:[^:]*:execution:(?P<workflow>[^:/]+):(?P<name>[^:/]+)")
_MEMBERS = ("ExecutionArn", "executionArn")


class Started(NamedTuple):
    """Execution that a step has started, or that has started one."""

    workflow: str
    name: str

    def __str__(self) -> str:
        return f"{self.workflow}/{self.name}"


def started_by_steps(levels: Levels) -> Iterator[tuple[str, Started]]:
    """Yield the committed steps that have started executions, as text, each with every such execution."""
    for name, checkpoint in levels.timeline.committed.items():
        if _starts(levels.timeline, checkpoint.state, checkpoint):
            before = levels.value_before(name)
            known = {*_executions(before.value)} if before is not None else set[Started]()
            yield from ((str(name), each) for each in _executions(_told(checkpoint)) if each not in known)


def started_by_job(missing: Missing) -> Started | None:
    """Return the execution whose end a step waits for; None if it waits for something else."""
    return next(_executions(missing.job), None)


def parent_of(start: Checkpoint) -> Started | None:
    """Return the execution that started the one with the start record `start`; None if its input does not say."""
    value = start.outcome.value if isinstance(start.outcome, Success) else None
    return _parsed(value.get(STARTED_BY)) if isinstance(value, dict) else None


def _starts(timeline: Timeline, state: str, checkpoint: Checkpoint) -> bool:
    task = timeline.version_of(checkpoint).states.get(state)
    return isinstance(task, Task) and task.resource in _START


def _told(checkpoint: Checkpoint) -> Json:
    """Return what a commit tells of its execution: the result, or the cause of the failure as JSON."""
    failure = checkpoint.outcome if isinstance(checkpoint.outcome, Failure) else checkpoint.continuation.caught
    if failure is not None:
        try:
            return json.loads(failure.cause or "")
        except ValueError:
            return None
    return checkpoint.outcome.value if isinstance(checkpoint.outcome, Success) else None


def _executions(value: Json) -> Iterator[Started]:
    """Yield the executions that `value` describes, at any depth, but none inside of a description."""
    if isinstance(value, list):
        for each in value:
            yield from _executions(each)
    elif isinstance(value, dict):
        found = [each for each in (_parsed(value.get(member)) for member in _MEMBERS) if each is not None]
        yield from found
        for each in () if found else value.values():
            yield from _executions(each)


def _parsed(arn: Json) -> Started | None:
    match = _ARN.fullmatch(arn) if isinstance(arn, str) else None
    return None if match is None else Started(match["workflow"], match["name"])
