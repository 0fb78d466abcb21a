"""Facts about a Task that follow from its fields alone, computed once for a workflow in every sandbox."""

from collections.abc import Mapping
from functools import lru_cache

from unum_runtime.asl.program import Program
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import READ_ITEMS, SIGNAL, Form, Language, Pattern, Task
from unum_runtime.protocol.planning.evaluation import compiled

_LIMITS = {"timeout_s": "TimeoutSeconds", "heartbeat_s": "HeartbeatSeconds"}
"""Fields with time limits of a try, by attribute of `unum_runtime.protocol.waiting.callback.Limits`."""


@dataclass(frozen=True, kw_only=True)
class TaskFacts:
    """Facts about one Task.

    Attributes:
        program: its compiled fields.
        limits: its fields with time limits, by attribute of `Limits`.
        takes_input: True if user code gets the state's input unchanged.
        gives_result: True if the state's output is the result unchanged, and the state assigns nothing.
        needs_input_after: True if the state's input is needed after user code, which may change its event.
        may_share_variables: True if the event of user code may contain parts of the variables themselves.
        gives_token: True if a responder or worker gets a task token.
        waits_for_signal: True if no user code runs, and a signal is the result.
    """

    program: Program
    limits: Mapping[str, str]
    takes_input: bool
    gives_result: bool
    needs_input_after: bool
    may_share_variables: bool
    gives_token: bool
    waits_for_signal: bool


@lru_cache(maxsize=64)
def task_facts(workflow: Workflow) -> Mapping[str, TaskFacts]:
    """Return the facts about each Task, computed once in a sandbox."""
    return {task.name: _facts_of(workflow, task) for task in workflow.tasks}


def _facts_of(workflow: Workflow, task: Task) -> TaskFacts:
    program, is_wrapped = compiled(workflow, task), task.form is Form.INVOKE
    return TaskFacts(
        program=program,
        limits={limit: field for limit, field in _LIMITS.items() if {field, f"{field}Path"} & task.data.keys()},
        takes_input=program.takes_input,
        gives_result=program.gives_result and not is_wrapped and task.resource != READ_ITEMS,
        needs_input_after=_needs_input_after(task),
        may_share_variables=not program.takes_input and task.language is Language.JSONPATH,  # JSONata copies values
        gives_token=task.gives_token,
        waits_for_signal=(task.resource or "").startswith(SIGNAL),
    )


def _needs_input_after(task: Task) -> bool:
    if task.retry or task.catch or task.pattern is not Pattern.RESPONSE:  # a later event may have the same input
        return True
    if task.language is Language.JSONATA:
        return not task.data.keys().isdisjoint(("Output", "Assign"))
    return bool(task.data.get("ResultPath", "$") != "$")
