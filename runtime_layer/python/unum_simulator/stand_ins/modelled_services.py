"""Handlers that answer for all Tasks of a workflow: services by their models, functions by what the definition reads.

The service function's own code checks parameters, polls jobs and shapes results; only the responses of the AWS client
are samples.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from unum_runtime.clock import Clock, SystemClock
from unum_runtime.model.called_functions import INVOKE, calls_function
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import ACTIVITY, READ_ITEMS, SIGNAL, Form, Json, Language, Pattern, Task
from unum_runtime.protocol.runtime import CallbackPending
from unum_simulator.stand_ins.samples import sample
from unum_simulator.stand_ins.uses import INPUT, ITEM, RESULT, Use, relate, split, uses

MOST_STEPS = 1000
"""Steps of an execution, one after the other, that samples answer for."""

_HTTP = ("apigateway:invoke", "eks:call", "http:invoke")
_WITHOUT_MODEL = (*_HTTP, "eks:runJob")
_MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:"


def with_end(workflow: Workflow) -> Workflow:
    """Return `workflow` with few enough steps that a loop which no sample ends fails within seconds."""
    return replace(workflow, hop_budget=min(workflow.hop_budget, MOST_STEPS))


@dataclass
class ModelledServices:
    """Sample answers for the Tasks of a workflow, good for one execution.

    Attributes:
        workflow: the workflow.
        clock: clock for the run time of jobs.
    """

    workflow: Workflow
    clock: Clock = field(default_factory=SystemClock)
    _turns: Counter[str] = field(default_factory=Counter)

    def input(self) -> Json:
        """Return an input with all fields that the definition reads of its states' data."""
        return sample(self._uses[None].get(INPUT, Use()), "input")

    def handlers(self) -> dict[str, Callable[[Json, Any], Any]]:
        """Return a handler for each Task, by the Task's name."""
        return {task.name: self._handler(task) for task in self.workflow.tasks}

    def _handler(self, task: Task) -> Callable[[Json, Any], Any]:
        use = self._item(task) if task.resource == READ_ITEMS else self._result(task)

        def answer(event: Json, context: Any) -> Json:
            turn = self._turns[task.name]
            if context.unum.job is None:  # a later poll of a job belongs to the same answer
                self._turns[task.name] += 1
            if task.resource == READ_ITEMS:
                return [sample(use, "item")]
            if task.form is Form.INVOKE and task.pattern is not Pattern.CALLBACK:
                return sample(use.members.get("Payload", Use()), "result", turn)
            return self._call(task, event, context, use, turn) if _has_model(task) else _plain(task, use, turn)

        return answer

    def _call(self, task: Task, event: Json, context: Any, use: Use, turn: int) -> Any:
        """Return the answer of a service."""
        from unum_runtime.features.services.service_function import handle  # noqa: PLC0415 - needs botocore

        answered = handle(
            context.unum, _for_step_functions(event), self.clock, own=self._services.answering(task, use, turn)
        )
        return sample(use, "result", turn) if isinstance(answered, CallbackPending) else answered

    @cached_property
    def _services(self) -> Any:
        from unum_simulator.stand_ins.model_clients import ModelClients  # noqa: PLC0415 - needs botocore

        return ModelClients()

    @cached_property
    def _uses(self) -> Mapping[str | None, Mapping[str, Use]]:
        return uses(self.workflow)

    def _item(self, reader: Task) -> Use:
        """Return what the definition reads of an item of the data set of `reader`."""
        return self._uses.get(reader.next, {}).get(ITEM, Use())

    def _result(self, task: Task) -> Use:
        """Return what the definition reads of the result of `task`."""
        around, found = self._uses.get(task.scope, {}), Use()
        found.add(around.get(f"{task.name} {RESULT}", Use()))
        read = around.get(INPUT, Use())
        if task.language is Language.JSONATA:
            relate(found, task.data.get("Output", RESULT), read)
            for name, value in (task.data.get("Assign") or {}).items():
                relate(found, value, around.get(f"${name}", Use()))
            return found
        path = task.data.get("ResultPath", "$")
        if path is not None:
            _, steps = split(path)
            made = task.data.get("OutputPath", "$") if not steps else "$"
            relate(found, task.data.get("ResultSelector", made), read.at(steps))
        return found


def _for_step_functions(event: Json) -> Json:
    """Return the parameters of a call with a state machine in place of another workflow, whose alias has no model."""
    if not isinstance(event, dict):
        return event
    if isinstance(event.get("Parameters"), dict):
        return {**event, "Parameters": _for_step_functions(event["Parameters"])}
    aliases = {name: value for name, value in event.items() if name == "StateMachineArn" and ":start-" in str(value)}
    return {**event, **{name: _MACHINE + str(value).rpartition(":start-")[2] for name, value in aliases.items()}}


def _has_model(task: Task) -> bool:
    resource = str(task.resource)
    is_plain_function = task.form is not Form.SERVICE or (calls_function(task) and resource != INVOKE)
    return not is_plain_function and resource not in _WITHOUT_MODEL and not resource.startswith((ACTIVITY, SIGNAL))


def _plain(task: Task, use: Use, turn: int) -> Json:
    """Return an answer without a model."""
    found = sample(use, "result", turn)
    if task.resource not in _HTTP:
        return found
    members = found if isinstance(found, dict) else {}
    return {"Headers": {}, "ResponseBody": {}, "StatusCode": 200, "StatusText": "OK", **members}
