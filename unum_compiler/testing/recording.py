"""Recording of what handlers got and returned."""

import copy
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_runtime.protocol.runtime import JobPending
from unum_simulator.local import Function
from unum_simulator.stand_ins.called_handlers import run_handler


@dataclass
class TaskRun:
    """One attempt of a Task.

    Attributes:
        state: name of the Task.
        attempt: number of earlier attempts of the same invocation, from 0.
        input: event of the handler.
        result: result of the handler, of the last run.
        error: error name; None without an error.
        deliveries: number of times that the handler ran for this attempt; more than 1 only under faults.
    """

    state: str
    attempt: int
    input: Json
    result: Json = None
    error: str | None = None
    deliveries: int = 0


@dataclass
class Recorder:
    """Handlers of one execution, with recorded calls.

    Attributes:
        workflow: the workflow.
        functions: handlers by Task name or function key.
        clock: virtual clock, which handlers find as ``context.clock``; None if contexts have one already.
        runs: the attempts, in the order of their first runs.
    """

    workflow: Workflow
    functions: Mapping[str, Function]
    clock: Any = None
    runs: dict[tuple[str, str, int], TaskRun] = field(default_factory=dict)

    def handlers(self) -> dict[str, Function]:
        """Return a handler for each Task, by name."""
        return {task.name: self._recorded(task.name) for task in self.workflow.tasks}

    def _recorded(self, name: str) -> Function:
        task = self.workflow.task(name)

        def run(event: Json, context: Any) -> Json:
            call = context.unum
            if self.clock is not None:
                context.clock = self.clock
            new = TaskRun(name, call.attempt, copy.deepcopy(event))
            found = self.runs.setdefault((call.invocation, name, call.attempt), new)
            found.deliveries += call.job is None  # polls of a job belong to the run that began it
            try:
                result = run_handler(task, self.functions, event, context)
            except Exception as error:
                found.error = error.error if isinstance(error, StatesError) else type(error).__name__
                raise
            if not isinstance(result, JobPending):
                # What cannot be copied, as an open file, is no JSON: the runtime says so.
                with suppress(Exception):
                    found.result = copy.deepcopy(result)
                found.error = None
            return result

        return run
