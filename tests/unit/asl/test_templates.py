"""Payload templates."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.templates import Template, compile_template
from unum_runtime.asl.states_errors import RuntimeFailure
from unum_runtime.errors import DefinitionError

BARE = ExpressionContext({})
STATIC_NAMES = st.text(max_size=5).filter(lambda name: not name.endswith(".$"))
STATIC = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STATIC_NAMES, inner, max_size=3),
    max_leaves=10,
)


def test_the_example_of_the_specification() -> None:
    template = compile_template(
        {
            "flagged": True,
            "parts": {"first.$": "$.vals[0]", "last3.$": "$.vals[-3:]"},
            "weekday.$": "$$.DayOfWeek",
        }
    )
    data = {"flagged": 7, "vals": [0, 10, 20, 30, 40, 50]}
    assert template.render(data, ExpressionContext({"DayOfWeek": "TUESDAY"})) == {
        "flagged": True,
        "parts": {"first": 0, "last3": [30, 40, 50]},
        "weekday": "TUESDAY",
    }


# Observed at AWS: localstack/localstack#12318.
def test_wildcard_after_a_missing_field_is_empty_but_a_missing_value_fails() -> None:
    assert compile_template({"found.$": "$.none[*].id"}).render({}, BARE) == {"found": []}
    with pytest.raises(RuntimeFailure, match="could not be found"):
        compile_template({"found.$": "$.none.id"}).render({}, BARE)


def test_fields_in_arrays_are_replaced_and_strings_are_not() -> None:
    template = compile_template({"all": [{"a.$": "$"}, "$.x", [{"b.$": "$[0]"}]]})
    assert template.render([1], BARE) == {"all": [{"a": [1]}, "$.x", [{"b": 1}]]}


@given(st.dictionaries(STATIC_NAMES, STATIC, max_size=4), STATIC)
def test_a_template_without_paths_is_itself(raw: dict[str, Any], data: Any) -> None:
    assert compile_template(raw).render(data, BARE) == raw


def test_a_payload_that_is_changed_does_not_change_the_next_one() -> None:
    template = compile_template({"list": [1, {"a": []}]})
    first = template.render({}, BARE)
    first["list"][1]["a"].append("changed")
    first["list"].append("changed")
    assert template.render({}, BARE) == {"list": [1, {"a": []}]}


def test_a_template_read_from_the_ir_works_unchecked() -> None:
    assert Template({"a.$": "$.x"}).render({"x": 1}, BARE) == {"a": 1}


# Recorded: AWS reports States.Runtime instead of the specification's States.ParameterPathFailure.
@pytest.mark.parametrize("text", ["$.no_such", "$$.no_such"])
def test_a_path_without_value(text: str) -> None:
    with pytest.raises(RuntimeFailure) as caught:
        compile_template({"value.$": text}).render({"int": 0}, ExpressionContext({"int": 0}))
    assert caught.value.error == "States.Runtime"
    assert caught.value.cause == (
        f"The JSONPath '{text}' specified for the field 'value.$' could not be found in the input '{{\"int\":0}}'"
    )


def test_variables_and_functions() -> None:
    template = compile_template({"next.$": "States.MathAdd($count.of[0], $.by)", "all.$": "$count"})
    rendered = template.render({"by": 2}, ExpressionContext({}, {"count": {"of": [3]}}))
    assert rendered == {"next": 5, "all": {"of": [3]}}


def test_a_variable_that_is_not_assigned() -> None:
    with pytest.raises(RuntimeFailure, match=r"'\$b' .* could not be found in the variables .* assigned: a$"):
        compile_template({"value.$": "$b"}).render({"b": 1}, ExpressionContext({}, {"a": 1}))


def test_a_long_input_does_not_make_a_long_cause() -> None:
    with pytest.raises(RuntimeFailure) as caught:
        compile_template({"value.$": "$.x"}).render({"text": "a" * 100_000}, BARE)
    assert len(caught.value.cause) < 1200


def test_all_problems_are_reported_with_their_places() -> None:
    raw = {
        "number.$": 5,
        "bad.$": "$.a[",
        "plain.$": "hello",
        "nested": [{"twice": 1, "twice.$": "$.a"}],
        "call.$": "States.Format('{}')",
        "variable.$": "$states.x",
        "unknown.$": "States.Default($.a, 1)",
    }
    with pytest.raises(DefinitionError) as caught:
        compile_template(raw, where="$.States.X.Parameters")
    assert [problem.path for problem in caught.value.problems] == [
        "$.States.X.Parameters['number.$']",
        "$.States.X.Parameters['bad.$']",
        "$.States.X.Parameters['plain.$']",
        "$.States.X.Parameters.nested[0]['twice.$']",
        "$.States.X.Parameters['call.$']",
        "$.States.X.Parameters['variable.$']",
        "$.States.X.Parameters['unknown.$']",
    ]


@pytest.mark.parametrize("raw", [True, None, 3])
def test_a_template_is_an_object_an_array_or_a_text(raw: Any) -> None:
    with pytest.raises(DefinitionError, match="expected an object, an array or a text"):
        compile_template(raw)


def test_paths_in_the_objects_of_an_array_are_evaluated() -> None:
    template = compile_template(["$.a", {"a.$": "$.a"}])
    assert template.render({"a": 1}, ExpressionContext({})) == ["$.a", {"a": 1}]
    assert compile_template("$.a").render({"a": 1}, ExpressionContext({})) == "$.a"
