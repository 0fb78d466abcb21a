"""What a distributed Map has from the Task that reads its items, and hands to the one that writes its results.

It travels with the variables, under names that no variable has, and only from the one state to the other.
"""

from collections.abc import Mapping

from unum_runtime.asl.program import StateOutput
from unum_runtime.model.ir import READ_ITEMS, WRITE_RESULTS, FanOut, Json, Map, Task
from unum_runtime.protocol.planning.evaluation import EvaluationContext

_ITEMS, _RESULTS = "$items", "$results"


def keep_items(task: Task, raw: Json, items: Json, evaluation: EvaluationContext) -> StateOutput | None:
    """What `task` is left with if it read `items` for the Map after it: its own input, and the items; else None."""
    return StateOutput(raw, {**evaluation.variables, _ITEMS: items}) if task.resource == READ_ITEMS else None


def items_read(state: FanOut, evaluation: EvaluationContext) -> list[Json] | None:
    """The items that were read for `state`; None where it selects its own."""
    items: list[Json] | None = evaluation.variables[_ITEMS] if isinstance(state, Map) and state.reads else None
    return items


def keep_results(raw: Json, results: list[Json], evaluation: EvaluationContext) -> StateOutput:
    """Return the output of a Map whose `results` a Task writes: the Map's own input, and the results as a variable."""
    return StateOutput(raw, {**without(evaluation.variables), _RESULTS: results})


def results_kept(task: Task, arguments: Json, evaluation: EvaluationContext) -> Json:
    """The event of `task`: its `arguments`, and the results that it is to write, if it is for that."""
    return {**arguments, "Results": evaluation.variables[_RESULTS]} if task.resource == WRITE_RESULTS else arguments


def without(variables: Mapping[str, Json]) -> Mapping[str, Json]:
    """`variables`, but for what was handed over."""
    if _ITEMS in variables or _RESULTS in variables:
        return {name: value for name, value in variables.items() if name not in (_ITEMS, _RESULTS)}
    return variables
