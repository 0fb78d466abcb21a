"""A workflow with the deployment's values in place of its placeholders.

A state reads most of these values when it runs, and fails if they are wrong. Planning needs the numbers of retriers and
the time limit of executions wherever it is, so these are parsed and checked when a function loads the workflow.
"""

from collections.abc import Mapping
from typing import Any

from unum_runtime.asl.numbers import BOUNDS, deployed_number
from unum_runtime.asl.places import element, member
from unum_runtime.asl.states_errors import RuntimeFailure
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Workflow
from unum_runtime.model.placeholders import fill
from unum_runtime.model.states import Retrier, State, Work

_FIELDS = {
    "interval_s": "IntervalSeconds",
    "max_attempts": "MaxAttempts",
    "backoff_rate": "BackoffRate",
    "max_delay_s": "MaxDelaySeconds",
}
_LIMITS = ("TimeoutSeconds", "MaxDelaySeconds")
_JITTER = {"FULL": True, "NONE": False, "True": True, "False": False}


def load(ir: str, values: Mapping[str, str]) -> Workflow:
    """Return the workflow in the text `ir`, with `values` by the name of their placeholder.

    Raises:
        DefinitionError: a value of a retrier, or of the time limit of executions, has the wrong type or is out of
            bounds; or as `fill`.
    """
    return with_numbers(Workflow.from_json(fill(ir, values)))


def with_numbers(workflow: Workflow) -> Workflow:
    """Return `workflow` with numbers in place of their texts in retriers and in the time limit of executions.

    Raises:
        DefinitionError: a text is no number, or a number is out of bounds.
    """
    reading = _Reading()
    states = {name: reading.state(state) for name, state in workflow.states.items()}
    timeout_s = reading.number("TimeoutSeconds", workflow.timeout_s, "$.TimeoutSeconds")
    if reading.problems:
        raise DefinitionError(tuple(reading.problems))
    return replace(workflow, states=states, timeout_s=timeout_s)


class _Reading:
    """One pass over a workflow, with all problems."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def state(self, state: State) -> State:
        if not isinstance(state, Work) or not state.retry:
            return state
        place = member(member("$.States", state.name), "Retry")
        rules = tuple(self._retrier(rule, element(place, index)) for index, rule in enumerate(state.retry))
        return replace(state, retry=rules)

    def number(self, field: str, value: Any, place: str) -> Any:
        """Return the number in `value`, None without a limit; a number itself stays as it is written."""
        if value is None and field in _LIMITS:
            return None
        try:
            number = deployed_number(field, "" if value is None else value)
        except RuntimeFailure:
            self._expect(str(BOUNDS[field]), value, place)
            return None
        return number if isinstance(value, str) else value

    def _retrier(self, rule: Retrier, place: str) -> Retrier:
        numbers = {name: self.number(field, getattr(rule, name), f"{place}.{field}") for name, field in _FIELDS.items()}
        interval, most = numbers["interval_s"], numbers["max_delay_s"]
        if interval is not None and most is not None and most <= interval:
            self._expect(f"more than the interval of {interval} seconds", most, f"{place}.MaxDelaySeconds")
        jitter = _JITTER.get(str(rule.jitter))
        if jitter is None:
            self._expect('"FULL" or "NONE"', rule.jitter, f"{place}.JitterStrategy")
        return replace(rule, **numbers, jitter=bool(jitter))

    def _expect(self, expected: str, value: Any, place: str) -> None:
        self.problems.append(Problem(place, f"expected {expected} from the deployment, got {value!r}"))
