"""Tasks that start executions, and what they start, as far as the definition says it."""

import re
from collections.abc import Mapping

from unum_runtime.model.ir import Json, Language, Task, Workflow

_START = re.compile(r"states:startExecution(:2)?")
_ITSELF = re.compile(r"\$\$\.StateMachine\.Id|\{%\s*\$states\.context\.StateMachine\.Id\s*%\}")


def arguments_of(task: Task) -> Json:
    """``Parameters`` or ``Arguments`` of `task`; None if it has none."""
    return task.data.get("Arguments" if task.language is Language.JSONATA else "Parameters")


def started_machine(task: Task) -> str | None:
    """What `task` names as the state machine to start: an ARN, a path or an expression; None if it starts none."""
    arguments = arguments_of(task)
    if not _START.fullmatch(task.resource or "") or not isinstance(arguments, Mapping):
        return None
    named = (value for key, value in arguments.items() if key.removesuffix(".$").lower() == "statemachinearn")
    return next((value for value in named if isinstance(value, str)), None)


def starts_itself(task: Task) -> bool:
    """Whether `task` starts an execution of the workflow that it is in, by the context object."""
    return _ITSELF.fullmatch(started_machine(task) or "") is not None


def is_only_started(workflow: Workflow, text: str) -> bool:
    """Whether `text` is nothing in `workflow` but the name of a state machine to start."""
    uses = sum(started_machine(task) == text for task in workflow.tasks)
    return workflow.to_json().count(text) == uses > 0
