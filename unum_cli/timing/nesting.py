"""Executions of other workflows that a step has started, and the execution that started one.

A step that starts an execution has the ARN in its result, in the cause of its failure, or in the handle of its job. If
the definition drops it, the name can still be computed, unless the definition gives names of its own. A child knows its
parent if its input says so, in the field that AWS recommends for this.

Source: AWS Step Functions Developer Guide, "Start workflow executions from a task state".
"""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from unum_cli.timing.levels import Levels
from unum_cli.timing.parents import Started, default_name, executions_in, parent_in, reported_value
from unum_client.control import Missing
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Name
from unum_runtime.model.states import Task
from unum_runtime.protocol.history.timeline import Timeline

_START = frozenset({"states:startExecution", "states:startExecution:2"})
_START_ALIAS = re.compile(r":function:[^:]+:start-([A-Za-z0-9_-]+)")


def started_by_steps(levels: Levels) -> Iterator[tuple[str, Started]]:
    """Yield the committed steps that have started executions, as text, each with every such execution."""
    for name, checkpoint in levels.timeline.committed.items():
        if _starts(levels.timeline, checkpoint.state, checkpoint):
            before = levels.value_before(name)
            known = {*executions_in(before.value)} if before is not None else set[Started]()
            yield from ((str(name), each) for each in executions_in(reported_value(checkpoint)) if each not in known)


class Unnamed(NamedTuple):
    """Step that has started executions whose ARNs are not stored.

    Attributes:
        step: name of the step, as text.
        names: names that its attempts give by default.
        workflows: names of the workflows in the definition of the step; none if only the deployment knows them.
    """

    step: str
    names: tuple[str, ...]
    workflows: tuple[str, ...]


def unnamed_starts(levels: Levels, named: Collection[str]) -> Iterator[Unnamed]:
    """Yield the committed steps that have started executions and are not among `named`."""
    for name, checkpoint in levels.timeline.committed.items():
        if str(name) not in named and _starts(levels.timeline, checkpoint.state, checkpoint):
            version = levels.timeline.version_of(checkpoint)
            names = (_default_name(version, name, checkpoint.state, each) for each in range(checkpoint.attempt + 1))
            found = _START_ALIAS.findall(to_text(dict(version.task(checkpoint.state).data)))
            yield Unnamed(str(name), tuple(names), tuple(found))


def _default_name(workflow: Workflow, name: Name, state: str, attempt: int) -> str:
    """Return the name of the execution that an attempt of a Task starts, unless the definition gives one."""
    fused = "" if workflow.task(state).committed_by is None else state
    return default_name(workflow.name, name, fused, attempt)


def started_by_job(missing: Missing) -> Started | None:
    """Return the execution whose end a step waits for; None if it waits for something else."""
    return next(executions_in(missing.job), None)


def may_start(workflow: Workflow, state: str) -> bool:
    """Return True if `state` is a Task that starts executions."""
    task = workflow.states.get(state)
    return isinstance(task, Task) and task.resource in _START


def parent_of(start: Checkpoint) -> Started | None:
    """Return the execution that started the one with the start record `start`; None if its input does not say."""
    value = start.outcome.value if isinstance(start.outcome, Success) else None
    return parent_in(value)


def _starts(timeline: Timeline, state: str, checkpoint: Checkpoint) -> bool:
    return may_start(timeline.version_of(checkpoint), state)
