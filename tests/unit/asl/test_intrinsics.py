"""Intrinsic functions: results, errors and grammar.

Without a recording, expectations come from the specification (Appendix B) and the Step Functions Developer Guide. The
error name States.IntrinsicFailure comes from the specification only.
"""

import json
import uuid
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.path_syntax import PathSyntaxError
from unum_runtime.asl.jsonpath.templates import compile_expression, list_paths
from unum_runtime.asl.states_errors import IntrinsicFailure, RuntimeFailure

CONTEXT = ExpressionContext({"Execution": {"Name": "run-1"}}, {"v": {"n": 4}}, seed="e/1")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def evaluate(text: str, data: Any = None, context: ExpressionContext = CONTEXT) -> Any:
    return compile_expression(text, field="x.$")(data, context)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("States.Array()", []),
        ("States.Array('a, (b)', 1, -2.5e1, true, false, null)", ["a, (b)", 1, -25.0, True, False, None]),
        ("States.Array( $.a['x,y'] , $$.Execution.Name,$v.n )", [3, "run-1", 4]),
        ("States.Array($.list[?(@.k == 'a)')], $..k)", [[{"k": "a)"}], ["a)", "b"]]),
        ("States.ArrayPartition($.nine, 4)", [[1, 2, 3, 4], [5, 6, 7, 8], [9]]),
        ("States.ArrayPartition($.none, 1)", []),
        ("States.ArrayContains($.nine, 5)", True),
        ("States.ArrayContains($.nine, 10)", False),
        ("States.ArrayContains($.list, $.list[1])", True),
        ("States.ArrayRange(1, 9, 2)", [1, 3, 5, 7, 9]),
        ("States.ArrayRange(5, 1, -2)", [5, 3, 1]),
        ("States.ArrayRange(3, 3, 1)", [3]),
        ("States.ArrayRange(2, 1, 1)", []),
        ("States.ArrayGetItem($.nine, 8)", 9),
        ("States.ArrayLength($.nine)", 9),
        ("States.ArrayUnique($.mixed)", [1, True, "1", {"a": 1, "b": [2]}, None]),
        ("States.Base64Encode('Data to encode ✓')", "RGF0YSB0byBlbmNvZGUg4pyT"),
        ("States.Base64Decode('RGF0YSB0byBlbmNvZGUg4pyT')", "Data to encode ✓"),
        ("States.Hash('input data', 'SHA-1')", "aaff4a450a104cd177d28d18d74485e8cae074b7"),
        ("States.Hash('', 'MD5')", "d41d8cd98f00b204e9800998ecf8427e"),
        ("States.JsonMerge($.a, $.list[0], false)", {"x,y": 3, "k": "a)"}),
        ("States.JsonToString($.list)", '[{"k":"a)"},{"k":"b"}]'),
        ("States.StringToJson('[1, {\"a\": null}]')", [1, {"a": None}]),
        ("States.MathAdd(111, -1)", 110),
        ("States.MathAdd(1.6, 2.7)", 5),
        ("States.StringSplit('1.2+3', '+.')", ["1", "2", "3"]),
        ("States.StringSplit('a,b', '')", ["a,b"]),
        ("States.Format('none')", "none"),
        ("States.Format('{} is {}, {}, {}', $.a['x,y'], 1.5, null, true)", "3 is 1.5, null, true"),
        (r"States.Format('it\'s \{{}\} \\', 'x')", r"it's {x} \ ".strip()),
        ("States.Format($.template, 'Ada')", "Hello Ada"),
        (r"States.Array('\'\{\}\\')", ["'{}\\"]),
        ("States.Format('{}', States.Format('{}-{}', 1, States.ArrayGetItem(States.Array(2, 3), 1)))", "1-3"),
    ],
)
def test_values(text: str, value: Any) -> None:
    data = {
        "a": {"x,y": 3},
        "list": [{"k": "a)"}, {"k": "b"}],
        "nine": [*range(1, 10)],
        "none": [],
        "mixed": [1, True, 1.0, "1", {"a": 1, "b": [2]}, {"b": [2], "a": 1}, True, None, None],
        "template": "Hello {}",
    }
    found = evaluate(text, data)
    assert (type(found), found) == (type(value), value)


# Recorded: the text of an object is not JSON. Others observed the remaining cases on AWS, contrary to the guide.
@pytest.mark.parametrize(
    ("text", "data", "value"),
    [
        ("States.Format('{}', $)", {"Id": 1, "Tags": ["a", None]}, "{Id=1, Tags=[a, null]}"),
        ("States.ArrayPartition($, 2.6)", [1, 2, 3], [[1, 2], [3]]),
        ("States.ArrayRange(1.6, 1.4, 1)", None, [1]),
        ("States.ArrayGetItem($, 1.9)", [1, 2], 2),
        ("States.ArrayGetItem($, 9)", [], None),
        ("States.ArrayContains($, true)", ["true"], True),
        ("States.ArrayContains($, false)", [0], False),
        ("States.StringToJson('')", None, None),
        ("States.StringToJson(' ')", None, None),
        ("States.StringToJson($)", " \t\r\n ", None),
        ("States.StringSplit($, ',')", ",a,,b,", ["a", "b"]),
        ("States.Base64Decode(' YWJj ZA')", None, "abcd"),
        ("States.Hash(123, 'MD5')", None, "202cb962ac59075b964b07152d234b70"),
    ],
)
def test_observed_behaviour_of_step_functions(text: str, data: Any, value: Any) -> None:
    assert evaluate(text, data) == value


@pytest.mark.parametrize(
    ("text", "data", "why"),
    [
        ("States.ArrayLength($)", {}, "argument 1 must be an array"),
        ("States.MathAdd($, 1)", "1", "argument 1 must be a number"),
        ("States.MathAdd($, 1)", True, "argument 1 must be a number"),
        ("States.MathAdd(2147483647, $)", 1, "2147483648 is not between -2147483648 and 2147483647"),
        ("States.MathAdd($, 1)", 1e308 * 10, "infinity"),
        ("States.ArrayPartition($, 0)", [1], "at least 1, got 0"),
        ("States.ArrayRange(1, 1001, 1)", None, "expected at most 1000 items, got more"),
        ("States.ArrayRange(1, 9, 0)", None, "must not be 0"),
        ("States.ArrayGetItem($, 3)", [1, 2, 3], "index 3 is outside of an array of 3 items"),
        ("States.ArrayGetItem($, -1)", [1, 2, 3], "index -1 is outside"),
        ("States.Base64Encode($)", "a" * 10_001, "at most 10,000 characters"),
        ("States.Hash($, 'MD5')", "a" * 10_001, "at most 10,000 characters"),
        ("States.Hash($, 'sha-256')", "a", "argument 2 must be one of MD5, SHA-1, SHA-256, SHA-384, SHA-512"),
        ("States.JsonMerge($, $, false)", [], "argument 1 must be an object"),
        ("States.JsonMerge($.o, $.o, $.deep)", {"o": {}, "deep": True}, "argument 3 must be false"),
        ("States.StringToJson($)", "{bad", "Expecting property name"),
        ("States.StringToJson($)", "NaN", "NaN is not JSON"),
        ("States.StringToJson($)", "\u00a0", "Expecting value"),
        ("States.StringToJson($)", "[" * 100_000, "nested too deeply; at most 500 levels"),
        ("States.StringToJson($)", "[1e400]", "the number 1e400 is beyond the range of a double"),
        ("States.StringToJson($)", "-" + "9" * 400, "is beyond the range of a double"),
        ("States.StringToJson($)", "9" * 5000, "(5000 characters) is beyond the range of a double"),
        ("States.StringToJson($)", '"\\ud800"', "a text contains a lone surrogate"),
        ("States.MathRandom($, 5)", 5, "expected an end, exclusive, greater than the start"),
        ("States.StringSplit($, ',')", 5, "argument 1 must be a string"),
        ("States.Format($, 1)", 5, "argument 1 must be a string"),
        ("States.Format($, 1)", "{} {}", "the template has 2 {} for 1 values"),
        ("States.Format($, 1)", "{ {}", "character 0 of the template: expected {} or"),
    ],
)
def test_invalid_arguments(text: str, data: Any, why: str) -> None:
    with pytest.raises(IntrinsicFailure) as caught:
        evaluate(text, data)
    assert caught.value.error == "States.IntrinsicFailure"
    assert caught.value.cause.startswith(f"Invalid arguments in {text[: text.index('(')]}: ")
    assert why in caught.value.cause


def test_a_path_without_value_in_an_argument() -> None:
    with pytest.raises(RuntimeFailure) as caught:
        evaluate("States.Format('{}', $.name)", {"a": 1})
    assert caught.value.cause == (
        "The function 'States.Format('{}', $.name)' had the following error: The JsonPath argument for the field "
        "'$.name' could not be found in the input '{\"a\":1}'"
    )


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("hello", 0, "expected a path like $.value, or an intrinsic function"),
        ("States.Nope(1)", 0, "unknown intrinsic function States.Nope; known: States.Array, "),
        ("States.UUID", 0, "expected a path like $.value, or an intrinsic function"),
        ("States.Array(", 13, "expected a 'string', a number"),
        ("States.Array(1", 14, "expected , or )"),
        ("States.Array(1, )", 16, "expected a 'string', a number"),
        ("States.Array([1])", 13, "expected a 'string', a number"),
        ("States.Array(1.)", 13, "expected a 'string', a number"),
        ("States.Array(01)", 13, "expected a finite number"),
        ("States.Array(1e999)", 13, "expected a finite number"),
        ("States.Array(trueish)", 13, "expected a 'string', a number"),
        ("States.Array('a)", 13, "expected a string that ends with '"),
        (r"States.Array('a\n')", 13, "has backslashes only before"),
        ("States.Array($.a[)", 17, "expected 'name', an index"),
        ("States.Array(1) + 1", 15, "expected the end"),
        ("States.Array(1, States.None(2))", 16, "unknown intrinsic function States.None"),
        ("States.UUID(1)", 0, "States.UUID takes 0 arguments, got 1"),
        ("States.Array(States.MathAdd(1))", 13, "States.MathAdd takes 2 arguments, got 1"),
        ("States.MathRandom(1)", 0, "States.MathRandom takes 2 or 3 arguments, got 1"),
        ("States.Format()", 0, "States.Format takes at least 1 arguments, got 0"),
        ("States.MathAdd(1, '-1')", 18, "argument 2 must be a number"),
        ("States.JsonMerge($.a, $.b, true)", 27, "argument 3 must be false"),
        ("States.Format('{} {}', 1)", 0, "the template has 2 {} for 1 values"),
        ("States.Format('{', 1)", 0, "expected {} or"),
        ("States.Array(" * 11 + ")" * 11, 130, "expected at most 10 nested functions"),
    ],
)
def test_syntax_errors(text: str, position: int, message: str) -> None:
    with pytest.raises(PathSyntaxError) as caught:
        compile_expression(text, field="x.$")
    assert message in str(caught.value)
    assert caught.value.position == position


def test_paths_of_an_expression() -> None:
    text = "States.Format('{} {}', $v.n, States.Array($$.Execution.Id, 1, $.a))"
    assert [str(path) for path in list_paths(text)] == ["$v['n']", "$$['Execution']['Id']", "$['a']"]
    assert [path.variable for path in list_paths("$x")] == ["x"]


def test_random_numbers_depend_on_the_context_only() -> None:
    texts = ("States.UUID()", "States.MathRandom(0, 1000000)")
    first, again, other = (
        [evaluate(text, context=ExpressionContext({}, seed=seed)) for text in texts] for seed in ("a", "a", "b")
    )
    assert first == again
    assert all(one != another for one, another in zip(first, other, strict=True))
    assert uuid.UUID(first[0]).version == 4
    assert evaluate("States.UUID()") != evaluate("States.UUID()")  # two numbers from one context


@given(st.integers(-1000, 1000), st.integers(1, 1000))
def test_a_random_number_is_below_the_end(start: int, width: int) -> None:
    number = evaluate(f"States.MathRandom({start}, {start + width})")
    assert start <= number < start + width
    assert evaluate("States.MathRandom(0, 1000, 7)") == evaluate("States.MathRandom(0, 1000, 7)")


@given(st.text(max_size=40))
def test_base64_and_json_round_trips(text: str) -> None:
    assert evaluate("States.Base64Decode(States.Base64Encode($))", text) == text
    assert evaluate("States.StringToJson(States.JsonToString($))", [text]) == [text]


@given(
    JSON, JSON, st.sampled_from(["ArrayContains", "ArrayGetItem", "ArrayPartition", "MathAdd", "Hash", "StringSplit"])
)
def test_a_function_fails_in_one_way_only(left: Any, right: Any, name: str) -> None:
    found: Any = "failed"
    with suppress(IntrinsicFailure):
        found = evaluate(f"States.{name}($.left, $.right)", {"left": left, "right": right})
    assert json.loads(json.dumps(found)) == found


@given(st.text(alphabet="States.Format(',)$[]{}\\ 01", max_size=30))
def test_any_text_is_an_expression_or_a_mistake(text: str) -> None:
    try:
        found = list_paths(f"States.{text}")
    except PathSyntaxError as mistake:
        assert str(mistake)  # noqa: PT017 - both outcomes are correct
    else:
        assert all(path.text in text for path in found)
