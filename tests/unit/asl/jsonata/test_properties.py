import copy
import json
from typing import Any

from hypothesis import given, reject
from hypothesis import strategies as st

from unum_compiler.jsonata.check import check_expression, variables_read
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata.expression_fields import inside
from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError
from unum_runtime.errors import DefinitionError

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
ATOMS = st.sampled_from(
    [
        "$states.input",
        "$states.input.a",
        "$v",
        "$v.b",
        "$missing",
        "1",
        "-2.5",
        "'a'",
        "true",
        "null",
        "[]",
        "{}",
        "$uuid",
    ]
)
SHAPES = [
    "[{0}, {1}]",
    "{{'k': {0}, 'l': {1}}}",
    "({0})[{1}]",
    "({0}){{'k': {1}}}",
    "({0} ? {1} : 1)",
    "({0}).*",
    "({0})^({1})",
    "($x := {0}; [$x, {1}])",
    "$map({0}, function($y) {{ [$y, {1}] }})",
    "$reduce([{0}, {1}], $append)",
    "({0}) ~> |$|{{'a': {1}}}|",
    "$range({0}, {1}, 1)",
    "$random({0})",
]


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "&", "=", "!=", "<", ">=", "and", "or", "in", ".", "~>"])
    functions = "sum count string map filter keys merge append distinct sort reverse type not parse partition shuffle"
    unary = st.sampled_from([f"${name}({{0}})" for name in functions.split()])
    shapes = st.sampled_from(SHAPES)
    return (
        st.builds(lambda left, operator, right: f"({left} {operator} {right})", inner, operators, inner)
        | st.builds(lambda shape, part: shape.format(part), unary, inner)
        | st.builds(lambda shape, one, two: shape.format(one, two), shapes, inner, inner)
    )


EXPRESSIONS = st.recursive(ATOMS, grown, max_leaves=6)


def outcome(expression: str, data: Any, variable: Any) -> Any:
    context = ExpressionContext({"Execution": {}}, {"v": variable}, 1_700_000_000_000, "seed")
    try:
        return JsonataProgram({"Output": f"{{% {expression} %}}"}).output(data, None, context).value
    except QueryEvaluationError as failure:
        return failure.cause
    except DefinitionError:  # some generated texts are not expressions
        reject()


@given(EXPRESSIONS, JSON, JSON)
def test_result_is_json_or_always_the_same_failure(expression: str, data: Any, variable: Any) -> None:
    before = copy.deepcopy((data, variable))
    first = outcome(expression, data, variable)
    json.dumps(first, allow_nan=False)
    assert (data, variable) == before
    assert first == outcome(expression, data, variable)


@given(EXPRESSIONS)
def test_each_evaluated_variable_is_reported(expression: str) -> None:
    read = {tuple(name.split(".")) for name in variables_read(f"{{% {expression} %}}")}
    assert {name[0] for name in read} <= {"states", "v", "missing"}
    assert {name[1] for name in read if name[0] == "states"} <= {"input"}


@given(JSON)
def test_data_pass_as_they_are(data: Any) -> None:
    assert outcome("$states.input", data, None) == data


@given(st.text())
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    assert inside("{%" + text + "%}") is not None
    assert isinstance(check_expression("{%" + text + "%}", "$"), list)
