"""What is known of a Task before any delivery: found out once for a workflow, in every sandbox."""

from collections.abc import Mapping
from functools import lru_cache

from unum_runtime.asl.program import Program
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import READ_ITEMS, WRITE_RESULTS, Form, Language, Pattern, Task, Workflow
from unum_runtime.protocol.planning.compiled_fields import compiled

_LIMITS = {"States.Timeout": "TimeoutSeconds", "States.HeartbeatTimeout": "HeartbeatSeconds"}
"""Fields that say how long a try may take, by what it comes to then. User code that runs here sends no heartbeats."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A Task with what follows from its fields alone.

    Attributes:
        program: its fields, ready to run.
        limits: fields that say how long a try may take, by what it comes to then; only those that it has.
        takes_input: user code gets the state's input as it is.
        gives_result: the state is left with the result as it is, and nothing is assigned.
        needs_input_after: the state's input is needed after user code, which may change its event.
        may_share_variables: what user code gets may be a part of the variables themselves.
        gives_token: whoever hands in the result, or works on it, gets a token.
    """

    program: Program
    limits: Mapping[str, str]
    takes_input: bool
    gives_result: bool
    needs_input_after: bool
    may_share_variables: bool
    gives_token: bool


def node(workflow: Workflow, task: Task) -> Node:
    """What is known of `task` of `workflow`."""
    return _nodes(workflow)[task.name]


@lru_cache(maxsize=64)
def _nodes(workflow: Workflow) -> Mapping[str, Node]:
    return {task.name: _node(workflow, task) for task in workflow.tasks}


def _node(workflow: Workflow, task: Task) -> Node:
    program, is_wrapped = compiled(workflow, task), task.form is Form.INVOKE
    return Node(
        program=program,
        limits={error: field for error, field in _LIMITS.items() if {field, f"{field}Path"} & task.data.keys()},
        takes_input=program.takes_input and not is_wrapped and task.resource != WRITE_RESULTS,
        gives_result=program.gives_result and not is_wrapped and task.resource != READ_ITEMS,
        needs_input_after=_needs_input_after(task),
        may_share_variables=not program.takes_input and task.language is Language.JSONPATH,  # JSONata makes its own
        gives_token=_gives_token(task),
    )


def _needs_input_after(task: Task) -> bool:
    if task.retry or task.catch or task.pattern is not Pattern.RESPONSE:  # another event may follow with the same input
        return True
    if task.language is Language.JSONATA:
        return not task.data.keys().isdisjoint(("Output", "Assign"))
    return bool(task.data.get("ResultPath", "$") != "$")


def _gives_token(task: Task) -> bool:
    if task.pattern is Pattern.RESPONSE:
        return False
    return task.pattern is Pattern.CALLBACK or "Task.Token" in to_text(dict(task.data))
