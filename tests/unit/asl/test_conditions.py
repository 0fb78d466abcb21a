"""Choice rules of JSONPath states."""

from itertools import pairwise
from typing import Any

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.conditions import Condition, choose, compile_condition
from unum_runtime.asl.states_errors import NoChoiceMatched, RuntimeFailure
from unum_runtime.asl.timestamps import parse_timestamp
from unum_runtime.errors import DefinitionError

BARE = ExpressionContext({})
T = "2016-03-14T01:59:00Z"


def holds(operator: str, literal: Any, value: Any) -> bool:
    return compile_condition({"Variable": "$.v", operator: literal}).holds({"v": value}, BARE)


@pytest.mark.parametrize(
    ("suffix", "below", "equal", "above"),
    [
        ("Equals", False, True, False),
        ("LessThan", True, False, False),
        ("LessThanEquals", True, True, False),
        ("GreaterThan", False, False, True),
        ("GreaterThanEquals", False, True, True),
    ],
)
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("String", ("AB", "ABC", "B")),
        ("Numeric", (-1, 1.0, 1.5)),
        ("Timestamp", ("2016-03-14T01:58:59.999Z", T, "2016-03-14T01:59:00.001Z")),
    ],
)
@pytest.mark.parametrize("form", ["literal", "path"])
def test_comparisons(  # noqa: PLR0913 - a table of cases
    *, suffix: str, below: bool, equal: bool, above: bool, kind: str, values: tuple[Any, ...], form: str
) -> None:
    operator = f"{kind}{suffix}" if form == "literal" else f"{kind}{suffix}Path"
    rule = {"Variable": "$.v", operator: values[1] if form == "literal" else "$.w"}
    condition = compile_condition(rule)
    assert [condition.holds({"v": value, "w": values[1]}, BARE) for value in values] == [below, equal, above]


@pytest.mark.parametrize(
    ("operator", "literal"),
    [
        ("StringEquals", "a"),
        ("NumericEquals", 1),
        ("BooleanEquals", True),
        ("TimestampEquals", T),
        ("StringMatches", "*"),
    ],
)
def test_comparisons_of_different_types_are_false(operator: str, literal: Any) -> None:
    fitting = {"StringEquals": str, "StringMatches": str, "NumericEquals": float, "BooleanEquals": bool}.get(operator)
    values: list[Any] = [None, "x", 1.0, True, [], {}]
    others = [value for value in values if type(value) is not fitting]
    assert not any(holds(operator, literal, value) for value in others)
    if operator != "StringMatches":
        path_form = compile_condition({"Variable": "$.v", f"{operator}Path": "$.w"})
        assert not any(path_form.holds({"v": literal, "w": value}, BARE) for value in others)


def test_true_differs_from_one() -> None:
    assert not holds("NumericEquals", 1, value=True)
    assert not holds("BooleanEquals", literal=True, value=1)


@pytest.mark.parametrize(
    ("operator", "fits"),
    [
        ("IsNull", [None]),
        ("IsString", ["a", "", T]),
        ("IsNumeric", [0, 1.5]),
        ("IsBoolean", [True, False]),
        ("IsTimestamp", [T]),
    ],
)
def test_type_tests(operator: str, fits: list[Any]) -> None:
    everything: list[Any] = [None, "a", "", T, 0, 1.5, True, False, [], {}]
    fitting = [value for value in everything if holds(operator, literal=True, value=value)]
    assert [(type(value), value) for value in fitting] == [(type(value), value) for value in fits]
    assert all(holds(operator, literal=False, value=v) != holds(operator, literal=True, value=v) for v in everything)


# No recording has a missing path; the specification excepts IsPresent only.
def test_a_missing_variable_is_an_error_except_for_is_present() -> None:
    present = compile_condition({"Variable": "$.v", "IsPresent": True})
    absent = compile_condition({"Variable": "$.v", "IsPresent": False})
    assert (present.holds({}, BARE), absent.holds({}, BARE)) == (False, True)
    assert (present.holds({"v": None}, BARE), absent.holds({"v": None}, BARE)) == (True, False)
    for rule in ({"Variable": "$.x", "IsNull": True}, {"Variable": "$.v", "NumericEqualsPath": "$.x"}):
        with pytest.raises(RuntimeFailure, match=r"Invalid path '\$.x'") as caught:
            compile_condition(rule).holds({"v": 1}, BARE)
        assert caught.value.error == "States.Runtime"


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("foo*.log", ["foo23.log", "foo.log"], ["foo.lo", "xfoo.log", "foolog"]),
        ("*.log", ["zebra.log", ".log", "a\n.log"], ["log"]),
        ("foo*.*", ["foobar.zebra"], ["foobar"]),
        ("*", ["", "x"], []),
        ("", [""], ["x"]),
        ("a*a", ["aa", "aba"], ["a"]),
        ("*ab*ab*", ["abab", "xabyabz"], ["ab"]),
        ("a*b*b", ["abb", "a-b-b"], ["ab"]),
        (r"a\*b", ["a*b"], ["axb"]),
        (r"a\\*", ["a\\", "a\\x"], ["a*"]),
        ("a.c[?]", ["a.c[?]"], ["abc"]),
    ],
)
def test_string_matches(pattern: str, matching: list[str], other: list[str]) -> None:
    assert all(holds("StringMatches", pattern, text) for text in matching)
    assert not any(holds("StringMatches", pattern, text) for text in other)


def test_a_hostile_pattern_takes_no_time() -> None:
    assert not holds("StringMatches", "a*" * 40 + "b", "a" * 20_000)


@pytest.mark.parametrize(
    "text",
    [
        "2012-10-09T19:00:55",
        "2023-02-24",
        "2016-03-14t01:59:00Z",
        "2016-03-14T01:59:00z",
        "2016-03-14 01:59:00Z",
        "2016-02-30T00:00:00Z",
        "2016-03-14T25:00:00Z",
        "2016-03-14T01:59Z",
        "2016-03-14T01:59:00.Z",
        f" {T}",
    ],
)
def test_not_a_timestamp(text: str) -> None:
    assert parse_timestamp(text) is None


def test_timestamps_have_any_precision() -> None:
    assert parse_timestamp("2012-10-09T20:00:55+01:00") == parse_timestamp("2012-10-09T19:00:55.000Z")
    assert parse_timestamp("2012-10-09T19:00:55Z") != parse_timestamp("2012-10-09T19:00:55.000000001Z")
    ordered = ["55Z", "55.000000001Z", "55.09Z", "55.1Z", "55.25Z", "55.3Z"]
    moments = [parse_timestamp(f"2012-10-09T19:00:{end}") for end in ordered]
    assert all(earlier < later for earlier, later in pairwise(moments))  # type: ignore[operator]
    assert parse_timestamp("0001-01-01T00:00:00+10:00") < parse_timestamp("9999-12-31T23:59:59-10:00")  # type: ignore[operator]


def test_boolean_expressions_stop_when_the_answer_is_known() -> None:
    fails = {"Variable": "$.missing", "IsNull": True}
    true, false = {"Variable": "$.v", "IsNull": True}, {"Variable": "$.v", "IsNull": False}
    data = {"v": None}
    assert compile_condition({"Or": [false, true, fails]}).holds(data, BARE)
    assert not compile_condition({"And": [true, false, fails]}).holds(data, BARE)
    assert not compile_condition({"Not": {"Or": [{"And": [true, true]}, false]}}).holds(data, BARE)
    with pytest.raises(RuntimeFailure):
        compile_condition({"And": [true, fails]}).holds(data, BARE)


def test_paths_may_read_the_context_and_select_several_values() -> None:
    rule = {"Variable": "$$.Execution.Name", "StringEqualsPath": "$.name", "Next": "X", "Comment": "same name"}
    assert compile_condition(rule).holds({"name": "x"}, ExpressionContext({"Execution": {"Name": "x"}}))
    assert compile_condition({"Variable": "$.a[?(@.b)]", "IsNull": False}).holds({"a": []}, BARE)


def test_a_rule_read_from_the_ir_works_unchecked() -> None:
    assert Condition({"Variable": "$", "IsNull": True}).holds(None, BARE)


@pytest.mark.parametrize(
    ("rule", "place", "message"),
    [
        ("x", "$", "expected a Choice rule"),
        ({}, "$", "expected one comparison operator, or And, Or or Not; got none"),
        ({"Variable": "$.v", "IsNull": True, "IsString": True}, "$", "got IsNull and IsString"),
        ({"IsNull": True}, "$.Variable", "expected a path"),
        ({"Variable": "v", "IsNull": True}, "$.Variable", "a path begins with $"),
        ({"Variable": "$.v", "IsNull": "true"}, "$.IsNull", "expected true or false, got 'true'"),
        ({"Variable": "$.v", "IsPresent": 1}, "$.IsPresent", "expected true or false, got 1"),
        ({"Variable": "$.v", "StringEquals": 1}, "$.StringEquals", "expected a string, got 1"),
        ({"Variable": "$.v", "NumericEquals": True}, "$.NumericEquals", "expected a number, got True"),
        ({"Variable": "$.v", "TimestampEquals": "soon"}, "$.TimestampEquals", "expected a timestamp"),
        ({"Variable": "$.v", "StringMatches": "a\\b"}, "$.StringMatches", "expected * or another backslash"),
        ({"Variable": "$.v", "StringEqualsPath": 1}, "$.StringEqualsPath", "expected a path"),
        ({"Variable": "$.v", "StringMatchesPath": "$.w"}, "$.StringMatchesPath", "unknown field of a Choice rule"),
        ({"Variable": "$.v", "BooleanLessThan": True}, "$.BooleanLessThan", "unknown field of a Choice rule"),
        ({"And": []}, "$.And", "at least one Choice rule"),
        ({"Or": {}}, "$.Or", "expected an array"),
        ({"Not": []}, "$.Not", "expected a Choice rule"),
        ({"Not": {"Variable": "$.v", "IsNull": True, "Next": "X"}}, "$.Not.Next", "in the rules of Choices only"),
        ({"And": [{"Variable": "$.v"}]}, "$.And[0]", "expected one comparison operator"),
        ({"Not": {"Variable": "$.v", "IsNull": True, "Assign": {}}}, "$.Not.Assign", "in the rules of Choices only"),
        ({"Condition": "{% true %}"}, "$.Condition", "belongs to JSONata"),
    ],
)
def test_problems(rule: Any, place: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        compile_condition(rule)
    assert any(problem.path == place and message in problem.message for problem in caught.value.problems)


def test_all_problems_are_reported() -> None:
    rule = {"And": [{"Variable": "x", "IsNull": 1}, {"Variable": "$states", "IsNull": True}]}
    with pytest.raises(DefinitionError) as caught:
        compile_condition(rule, where="$.Choices[0]")
    places = ["$.Choices[0].And[0].Variable", "$.Choices[0].And[0].IsNull", "$.Choices[0].And[1].Variable"]
    assert [problem.path for problem in caught.value.problems] == places


def test_a_rule_has_one_connective() -> None:
    with pytest.raises(DefinitionError, match="one of And, Or and Not, got And and Not"):
        compile_condition({"And": [], "Not": {}})


def test_variables_on_both_sides() -> None:
    condition = compile_condition({"Variable": "$guess", "StringEqualsPath": "$answers[0]"})
    assert condition.holds({}, ExpressionContext({}, {"guess": "a", "answers": ["a"]}))
    assert not condition.holds({}, ExpressionContext({}, {"guess": "a", "answers": ["b"]}))
    with pytest.raises(RuntimeFailure, match=r"Invalid path '\$guess'"):
        condition.holds({"guess": "a"}, BARE)


def test_a_variable_may_be_absent() -> None:
    present = compile_condition({"Variable": "$v", "IsPresent": True})
    assert [present.holds({}, ExpressionContext({}, variables)) for variables in ({"v": None}, {"w": 1})] == [
        True,
        False,
    ]


def test_choose_takes_the_first_that_holds_else_the_default() -> None:
    rules = [
        (compile_condition({"Variable": "$.n", "NumericGreaterThan": 5}), "big"),
        (compile_condition({"Variable": "$.n", "NumericGreaterThan": 1}), "some"),
    ]
    assert [choose(rules, "few", {"n": n}, BARE) for n in (9, 3, 0)] == ["big", "some", "few"]
    with pytest.raises(NoChoiceMatched) as caught:  # no recording; error name from the specification
        choose(rules, None, {"n": 0}, BARE)
    assert caught.value.error == "States.NoChoiceMatched"
