"""Tasks that start other workflows, identified by definition."""

import re
from collections.abc import Mapping

from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json, Language, Task

_START = re.compile(r"states:startExecution(:2)?")
_ITSELF = re.compile(r"\$\$\.StateMachine\.Id|\{%\s*\$states\.context\.StateMachine\.Id\s*%\}")


def arguments_of(task: Task) -> Json:
    """Return ``Parameters`` or ``Arguments`` of `task`, if present."""
    return task.data.get("Arguments" if task.language is Language.JSONATA else "Parameters")


def started_machine(task: Task) -> str | None:
    """Return the state machine started by `task`: ARN, path or expression; None otherwise."""
    arguments = arguments_of(task)
    if not _START.fullmatch(task.resource or "") or not isinstance(arguments, Mapping):
        return None
    named = (value for key, value in arguments.items() if key.removesuffix(".$").lower() == "statemachinearn")
    return next((value for value in named if isinstance(value, str)), None)


def starts_itself(task: Task) -> bool:
    """Return True if `task` starts an execution of its own workflow, named by the context object."""
    return _ITSELF.fullmatch(started_machine(task) or "") is not None


def is_only_started(workflow: Workflow, text: str) -> bool:
    """Return True if every occurrence of `text` in `workflow` names a state machine to start."""
    # Such a text needs no place in the functions' environments: the start alias replaces it.
    uses = sum(started_machine(task) == text for task in workflow.tasks)
    return workflow.to_json().count(text) == uses > 0
