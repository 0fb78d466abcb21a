"""Variables of a distributed Map: what its reading Task hands to it, and what it hands to its writing Task."""

import pytest

from tests.unit.protocol.platform import chain
from unum_compiler import compile_workflow
from unum_runtime.asl.program import StateOutput
from unum_runtime.cold_start.records import replace
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import READ_ITEMS, WRITE_RESULTS, Json, Task
from unum_runtime.protocol.planning.dataset_variables import keep_items, keep_results, results_kept, without
from unum_runtime.protocol.planning.evaluation import EvaluationContext

WORKFLOW = compile_workflow(chain("A"), name="w", functions={"A"})


def task(resource: str | None = None) -> Task:
    return replace(WORKFLOW.task("A"), resource=resource)


def evaluation(**variables: Json) -> EvaluationContext:
    return EvaluationContext(WORKFLOW, Execution("e", 0), 0, "seed", variables)


def test_what_was_read_is_a_variable_beside_the_raw_input() -> None:
    assert keep_items(task(READ_ITEMS), "raw", [1, 2], evaluation(a=1)) == StateOutput(
        "raw", {"a": 1, "$items": [1, 2]}
    )
    assert keep_items(task(), "raw", [1, 2], evaluation(a=1)) is None
    assert keep_items(task(WRITE_RESULTS), "raw", [1, 2], evaluation()) is None


def test_results_replace_what_was_read() -> None:
    left = keep_results("raw", [3], evaluation(a=1, **{"$items": [1, 2]}))
    assert left == StateOutput("raw", {"a": 1, "$results": [3]})


def test_the_writing_task_gets_the_results_beside_its_arguments() -> None:
    written = evaluation(**{"$results": [3]})
    assert results_kept(task(WRITE_RESULTS), {"Bucket": "b"}, written) == {"Bucket": "b", "Results": [3]}
    assert results_kept(task(), {"Bucket": "b"}, written) == {"Bucket": "b"}


@pytest.mark.parametrize("name", ["$items", "$results"])
def test_states_behind_them_see_neither(name: str) -> None:
    variables = {"a": 1, name: [1]}
    assert without(variables) == {"a": 1}
    plain = {"a": 1}
    assert without(plain) is plain
