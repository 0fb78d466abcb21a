"""Programs of JSONPath states."""

from typing import Any

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.jsonpath_program import JsonPathProgram
from unum_runtime.asl.languages import program
from unum_runtime.asl.program import StateOutput
from unum_runtime.asl.states_errors import NoChoiceMatched, ResultPathMatchFailure, RuntimeFailure
from unum_runtime.model.states import Catcher, Form, Json, Task

CONTEXT = ExpressionContext({"Execution": {"Name": "run"}}, {"old": 1, "n": 2}, now_ms=1_000, seed="e/1")


def of(**fields: Json) -> JsonPathProgram:
    return JsonPathProgram(fields)


def test_a_state_is_its_program() -> None:
    catcher = Catcher(errors=("A",), next="B", data={"ResultPath": None})
    task = Task(
        name="T", scope=None, data={"InputPath": "$.x"}, next=None, function="f", form=Form.DIRECT, catch=(catcher,)
    )
    assert program(task).arguments({"x": 5}, CONTEXT) == 5
    assert program(task).catch(0, "raw", {"Error": "A", "Cause": ""}, CONTEXT) == StateOutput("raw", CONTEXT.variables)


# Recorded: a state does not see its own assignments, and ``$`` in Assign is the result before OutputPath.
def test_variables_change_after_the_state() -> None:
    fields = of(
        Assign={"old.$": "$.Payload.value", "next.$": "States.MathAdd($old, 1)", "fix": [1]},
        ResultSelector={"was.$": "$old", "got.$": "$.Payload.value"},
        ResultPath="$.r",
        OutputPath="$.r",
    )
    left = fields.output({"a": 1}, {"Payload": {"value": 9}}, CONTEXT)
    assert left == StateOutput({"was": 1, "got": 9}, {"old": 9, "n": 2, "next": 2, "fix": [1]})
    assert CONTEXT.variables == {"old": 1, "n": 2}


def test_a_state_without_assign_leaves_the_variables_as_they_are() -> None:
    assert of().output({}, "result", CONTEXT) == StateOutput("result", CONTEXT.variables)


def test_a_pass_passes_its_result() -> None:
    fields = of(Parameters={"a.$": "$.x"}, Result={"b": 2}, ResultPath="$.y", Assign={"got.$": "$.b"})
    raw = {"x": 1}
    assert fields.output(raw, fields.arguments(raw, CONTEXT), CONTEXT) == StateOutput(
        {"x": 1, "y": {"b": 2}}, {"old": 1, "n": 2, "got": 2}
    )


@pytest.mark.parametrize(
    ("n", "target", "variables"),
    [
        (9, "big", {"old": 1, "n": 2, "size": 9}),
        (3, "some", {"old": 1, "n": 2}),
        (0, "few", {"old": 1, "n": 2, "size": "unknown"}),
    ],
)
def test_only_the_chosen_branch_assigns(n: int, target: str, variables: dict[str, Any]) -> None:
    rules: list[tuple[dict[str, Json], str]] = [
        ({"Variable": "$.n", "NumericGreaterThan": 5, "Assign": {"size.$": "$.n"}}, "big"),
        ({"Variable": "$.n", "NumericGreaterThanPath": "$n"}, "some"),
    ]
    fields = JsonPathProgram({"InputPath": "$.in", "Assign": {"size": "unknown"}}, rules, "few")
    assert fields.choose({"in": {"n": n}}, CONTEXT) == (target, StateOutput({"n": n}, variables))


# No recording; error name from the specification.
def test_no_rule_and_no_default() -> None:
    with pytest.raises(NoChoiceMatched):
        JsonPathProgram({}, [({"Variable": "$", "IsNull": True}, "X")]).choose({}, CONTEXT)


def test_a_catcher_has_paths_and_variables_of_its_own() -> None:
    data = {"ResultPath": "$.error", "Assign": {"why.$": "$.Cause"}}
    fields = JsonPathProgram(
        {"ResultPath": "$.result", "OutputPath": "$.result", "Assign": {"old": 0}},
        catchers=[Catcher(errors=("A",), next="B", data=data), Catcher(errors=("B",), next="B", data={})],
    )
    error = {"Error": "A", "Cause": "c"}
    assert fields.catch(0, {"x": 1}, error, CONTEXT) == StateOutput(
        {"x": 1, "error": error}, {"old": 1, "n": 2, "why": "c"}
    )
    assert fields.catch(1, {"x": 1}, error, CONTEXT).value == error
    with pytest.raises(ResultPathMatchFailure):
        fields.catch(0, "no object", error, CONTEXT)


class TestItems:
    def test_items_path_and_selector(self) -> None:
        selector = {"item.$": "$$.Map.Item.Value", "at.$": "$$.Map.Item.Index", "of.$": "$.name", "n.$": "$n"}
        fields = of(InputPath="$.in", ItemsPath="$.all", ItemSelector=selector)
        assert fields.items({"in": {"all": ["a", None], "name": "x"}}, CONTEXT) == [
            {"item": "a", "at": 0, "of": "x", "n": 2},
            {"item": None, "at": 1, "of": "x", "n": 2},
        ]

    @pytest.mark.parametrize(
        ("fields", "raw", "items"),
        [
            ({}, [1, [2]], [1, [2]]),
            ({}, [], []),
            ({"ItemsPath": "$.a[0].b"}, {"a": [{"b": [3]}]}, [3]),
            ({"ItemsPath": "$all"}, {}, [4]),
            ({"ItemsPath": "$$.Names"}, {}, ["z"]),
        ],
    )
    def test_sources_of_items(self, fields: dict[str, Json], raw: Json, items: list[Json]) -> None:
        assert of(**fields).items(raw, ExpressionContext({"Names": ["z"]}, {"all": [4]})) == items

    def test_items_of_the_input_have_its_name_as_source(self) -> None:
        fields = of(ItemSelector={"s.$": "$$.Map.Item.Source"})
        assert fields.items([1], CONTEXT) == [{"s": "STATE_DATA"}]

    # Recorded: with an ItemReader, a path without value is no error.
    def test_items_from_an_item_reader(self) -> None:
        selector = {"v.$": "$$.Map.Item.Value", "of.$": "$.name"}
        fields = of(ItemsPath="$.missing", ItemSelector=selector, ItemBatcher={"MaxItemsPerBatch": 2})
        assert fields.items({"name": "x"}, CONTEXT, read=[1, 2, 3]) == [
            {"Items": [{"v": 1, "of": "x"}, {"v": 2, "of": "x"}]},
            {"Items": [{"v": 3, "of": "x"}]},
        ]

    @pytest.mark.parametrize(
        ("selector", "items"),
        [
            ({}, [{"Key": "a", "Value": 1}, {"Key": "b", "Value": [2]}]),
            (
                {"ItemSelector": {"k.$": "$$.Map.Item.Key", "i.$": "$$.Map.Item.Index"}},
                [{"k": "a", "i": 0}, {"k": "b", "i": 1}],
            ),
        ],
    )
    def test_the_items_of_an_object_are_its_fields_in_a_distributed_map(self, selector: Json, items: Json) -> None:
        assert JsonPathProgram(selector, takes_objects=True).items({"a": 1, "b": [2]}, CONTEXT) == items

    @pytest.mark.parametrize("found", ["text", 5, None, True, {"a": 1}, {}])
    def test_values_without_items(self, found: Json) -> None:
        with pytest.raises(RuntimeFailure, match=r"'\$\.x' must point to array"):
            of(ItemsPath="$.x").items({"x": found}, CONTEXT)

    @pytest.mark.parametrize("found", ["text", 5, None, True])
    def test_values_without_items_of_a_distributed_map(self, found: Json) -> None:
        with pytest.raises(RuntimeFailure, match=r"'\$\.x' must point to array or object"):
            JsonPathProgram({"ItemsPath": "$.x"}, takes_objects=True).items({"x": found}, CONTEXT)

    def test_each_item_has_its_own_random_numbers(self) -> None:
        first, second = of(ItemSelector={"id.$": "States.UUID()"}).items([1, 2], CONTEXT)
        assert first != second

    def test_batches_limited_by_items(self) -> None:
        batcher = {"MaxItemsPerBatchPath": "$.per", "BatchInput": {"by.$": "$.name", "n.$": "$n"}}
        fields = of(ItemsPath="$.all", ItemSelector={"v.$": "$$.Map.Item.Value"}, ItemBatcher=batcher)
        common = {"by": "x", "n": 2}
        assert fields.items({"per": 2, "name": "x", "all": [1, 2, 3]}, CONTEXT) == [
            {"BatchInput": common, "Items": [{"v": 1}, {"v": 2}]},
            {"BatchInput": common, "Items": [{"v": 3}]},
        ]
        assert fields.items({"per": 2, "name": "x", "all": []}, CONTEXT) == []

    def test_batches_limited_by_bytes(self) -> None:
        items = ["aaaa", "bbbb", "c" * 50, "dd"]
        limit = len('{"Items":["aaaa","bbbb"]}')
        batches = of(ItemBatcher={"MaxInputBytesPerBatch": limit, "MaxItemsPerBatch": 9}).items(items, CONTEXT)
        assert batches == [{"Items": ["aaaa", "bbbb"]}, {"Items": ["c" * 50]}, {"Items": ["dd"]}]
        # Step Functions Developer Guide, "ItemBatcher": without limits, a batch has at most 256 KiB.
        large = ["a" * (100 * 1024), "b" * (100 * 1024), "c" * (100 * 1024)]
        by_items = of(ItemBatcher={"MaxItemsPerBatch": 9}).items(large, CONTEXT)
        assert by_items == [{"Items": large[:2]}, {"Items": large[2:]}]
        for unlimited in ({"MaxItemsPerBatch": 0}, {"MaxInputBytesPerBatch": 0}):
            assert of(ItemBatcher=unlimited).items(large, CONTEXT) == [{"Items": large[:2]}, {"Items": large[2:]}]
        smaller = of(ItemBatcher={"MaxInputBytesPerBatch": limit - 1}).items(items[:2], CONTEXT)
        assert smaller == [{"Items": ["aaaa"]}, {"Items": ["bbbb"]}]


class TestNumbers:
    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({}, None),
            ({"TimeoutSeconds": 5}, 5),
            ({"TimeoutSecondsPath": "$.t"}, 7),
            ({"TimeoutSecondsPath": "$n"}, 2),
            ({"TimeoutSecondsPath": "$$.State.Limit"}, 3),
            ({"InputPath": "$.in", "TimeoutSecondsPath": "$.t", "Parameters": {"t": 1}}, 8),
        ],
    )
    def test_sources_of_numbers(self, fields: dict[str, Json], found: float | None) -> None:
        context = ExpressionContext({"State": {"Limit": 3}}, {"n": 2})
        assert of(**fields).number("TimeoutSeconds", {"t": 7, "in": {"t": 8}}, context) == found

    # Recorded: text of an integer counts as an integer; the cause for other text is AWS's.
    @pytest.mark.parametrize(("value", "found"), [(0, 0), ("1", 1), (3.0, 3), ("12", 12)])
    def test_texts_of_integers(self, value: Json, found: int) -> None:
        read = of(MaxConcurrencyPath="$.m").number("MaxConcurrency", {"m": value}, CONTEXT)
        assert (type(read), read) == (int, found)

    @pytest.mark.parametrize("value", ["NoNumber", {}, 1.5, None, True, [1], "", "1.5", "inf", "nan"])
    def test_texts_that_are_not_integers(self, value: Json) -> None:
        with pytest.raises(RuntimeFailure) as caught:
            of(MaxConcurrencyPath="$.m").number("MaxConcurrency", {"m": value}, CONTEXT)
        assert caught.value.error == "States.Runtime"
        assert "The MaxConcurrencyPath field refers to value" in caught.value.cause
        assert "which is not a valid integer: $.m" in caught.value.cause

    @pytest.mark.parametrize(
        ("field", "value", "cause"),
        [
            ("ToleratedFailureCount", -1, "ToleratedFailureCount cannot be negative."),
            ("ToleratedFailurePercentage", 100.5, "must be a number from 0 to 100"),
            ("TimeoutSeconds", 0, "must be an integer from 1 to 99999999"),
            ("Seconds", 10**9, "must be an integer from 0 to 99999999"),
        ],
    )
    def test_bounds(self, field: str, value: float, cause: str) -> None:
        with pytest.raises(RuntimeFailure, match=cause):
            JsonPathProgram({f"{field}Path": "$"}).number(field, value, CONTEXT)

    def test_a_percentage_may_have_a_fraction(self) -> None:
        fields = of(ToleratedFailurePercentagePath="$")
        assert [fields.number("ToleratedFailurePercentage", value, CONTEXT) for value in (0.5, "2.5", 100)] == [
            0.5,
            2.5,
            100,
        ]

    def test_a_number_path_without_value(self) -> None:
        with pytest.raises(RuntimeFailure, match=r"Invalid path '\$.t' : No results for path: \$\['t'\]"):
            of(TimeoutSecondsPath="$.t").number("TimeoutSeconds", {}, CONTEXT)


class TestWait:
    @pytest.mark.parametrize(
        ("fields", "until_ms"),
        [
            ({"Seconds": 5}, 6_000),
            ({"Seconds": 0}, 1_000),
            ({"SecondsPath": "$.s"}, 4_000),
            ({"Timestamp": "1970-01-01T00:00:09Z"}, 9_000),
            ({"Timestamp": "1970-01-01T01:00:00.0075+01:00"}, 7),
            ({"TimestampPath": "$.t"}, 1_458_000_000_250),
            ({"InputPath": "$.in", "TimestampPath": "$"}, 0),
        ],
    )
    def test_the_end_of_a_wait(self, fields: dict[str, Json], until_ms: int) -> None:
        raw = {"s": "3", "t": "2016-03-15T00:00:00.25Z", "in": "1970-01-01T00:00:00Z"}
        assert of(**fields).until_ms(raw, CONTEXT) == until_ms

    def test_an_invalid_timestamp(self) -> None:
        with pytest.raises(RuntimeFailure, match=r"expected a timestamp like .* found 5"):
            of(TimestampPath="$").until_ms(5, CONTEXT)


class TestFail:
    @pytest.mark.parametrize(
        ("fields", "failure"),
        [
            ({}, (None, None)),
            ({"Error": "E", "Cause": "c"}, ("E", "c")),
            ({"ErrorPath": "$.e", "CausePath": "States.Format('{}!', $.c)"}, ("Boom", "why!")),
            ({"ErrorPath": "$$.Execution.Name", "Cause": "$.c"}, ("run", "$.c")),
        ],
    )
    def test_error_and_cause(self, fields: dict[str, Json], failure: tuple[str | None, str | None]) -> None:
        assert of(**fields).failure({"e": "Boom", "c": "why"}, CONTEXT) == failure

    # Only the first cause is recorded from AWS.
    def test_error_path_without_text(self) -> None:
        with pytest.raises(RuntimeFailure) as caught:
            of(ErrorPath="$.ErrorX").failure({"e": 1}, CONTEXT)
        assert caught.value.cause == (
            "The JSONPath '$.ErrorX' specified for the field 'ErrorPath' could not be found in the input '{\"e\":1}'"
        )
        with pytest.raises(RuntimeFailure, match="CausePath field must lead to a string"):
            of(CausePath="$.e").failure({"e": 1}, CONTEXT)
