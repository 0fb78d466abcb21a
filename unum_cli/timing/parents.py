"""The execution that started another one, as the input of the child says.

Source: AWS Step Functions Developer Guide, "Start workflow executions from a task state".
"""

import re
from typing import NamedTuple

from unum_runtime.model.states import Json

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
