"""Variables for a distributed Map's items, from its reading Task, and results, for its writing Task.

They travel as variables with names that no user's variable can have, and only between neighbouring states.
"""

from collections.abc import Mapping

from unum_runtime.asl.program import StateOutput
from unum_runtime.model.states import READ_ITEMS, WRITE_RESULTS, FanOut, Json, Map, Task
from unum_runtime.protocol.planning.evaluation import EvaluationContext

_ITEMS, _RESULTS = "$items", "$results"


def keep_items(task: Task, raw: Json, items: Json, evaluation: EvaluationContext) -> StateOutput | None:
    """Return a reading Task's output, with `items` as a variable for the Map; None for other Tasks."""
    return StateOutput(raw, {**evaluation.variables, _ITEMS: items}) if task.resource == READ_ITEMS else None


def items_read(state: FanOut, evaluation: EvaluationContext) -> Json:
    """Return what the reading Task has read; None for a state with its own selection."""
    return evaluation.variables[_ITEMS] if isinstance(state, Map) and state.reads else None


def keep_results(raw: Json, results: list[Json], evaluation: EvaluationContext) -> StateOutput:
    """Return the output of a Map whose `results` a Task writes: the Map's own input, and the results as a variable."""
    return StateOutput(raw, {**without(evaluation.variables), _RESULTS: results})


def results_kept(task: Task, arguments: Json, evaluation: EvaluationContext) -> Json:
    """Return `task`'s event: `arguments`, plus the results for a writing Task."""
    return {**arguments, "Results": evaluation.variables[_RESULTS]} if task.resource == WRITE_RESULTS else arguments


def without(variables: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return `variables` without items and results."""
    if _ITEMS in variables or _RESULTS in variables:
        return {name: value for name, value in variables.items() if name not in (_ITEMS, _RESULTS)}
    return variables
