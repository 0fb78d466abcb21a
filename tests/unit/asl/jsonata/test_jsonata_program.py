from typing import Any

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata import evaluation_limits
from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
from unum_runtime.asl.jsonata.query_errors import QueryEvaluationError
from unum_runtime.asl.states_errors import NoChoiceMatched, RuntimeFailure
from unum_runtime.model.states import Catcher

NOON_MS = 1_704_110_400_250
CONTEXT = ExpressionContext({"Execution": {"Name": "e1"}}, {"total": 5, "nothing": None}, NOON_MS, "seed")
ORDER = {"order": {"items": [{"sku": "a", "price": 3}, {"sku": "b", "price": 4}]}, "empty": []}


def program(**data: Any) -> JsonataProgram:
    return JsonataProgram(data)


def output(value: Any, raw: Any = ORDER, result: Any = None) -> Any:
    return program(Output=value).output(raw, result, CONTEXT).value


def test_arguments_are_the_input_without_the_field() -> None:
    assert program().arguments(ORDER, CONTEXT) is ORDER


def test_expressions_are_strings_in_braces_and_all_else_is_literal() -> None:
    template = {
        "sum": "{% $sum($states.input.order.items.price) %}",
        "tight": "{%1+1%}",
        "literals": ["$states.input", " {% 1 %} ", "a {% 1 %} b", None, 0.5, "{%}"],
        "$": "$",
    }
    assert program(Arguments=template).arguments(ORDER, CONTEXT) == template | {"sum": 7, "tight": 2}


def test_a_whole_field_may_be_an_expression() -> None:
    assert program(Arguments="{% $states.input.order.items[price > 3].sku %}").arguments(ORDER, CONTEXT) == "b"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$total + 1", 6),
        ("$nothing", None),
        ("$states.input.empty", []),
        ("$states.context.Execution.Name", "e1"),
        ("$states.result.ok", True),
        ("$exists($missing) ? 1 : 2", 2),
        ("$map([1, null], function($v) { $v })", [1, None]),
        ("{'there': $nothing, 'not there': $missing}", {"there": None}),
        ("6 / 2", 3),
        ("0.1 + 0.2", 0.30000000000000004),
        ("$states.input.empty{'a': 1}", {"a": 1}),
        ("($total := 9; $total)", 9),
        ("$now()", "2024-01-01T12:00:00.250Z"),
        ("$now('[Y]')", "2024"),
        ("$millis()", NOON_MS),
    ],
)
def test_values_of_expressions(expression: str, value: Any) -> None:
    assert output(f"{{% {expression} %}}", result={"ok": True}) == value


@pytest.mark.parametrize(
    ("expression", "cause"),
    [
        ("$missing", "returned nothing (undefined)."),
        ("$states.errorOutput", "returned nothing (undefined)."),
        ("function($x) { $x }", "returned an unsupported result type."),
        ("{'f': $sum}", "returned an unsupported result type."),
        ("1 + 'a'", "threw an error during evaluation. T2002: "),
        ("1 / 0 + 1", "threw an error during evaluation. "),
        ("$error('an Object broke')", "threw an error during evaluation. D3137: an Object broke"),
        ("$split('a', 'b', -1)", "D3020: Third argument of split function must evaluate to a positive number"),
        ("$eval('1')", "threw an error during evaluation. T1006: "),
    ],
)
def test_failures_of_expressions(expression: str, cause: str) -> None:
    with pytest.raises(QueryEvaluationError) as failure:
        output({"a": [f"{{% {expression} %}}"]})
    assert failure.value.error == "States.QueryEvaluationError"
    assert failure.value.cause.startswith(
        f"The JSONata expression '{expression}' specified for the field 'Output/a/0' "
    )
    assert cause in failure.value.cause


def test_a_syntax_error_fails_the_state() -> None:
    with pytest.raises(RuntimeFailure, match=r"Output/a: '\$sum\(' is no JSONata expression: Expected \)"):
        output({"a": "{% $sum( %}"})


@pytest.mark.parametrize(
    "expression",
    [
        "($f := function($x) { $f($x + 1) }; $f(1))",
        "($f := function($x) { 1 + $f($x + 1) }; $f(1))",
        "$count([1..2000000])",
        "$count($range(1, 2000000, 1))",
    ],
)
def test_runaways_end(expression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_limits, "MAX_STEPS", 20_000)
    with pytest.raises(QueryEvaluationError, match="threw an error"):
        output(f"{{% {expression} %}}")


def test_output_and_assign_see_the_variables_from_before() -> None:
    assign = {"total": "{% $total + 1 %}", "double": "{% $total * 2 %}", "word": "x"}
    left = program(Output="{% $total %}", Assign=assign).output(ORDER, None, CONTEXT)
    assert left == (5, {"total": 6, "double": 10, "word": "x", "nothing": None})
    assert CONTEXT.variables == {"total": 5, "nothing": None}


def test_without_output_a_state_passes_its_result() -> None:
    assert program().output(ORDER, "done", CONTEXT) == ("done", CONTEXT.variables)


def test_a_state_without_a_result_shows_none() -> None:
    whole = JsonataProgram({"Output": "{% $keys($states) %}"}, has_result=False)
    assert whole.output(ORDER, ORDER, CONTEXT).value == ["input", "context"]


def choice(*rules: dict[str, Any], default: str | None = "else", **data: Any) -> JsonataProgram:
    return JsonataProgram(data, [(rule, f"target{index}") for index, rule in enumerate(rules)], default)


def test_the_first_matching_rule_decides_output_and_variables() -> None:
    machine = choice(
        {"Condition": False},
        {"Condition": "{% $total > 4 %}", "Output": {"n": "{% $total %}"}, "Assign": {"total": 0}},
        {"Condition": True},
        Output="not this one",
        Assign={"total": 1},
    )
    assert machine.choose(ORDER, CONTEXT) == ("target1", ({"n": 5}, {"total": 0, "nothing": None}))


def test_a_rule_without_output_passes_the_input() -> None:
    assert choice({"Condition": True}, Output="mine").choose(ORDER, CONTEXT) == ("target0", (ORDER, CONTEXT.variables))


def test_the_states_own_fields_are_for_the_default() -> None:
    target, left = choice({"Condition": False}, Output="mine", Assign={"a": 1}).choose(ORDER, CONTEXT)
    assert (target, left.value, left.variables["a"]) == ("else", "mine", 1)


def test_a_choice_without_default_fails_when_no_rule_holds() -> None:
    with pytest.raises(NoChoiceMatched):
        choice({"Condition": False}, default=None).choose(ORDER, CONTEXT)


def test_a_condition_is_true_or_false() -> None:
    with pytest.raises(QueryEvaluationError, match="Expected 'boolean', but was 'number' for value: 5"):
        choice({"Condition": "{% $total %}"}).choose(ORDER, CONTEXT)


def test_a_catcher_sees_the_error_and_the_input_but_no_result() -> None:
    fields = {
        "Output": "{% [$states.errorOutput.Error, $keys($states)] %}",
        "Assign": {"why": "{% $states.errorOutput %}"},
    }
    machine = JsonataProgram({}, catchers=[Catcher(errors=("E",), next="N", data=fields)])
    error = {"Error": "E", "Cause": "c"}
    left = machine.catch(0, ORDER, error, CONTEXT)
    assert left.value == ["E", "input", "context", "errorOutput"]
    assert left.variables["why"] == error


def test_a_catcher_without_output_passes_the_error() -> None:
    machine = JsonataProgram({"Output": "{% $missing %}"}, catchers=[Catcher(errors=("E",), next="N", data={})])
    assert machine.catch(0, ORDER, {"Error": "E", "Cause": ""}, CONTEXT) == (
        {"Error": "E", "Cause": ""},
        CONTEXT.variables,
    )


def test_items_of_a_map() -> None:
    assert program().items([1, 2], CONTEXT) == [1, 2]
    assert program(Items=[1, "{% $total %}"]).items({}, CONTEXT) == [1, 5]
    assert program(Items="{% $states.input.order.items.price %}").items(ORDER, CONTEXT) == [3, 4]


@pytest.mark.parametrize("raw", [{"a": 1}, "text", None, 3])
def test_items_are_an_array(raw: Any) -> None:
    with pytest.raises(QueryEvaluationError, match="Expected 'array', but was"):
        program().items(raw, CONTEXT)


def test_a_distributed_map_takes_the_fields_of_an_object() -> None:
    machine = JsonataProgram({"Items": "{% $states.input %}"}, takes_objects=True)
    assert machine.items({"a": 1}, CONTEXT) == [{"Key": "a", "Value": 1}]


def test_an_item_selector_sees_the_item_and_the_input() -> None:
    selector = {"at": "{% $states.context.Map.Item.Index %}", "of": "{% $count($states.input) %}"}
    selector |= {"value": "{% $states.context.Map.Item.Value %}", "run": "{% $states.context.Execution.Name %}"}
    assert program(ItemSelector=selector).items(["x", None], CONTEXT) == [
        {"at": 0, "of": 2, "value": "x", "run": "e1"},
        {"at": 1, "of": 2, "value": None, "run": "e1"},
    ]


def test_items_of_the_input_have_its_name_as_source() -> None:
    assert program(ItemSelector="{% $states.context.Map.Item.Source %}").items([1], CONTEXT) == ["STATE_DATA"]


def test_items_in_batches() -> None:
    batcher = {"MaxItemsPerBatch": "{% 2 %}", "BatchInput": {"total": "{% $total %}"}}
    batches = program(ItemBatcher=batcher).items([1, 2, 3], CONTEXT)
    assert batches == [{"BatchInput": {"total": 5}, "Items": [1, 2]}, {"BatchInput": {"total": 5}, "Items": [3]}]


def test_batches_are_as_long_as_their_text_may_be() -> None:
    room_for_two = len('{"Items":["aa","bb"]}')
    machine = program(ItemBatcher={"MaxInputBytesPerBatch": room_for_two})
    batches = machine.items(["aa", "bb", "cc", "too long for a batch"], CONTEXT)
    assert batches == [{"Items": ["aa", "bb"]}, {"Items": ["cc"]}, {"Items": ["too long for a batch"]}]
    large = ["a" * (200 * 1024), "b" * (200 * 1024)]
    assert program(ItemBatcher={"MaxItemsPerBatch": 9}).items(large, CONTEXT) == [{"Items": [one]} for one in large]


@pytest.mark.parametrize(
    ("field", "value", "number"),
    [
        ("TimeoutSeconds", "{% $total %}", 5),
        ("MaxConcurrency", "{% $limit := 1.0 %}", 1),
        ("ToleratedFailurePercentage", "{% 12.5 %}", 12.5),
        ("ToleratedFailureCount", 3, 3),
    ],
)
def test_numbers(field: str, value: Any, number: float) -> None:
    assert program(**{field: value}).number(field, ORDER, CONTEXT) == number
    assert program().number(field, ORDER, CONTEXT) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("TimeoutSeconds", "{% '5' %}"),
        ("TimeoutSeconds", "{% 0 %}"),
        ("TimeoutSeconds", "{% 1.5 %}"),
        ("HeartbeatSeconds", "{% true %}"),
        ("MaxConcurrency", "{% -1 %}"),
        ("ToleratedFailurePercentage", "{% 101 %}"),
    ],
)
def test_numbers_that_a_field_does_not_accept(field: str, value: Any) -> None:
    with pytest.raises(QueryEvaluationError, match=f"specified for the field '{field}'"):
        program(**{field: value}).number(field, ORDER, CONTEXT)


def test_a_wait_counts_from_now_or_names_a_moment() -> None:
    assert program(Seconds="{% $total %}").until_ms(ORDER, CONTEXT) == NOON_MS + 5000
    assert program(Timestamp="2024-01-01T12:00:01.5Z").until_ms(ORDER, CONTEXT) == NOON_MS + 1250
    assert program(Timestamp="{% $now() %}").until_ms(ORDER, CONTEXT) == NOON_MS


@pytest.mark.parametrize("data", [{"Seconds": "{% -1 %}"}, {"Timestamp": "{% 'noon' %}"}, {"Timestamp": "{% 1 %}"}])
def test_a_wait_without_valid_time_fails(data: dict[str, Any]) -> None:
    with pytest.raises(QueryEvaluationError):
        program(**data).until_ms(ORDER, CONTEXT)


def test_error_and_cause_of_a_fail_are_texts_or_absent() -> None:
    assert program(Error="E", Cause="{% 'total ' & $total %}").failure(ORDER, CONTEXT) == ("E", "total 5")
    assert program().failure(ORDER, CONTEXT) == (None, None)
    with pytest.raises(QueryEvaluationError, match="Expected 'string'"):
        program(Error="{% $total %}").failure(ORDER, CONTEXT)
