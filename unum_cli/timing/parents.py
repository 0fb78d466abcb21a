"""Executions that start each other, as values tell of them: inputs of children, results of parents, computed names.

Source: AWS Step Functions Developer Guide, "Start workflow executions from a task state".
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from unum_client.client import Client
from unum_client.control import Missing
from unum_client.descriptions import Step
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Checkpoint, Failure, Success
from unum_runtime.model.naming import Name
from unum_runtime.model.states import Json
from unum_runtime.protocol.history.timeline import Timeline, failed_with

STARTED_BY = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"
"""Field of a child's input with the ARN of its parent."""

_NAME = r"[^\s:/<>{}\[\]?*\"#%\\^|~`$&,;]{1,80}"
"""Name without characters that no execution's name has, so that lines and links of a foreign text stay what they are.

Source: AWS Step Functions API Reference, "StartExecution"."""

_ARN = re.compile(rf"arn:[^:]+:states:[^:]*:[^:]*:execution:(?P<workflow>{_NAME}):(?P<name>{_NAME})")


class Started(NamedTuple):
    """Execution that a step has started, or that has started one."""

    workflow: str
    name: str

    def __str__(self) -> str:
        return f"{self.workflow}/{self.name}"


def parent_in(value: Json) -> Started | None:
    """Return the parent that the input `value` of an execution names; None if it names none.

    Who starts an execution chooses its input, so nothing but links may depend on this.
    """
    return parsed(value.get(STARTED_BY)) if isinstance(value, dict) else None


def parsed(arn: Json) -> Started | None:
    """Return the execution with the ARN `arn`; None for anything else."""
    match = _ARN.fullmatch(arn) if isinstance(arn, str) and arn.isprintable() else None
    return None if match is None else Started(match["workflow"], match["name"])


_MEMBERS = ("ExecutionArn", "executionArn")


def executions_in(value: Json) -> Iterator[Started]:
    """Yield the executions that `value` describes, at any depth, but none inside of a description."""
    if isinstance(value, list):
        for each in value:
            yield from executions_in(each)
    elif isinstance(value, dict):
        found = [each for each in (parsed(value.get(member)) for member in _MEMBERS) if each is not None]
        yield from found
        for each in () if found else value.values():
            yield from executions_in(each)


def reported_value(checkpoint: Checkpoint) -> Json:
    """Return what a commit tells of its execution: the result, or the cause of the failure as JSON."""
    failure = checkpoint.outcome if isinstance(checkpoint.outcome, Failure) else checkpoint.continuation.caught
    if failure is not None:
        try:
            return parse_json(failure.cause or "")
        except ValueError:
            return None
    return checkpoint.outcome.value if isinstance(checkpoint.outcome, Success) else None


def default_name(workflow: str, name: Name, fused: str, attempt: int) -> str:
    """Return the name of the execution that an attempt of a Task starts, unless the definition gives one.

    It is the client token of `unum_runtime.features.services.service_function`, which is the same on every delivery.

    Args:
        workflow: name of the Task's workflow.
        name: invocation name.
        fused: name of the Task, if another Task commits for it; else empty.
        attempt: number of earlier attempts.
    """
    state = f" {fused}" if fused else ""
    return hashlib.sha256(f"{workflow}/{name}{state}/{attempt}".encode()).hexdigest()


_PART_OF_ARN = ":execution:"


@dataclass(frozen=True)
class Relations:
    """Relations of an execution to started executions.

    Attributes:
        client: client of its workflow.
        name: its name.
    """

    client: Client
    name: str

    def started_by(self, step: Step) -> Sequence[Started]:
        """Return the executions that `step` has started.

        The definition tells which Tasks start executions. It is read with the first step that has an ARN of one.

        Raises:
            UnumError: the definition is not stored, or the store did not answer.
        """
        if not any(_PART_OF_ARN in text for text in _texts(step.checkpoint)):
            return ()
        return self._by_step.get(str(step.checkpoint.name), ())

    @cached_property
    def _by_step(self) -> Mapping[str, Sequence[Started]]:
        # Loads all that rows of an execution need, which few commands do.
        from unum_cli.timing.levels import Levels  # noqa: PLC0415 - see above
        from unum_cli.timing.nesting import started_by_steps  # noqa: PLC0415 - see above

        found: dict[str, list[Started]] = defaultdict(list)
        levels = Levels(Timeline(*self.client.past(self.name)), self.client.clock.now_ms())
        for step, each in started_by_steps(levels):
            found[step].append(each)
        return found


def awaited_by(missing: Missing) -> Sequence[Started]:
    """Return the execution whose end a step waits for; empty if it waits for something else."""
    if missing.job is None:
        return ()
    from unum_cli.timing.nesting import started_by_job  # noqa: PLC0415 - loads all that rows need

    found = started_by_job(missing)
    return () if found is None else (found,)


def _texts(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield where a commit may tell of another execution: its value, and the cause of its failure."""
    if isinstance(checkpoint.outcome, Success):
        yield checkpoint.outcome.text
    failure = failed_with(checkpoint)
    if failure is not None:
        yield failure.cause or ""
