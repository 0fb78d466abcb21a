"""JSONata states: allowed fields and their checks."""

import sys
from subprocess import run
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.jsonata.check import find_excesses
from unum_runtime.errors import DefinitionError, Problem


def scope(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def state(kind: str, **fields: Any) -> dict[str, Any]:
    end = {} if kind in ("Succeed", "Fail", "Choice") or "Next" in fields else {"End": True}
    own = {"Task": {"Resource": "f"}, "Map": {"ItemProcessor": scope(B={"Type": "Succeed"})}}.get(kind, {})
    return {"Type": kind, "QueryLanguage": "JSONata", **own, **end, **fields}  # type: ignore[dict-item]  # by name


def problems(definition: dict[str, Any]) -> tuple[Problem, ...]:
    try:
        compile_workflow(definition, name="w", functions=None)
    except DefinitionError as error:
        return error.problems
    return ()


RIGHT = (
    state("Task", Arguments={"a": "{% $states.input.a %}"}, Output="{% $states.result %}", Assign={"x": "{% 1 %}"}),
    state("Task", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "A", "Output": "{% $states.errorOutput.Cause %}"}]),
    state("Pass", Output={"a": ["{% $x %}", "text", None]}),
    state("Succeed", Output="{% $states.input %}"),
    state("Fail", Error="{% $states.input.e %}", Cause="text"),
    state("Map", Items="{% $states.input %}", MaxConcurrency="{% 2 %}", Output="{% $states.result[0] %}"),
    state("Map", Items=[1, "{% $x %}"], ItemSelector="{% $states.context.Map.Item.Value %}"),
    state("Choice", Choices=[{"Condition": "{% $x > 1 %}", "Next": "A", "Output": 1, "Assign": {"y": 1}}], Default="A"),
)


@pytest.mark.parametrize("right", RIGHT)
def test_fields_that_are_right(right: dict[str, Any]) -> None:
    definition = scope(C=right, A=state("Pass")) if right["Type"] == "Choice" else scope(A=right)
    assert problems(definition) == ()


WRONG = {
    "field of JSONPath": (state("Task", InputPath="$"), ".InputPath", '"InputPath" belongs to JSONPath'),
    "items path": (state("Map", ItemsPath="$.a"), ".ItemsPath", '"ItemsPath" belongs to JSONPath'),
    "result": (state("Pass", Result=1), ".Result", '"Result" belongs to JSONPath'),
    "syntax": (state("Pass", Output={"a": "{% 1 + %}"}), ".Output.a", "JSONata"),
    "no end": (state("Pass", Output="{% 1 %"), ".Output", "ends with %}"),
    "result of a Pass": (state("Pass", Output="{% $states.result %}"), ".Output", "$states.result"),
    "result in arguments": (state("Task", Arguments="{% $states.result %}"), ".Arguments", "$states.result"),
    "error": (state("Task", Output="{% $states.errorOutput %}"), ".Output", "$states.errorOutput"),
    "no part of $states": (state("Task", Output="{% $states.results %}"), ".Output", "there is no $states.results"),
    "items": (state("Map", Items=1), ".Items", "expected {% an expression %}"),
    "number": (state("Wait", Seconds=-1), ".Seconds", "from 0"),
    "number as text": (state("Wait", Seconds="1"), ".Seconds", "expected an integer"),
    "error name": (state("Fail", Error=1), ".Error", "expected a string"),
    "context object": (state("Pass", Output="{% $states.context.Nam %}"), ".Output", "$states.context.Nam"),
}


@pytest.mark.parametrize(("wrong", "field", "message"), WRONG.values(), ids=WRONG.keys())
def test_fields_that_are_wrong(wrong: dict[str, Any], field: str, message: str) -> None:
    (problem,) = problems(scope(A=wrong))
    assert problem.path == f"$.States.A{field}"
    assert message in problem.message


RULES = {
    "no condition": ({"Next": "A"}, "", '"Condition" is missing'),
    "comparison": ({"Condition": True, "Variable": "$.a", "Next": "A"}, ".Variable", "a rule has no field"),
    "no expression": ({"Condition": "$x", "Next": "A"}, ".Condition", "expected {% an expression %}"),
}


@pytest.mark.parametrize(("rule", "field", "message"), RULES.values(), ids=RULES.keys())
def test_rules_that_are_wrong(rule: dict[str, Any], field: str, message: str) -> None:
    (problem,) = problems(scope(C=state("Choice", Choices=[rule], Default="A"), A=state("Pass")))
    assert problem.path == f"$.States.C.Choices[0]{field}"
    assert message in problem.message


def test_fields_of_jsonata_need_the_language() -> None:
    (problem,) = problems(scope(A={"Type": "Pass", "Output": 1, "End": True}))
    assert problem.path == "$.States.A.Output"
    assert '"Output" belongs to JSONata' in problem.message
    choice = {"Type": "Choice", "Choices": [{"Condition": True, "Next": "A"}]}
    assert problems(scope(C=choice, A={"Type": "Succeed"}))[0].path.startswith("$.States.C.Choices[0]")


def test_a_machine_in_jsonata_has_no_states_in_jsonpath() -> None:
    definition = {**scope(A={"Type": "Pass", "QueryLanguage": "JSONPath", "End": True}), "QueryLanguage": "JSONata"}
    assert [problem.path for problem in problems(definition)] == ["$.States.A.QueryLanguage"]


def test_the_language_is_loaded_only_where_it_is_used() -> None:
    code = f"""
import sys
from unum_compiler import compile_workflow
compile_workflow({scope(A=state("Pass", Output=1))}, name="w", functions=None)
sys.exit("jsonata" in sys.modules)
"""
    assert run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - our own interpreter and code


def excesses(expression: str) -> list[str]:
    return [found for _, found in find_excesses(f"{{% {expression} %}}", "$")]


def test_long_operations_and_ranges_are_found_anywhere() -> None:
    terms = " + ".join(["1"] * 199)
    assert excesses(terms) == excesses("[1..873782]") == excesses("[1..$states.input]") == []
    assert "200 terms" in excesses(f"{terms} + 1")[0]
    assert "200 terms" in excesses(f"$map([1], function($x) {{ {terms} + $x }})")[0]
    assert "873783 numbers" in excesses("$states.input[[1..873783]].a{'k': 1}")[0]
