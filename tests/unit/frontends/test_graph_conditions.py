"""Conditions of graphs hold where Python's operators say so, as far as types fit; evaluated as at run time."""

import operator
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_compiler import graph as g
from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.conditions import compile_condition
from unum_runtime.model.states import Json

Tested = tuple[g.Condition, Callable[[dict[str, Any]], bool]]
"""A condition, and what it means."""

ORDERS = (operator.lt, operator.le, operator.gt, operator.ge)
FIELDS = ("a", "b", "it's [odd].\\", "$")

numbers = st.integers(-3, 3) | st.sampled_from((0.5, -0.0, 2.0))
texts = st.sampled_from(("", "a", "b", "2", "1.0", "true"))
scalars = numbers | texts | st.booleans() | st.none()
fields = st.sampled_from(FIELDS)
data = st.fixed_dictionaries(dict.fromkeys(FIELDS, scalars))


def holds(condition: g.Condition, value: Json) -> bool:
    return compile_condition(dict(condition.rule)).holds(value, ExpressionContext(context_object={}))


def kind(value: Json) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)


def equal(left: Json, right: Json) -> bool:
    return kind(left) is kind(right) and left == right


def ordered(relation: Callable[[Any, Any], bool], left: Json, right: Json) -> bool:
    return kind(left) is kind(right) and kind(left) in (float, str) and relation(left, right)


def equality(field: str, other: Json) -> Tested:
    return g.out[field] == other, lambda values: equal(values[field], other)


def inequality(field: str, other: Json) -> Tested:
    return g.out[field] != other, lambda values: not equal(values[field], other)


def order(field: str, relation: Callable[[Any, Any], Any], other: Json) -> Tested:
    return relation(g.out[field], other), lambda values: ordered(relation, values[field], other)


def equality_of_fields(left: str, right: str) -> Tested:
    return g.out[left] == g.out[right], lambda values: equal(values[left], values[right])


def order_of_fields(left: str, relation: Callable[[Any, Any], Any], right: str) -> Tested:
    return relation(g.out[left], g.out[right]), lambda values: ordered(relation, values[left], values[right])


def membership(field: str, others: list[Json]) -> Tested:
    return g.out[field].one_of(*others), lambda values: any(equal(values[field], other) for other in others)


def conjunction(left: Tested, right: Tested) -> Tested:
    return left[0] & right[0], lambda values: left[1](values) and right[1](values)


def disjunction(left: Tested, right: Tested) -> Tested:
    return left[0] | right[0], lambda values: left[1](values) or right[1](values)


def negation(inner: Tested) -> Tested:
    return ~inner[0], lambda values: not inner[1](values)


comparisons = st.one_of(
    st.builds(equality, fields, scalars),
    st.builds(inequality, fields, scalars),
    st.builds(order, fields, st.sampled_from(ORDERS), numbers | texts),
    st.builds(equality_of_fields, fields, fields),
    st.builds(order_of_fields, fields, st.sampled_from(ORDERS), fields),
    st.builds(membership, fields, st.lists(scalars, min_size=1, max_size=3)),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(conjunction, inner, inner), st.builds(disjunction, inner, inner), st.builds(negation, inner)
    ),
    max_leaves=8,
)


@given(conditions, data)
def test_conditions_hold_where_python_says_so(condition: Tested, values: dict[str, Any]) -> None:
    built, means = condition
    assert holds(built, values) is means(values)


@given(st.lists(st.integers() | st.text(max_size=4), max_size=4), st.data())
def test_places_lead_where_pythons_subscripts_do(path: list[int | str], draw: st.DataObject) -> None:
    place, value = g.out, draw.draw(scalars)
    whole: Json = value
    for key in reversed(path):
        whole = {key: whole} if isinstance(key, str) else [whole]
    for key in path:
        place = place[0 if isinstance(key, int) else key]
    assert holds(place == value, whole)


def test_existence_and_patterns() -> None:
    assert holds(g.out["a"].exists(), {"a": None})
    assert not holds(g.out["a"].exists(), {})
    assert holds(g.out["a"].matches("log-*.txt"), {"a": "log-7.txt"})
    assert holds(~g.out["a"].exists() | (g.out["a"] == 1), {})


def test_times() -> None:
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert holds(g.out < noon, "2030-01-01T12:59:59+01:00")
    assert not holds(g.out == noon, "noon")


def test_variables_and_context_can_be_asked() -> None:
    context = ExpressionContext(context_object={"Execution": {"Name": "e"}}, variables={"n": 3})
    for condition in (g.var("n") > 2, g.context["Execution"]["Name"] == "e"):
        assert compile_condition(dict(condition.rule)).holds({}, context)


def test_what_is_combined_alike_is_not_nested() -> None:
    one, two, three = (g.out[name] == 1 for name in "abc")
    assert (one & two & three).rule == {"And": [one.rule, two.rule, three.rule]}
    assert (one & (two | three)).rule == {"And": [one.rule, {"Or": [two.rule, three.rule]}]}


@pytest.mark.parametrize("name", ["a b", "it's", "\\", "ß", "1", ""])
def test_any_name_of_a_field_can_be_written(name: str) -> None:
    assert holds(g.out[name] == 1, {name: 1})
