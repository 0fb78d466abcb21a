"""Mocked answers of Tasks, in the format of Step Functions Local's mock configuration.

Source: AWS Step Functions Developer Guide, "Configuration file for mocked service integrations". Step Functions Local
counts the invocations of each state in an execution, retries, loops and iterations of a Map included.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from unum_runtime.asl.places import member
from unum_runtime.asl.states_errors import excerpt
from unum_runtime.errors import StatesError
from unum_runtime.model.called_functions import INVOKE, calls_function
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Form, Json, Pattern, Task

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_ENTRY = 'expected an object with either "Return" or "Throw"'


@dataclass(frozen=True)
class Answer:
    """One mocked answer.

    Attributes:
        first: number of the first invocation that gets it, from 0.
        last: number of the last one.
        value: the result; None for a failure.
        failure: error name and cause; None for a result.
    """

    first: int
    last: int
    value: Json = None
    failure: tuple[str, str] | None = None


@dataclass(frozen=True)
class MockedCase:
    """A test case of a mock configuration.

    Attributes:
        answers: answers by the name of the Task.
    """

    answers: Mapping[str, tuple[Answer, ...]]

    def handlers(self, workflow: Workflow) -> dict[str, Callable[[Json, Any], Json]]:
        """Return handlers of the mocked Tasks, by name of the Task; good for one execution.

        Raises:
            ValueError: the workflow has no Task of a mocked name, or a function's answer has no payload.
        """
        tasks = {task.name: task for task in workflow.tasks}
        for name in self.answers:
            if name not in tasks:
                known = ", ".join(sorted(tasks)) or "none"
                raise ValueError(f"the test case mocks {name!r}, but the workflow has no such Task; it has: {known}")
        return {name: _Mocked(tasks[name], self._fitting(tasks[name])) for name in self.answers}

    def _fitting(self, task: Task) -> tuple[Answer, ...]:
        """Return the answers of `task` in the shape that its handler returns."""
        return tuple(
            answer if answer.failure else Answer(answer.first, answer.last, _result(task, answer.value))
            for answer in self.answers[task.name]
        )


def parse_mocks(document: Json, machine: str, case: str | None) -> MockedCase:
    """Return a test case of a mock configuration.

    Args:
        document: content of a ``MockConfigFile.json``.
        machine: name of the state machine; the only one in the file may have another name.
        case: name of the test case; None for the only one of the machine.

    Raises:
        ValueError: the document does not have the format, or has no such test case; says where.
    """
    machines, responses = _object(document, "StateMachines", "$"), _object(document, "MockedResponses", "$")
    name = _chosen(machines, machine, "$.StateMachines", "state machine", or_only=True)
    place = member("$.StateMachines", name)
    cases = _object(machines[name], "TestCases", place)
    chosen = _chosen(cases, case, f"{place}.TestCases", "test case")
    states = _object(cases, chosen, f"{place}.TestCases")
    return MockedCase({state: _answers(responses, said, state) for state, said in states.items()})


@dataclass
class _Mocked:
    """Handler of a mocked Task."""

    task: Task
    answers: tuple[Answer, ...]
    numbers: dict[tuple[str, int], int] = field(default_factory=dict)

    def __call__(self, _event: Json, context: Any) -> Json:
        """Return or raise the answer to this invocation; a repeated delivery gets the same again."""
        number = self.numbers.setdefault((context.unum.invocation, context.unum.attempt), len(self.numbers))
        for answer in self.answers:
            if answer.first <= number <= answer.last:
                if answer.failure is not None:
                    raise StatesError(*answer.failure)
                return answer.value
        raise StatesError(
            "States.Runtime", f"there is no mocked response for invocation {number} of {self.task.name!r}"
        )


def _result(task: Task, value: Json) -> Json:
    """Return what a function's handler returns for a response of Lambda's Invoke API; other responses unchanged."""
    is_function = task.form is not Form.SERVICE or (calls_function(task) and task.resource != INVOKE)
    if not is_function or task.pattern is Pattern.CALLBACK:
        return value
    if isinstance(value, Mapping) and "Payload" in value:
        return value["Payload"]
    if task.form is Form.DIRECT:  # its result is the payload itself, and so may a mock say it
        return value
    raise ValueError(
        f'the mocked response of {task.name!r}: expected "Payload" with the function\'s result, as in a response of '
        f"lambda:invoke, got {excerpt(value)}"
    )


def _answers(responses: Mapping[str, Json], name: Json, state: str) -> tuple[Answer, ...]:
    if not isinstance(name, str) or name not in responses:
        raise ValueError(f"$.MockedResponses: there is no response {name!r}, which {state!r} names")
    entries = _object(responses, name, "$.MockedResponses")
    return tuple(_answer(keys, entries[keys], member(member("$.MockedResponses", name), keys)) for keys in entries)


def _answer(keys: str, entry: Json, place: str) -> Answer:
    found = _RANGE.fullmatch(keys)
    if found is None or int(found[1]) > int(found[2] or found[1]):
        raise ValueError(f'{place}: expected the number of an invocation such as "0", or a range such as "1-2"')
    first, last = int(found[1]), int(found[2] or found[1])
    if not isinstance(entry, Mapping) or len(entry) != 1 or not entry.keys() <= {"Return", "Throw"}:
        raise ValueError(f"{place}: {_ENTRY}, got {excerpt(entry)}")
    if "Return" in entry:
        return Answer(first, last, entry["Return"])
    thrown = entry["Throw"]
    if not isinstance(thrown, Mapping) or not isinstance(thrown.get("Error"), str):
        expected = 'expected an object with the texts "Error" and "Cause"'
        raise ValueError(f"{place}.Throw: {expected}, got {excerpt(thrown)}")  # noqa: TRY004 - of what a file says
    return Answer(first, last, failure=(thrown["Error"], str(thrown.get("Cause", ""))))


def _object(around: Json, name: str, place: str) -> Mapping[str, Json]:
    found = around.get(name) if isinstance(around, Mapping) else None
    if not isinstance(found, Mapping):
        raise ValueError(f"{member(place, name)}: expected an object, got {excerpt(found)}")  # noqa: TRY004 - as above
    return found


def _chosen(table: Mapping[str, Json], name: str | None, place: str, kind: str, *, or_only: bool = False) -> str:
    """Return `name`, or the only key of `table`."""
    if name in table:
        return str(name)
    if len(table) == 1 and (name is None or or_only):
        return next(iter(table))
    wanted = "name one of several" if name is None else f"there is no {kind} {name!r}"
    raise ValueError(f"{place}: {wanted}; there are: {', '.join(sorted(table)) or 'none'}")
