"""Whatever the definition, the compiler gives a workflow or a list of problems."""

import copy
import time
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.compiler.machines import FUNCTIONS, machines
from unum_compiler import compile_workflow
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Workflow

LOADED = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
NAMES = ("Next", "End", "Type", "States", "StartAt", "Choices", "Branches", "Resource", "Parameters", "ItemProcessor")
TEXTS = ("Task", "Map", "Pass", "$", "$.a[", "$$.", "a.$", "S0", "S1", "${Token[T.1]}", "{% 1 %}", "lambda:invoke")
words = st.sampled_from((*NAMES, *TEXTS))
junk = st.recursive(
    scalars | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [(value, key) for key, _ in items]
    return found + [place for container, key in found for place in places(container[key])]


@given(machines())
@LOADED
def test_valid_machines_compile_and_survive_serialization(machine: dict[str, Any]) -> None:
    workflow = compile_workflow(machine, name="w", functions=FUNCTIONS)
    assert Workflow.from_json(workflow.to_json()).to_json() == workflow.to_json()
    assert Definition.from_asl(machine).compile("w", FUNCTIONS).digest == workflow.digest


@given(machines(), st.data())
@LOADED
def test_damaged_machines_give_problems_or_a_workflow(machine: dict[str, Any], data: st.DataObject) -> None:
    damaged = copy.deepcopy(machine)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(damaged)))
        if data.draw(st.booleans()):
            container[key] = data.draw(junk)
        elif isinstance(container, dict):
            container[data.draw(words)] = container.pop(key)
        else:
            del container[key]
        if not places(damaged):
            break
    expect_verdict(damaged)


@given(junk)
@LOADED
def test_junk_gives_problems_or_a_workflow(definition: Any) -> None:
    expect_verdict(definition)


@given(st.text() | st.from_regex(r'\{"States":\{"a":[\[\{"0-9,:}\]]*', fullmatch=True))
@LOADED
def test_any_text_gives_problems_or_a_definition(text: str) -> None:
    read = definition_or_problems(text)
    assert isinstance(read, Definition) or all(problem.path and problem.message for problem in read)
    assert read


def definition_or_problems(text: str) -> Definition | tuple[Problem, ...]:
    try:
        return Definition.from_asl(text)
    except DefinitionError as error:
        return error.problems


def expect_verdict(definition: Any) -> None:
    problems = found(definition)
    assert all(problem.path and problem.message for problem in problems)
    "\n".join(map(str, problems)).encode()


def found(definition: Any) -> tuple[Problem, ...]:
    try:
        workflow = compile_workflow(definition, name="w", functions=FUNCTIONS)
    except DefinitionError as error:
        return error.problems or (Problem("", "an error without problems"),)
    return () if workflow.to_json() else (Problem("", "no workflow"),)


def test_time_is_proportional_to_the_number_of_states() -> None:
    assert seconds_per_state(2_000) < 3 * seconds_per_state(500) + 0.000_5


def seconds_per_state(count: int) -> float:
    """The best of three, for others use the machine too."""
    states: dict[str, Any] = {
        f"S{index}": {
            "Type": "Task",
            "Resource": "f",
            "InputPath": f"$.a{index}",
            "Parameters": {"x.$": "$.x"},
            "Next": f"S{index + 1}",
        }
        for index in range(count)
    }
    definition = {"StartAt": "S0", "States": states | {f"S{count}": {"Type": "Succeed"}}}
    return min(seconds(definition) for _ in range(3)) / count


def seconds(definition: Any) -> float:
    begun = time.perf_counter()
    compile_workflow(definition, name="w", functions=["f"])
    return time.perf_counter() - begun
