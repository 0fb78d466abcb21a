"""Fields of Maps, by mode."""

from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_runtime.errors import DefinitionError, Problem


def a_map(config: Any = None, **fields: Any) -> dict[str, Any]:
    processor = {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}
    configured = processor if config is None else {**processor, "ProcessorConfig": config}
    state = {"Type": "Map", "ItemProcessor": configured, "End": True, **fields}
    return {"StartAt": "A", "States": {"A": state}}


def problems(definition: dict[str, Any]) -> tuple[Problem, ...]:
    try:
        compile_workflow(definition, name="w", functions=None)
    except DefinitionError as error:
        return error.problems
    return ()


DISTRIBUTED = {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}

RIGHT = (
    a_map(DISTRIBUTED, Label="people", ToleratedFailurePercentage=12.5, MaxConcurrency=1000),
    a_map(DISTRIBUTED, ItemBatcher={"MaxItemsPerBatch": 2, "BatchInput": {"a.$": "$.a"}}),
    a_map(DISTRIBUTED, ItemBatcher={"MaxInputBytesPerBatchPath": "$.bytes"}),
    a_map(DISTRIBUTED, ItemBatcher={"MaxItemsPerBatch": 0, "MaxInputBytesPerBatch": 0}),
    a_map(DISTRIBUTED, QueryLanguage="JSONata", Items=[1], ItemBatcher={"MaxItemsPerBatch": "{% 2 %}"}),
    a_map(ItemsPath="$$.Execution.Input.items", MaxConcurrencyPath="$most"),
    a_map({"Mode": "INLINE"}, ToleratedFailureCount=1, ToleratedFailurePercentagePath="$.p"),
)


@pytest.mark.parametrize("right", RIGHT)
def test_fields_that_are_right(right: dict[str, Any]) -> None:
    assert problems(right) == ()


BATCHER = ".ItemBatcher"

WRONG = {
    "execution type": (
        a_map({"Mode": "DISTRIBUTED", "ExecutionType": "FAST"}),
        ".ItemProcessor.ProcessorConfig.ExecutionType",
        'expected "STANDARD" or "EXPRESS"',
    ),
    "batches of an inline map": (a_map(ItemBatcher={"MaxItemsPerBatch": 1}), BATCHER, "only a distributed Map"),
    "batches of any size": (a_map(DISTRIBUTED, ItemBatcher={}), BATCHER, "got none"),
    "batches of two sizes": (
        a_map(DISTRIBUTED, ItemBatcher={"MaxItemsPerBatch": 1, "MaxItemsPerBatchPath": "$.n"}),
        BATCHER,
        "got both",
    ),
    "empty batches": (
        a_map(DISTRIBUTED, ItemBatcher={"MaxItemsPerBatch": -1}),
        f"{BATCHER}.MaxItemsPerBatch",
        "from 0 to",
    ),
    "field of a batcher": (
        a_map(DISTRIBUTED, ItemBatcher={"MaxItemsPerBatch": 1, "Input": 1}),
        f"{BATCHER}.Input",
        'did you mean "BatchInput"?',
    ),
    "template of a batcher": (
        a_map(DISTRIBUTED, ItemBatcher={"MaxItemsPerBatch": 1, "BatchInput": {"a.$": "a"}}),
        f"{BATCHER}.BatchInput['a.$']",
        "path",
    ),
    "two limits": (a_map(MaxConcurrency=1, MaxConcurrencyPath="$.m"), "", "got both"),
    "limit out of the context object": (
        a_map(MaxConcurrencyPath="$$.Execution.Input.m"),
        ".MaxConcurrencyPath",
        "a reference path into the input",
    ),
    "size out of the context object": (
        a_map(DISTRIBUTED, ItemBatcher={"MaxItemsPerBatchPath": "$$.Execution.Input.n"}),
        f"{BATCHER}.MaxItemsPerBatchPath",
        "a reference path into the input",
    ),
    "percentage": (a_map(DISTRIBUTED, ToleratedFailurePercentage=101), ".ToleratedFailurePercentage", "from 0 to 100"),
    "empty label": (a_map(DISTRIBUTED, Label=""), ".Label", "1 to 40 characters"),
    "long label": (a_map(DISTRIBUTED, Label="a" * 41), ".Label", "1 to 40 characters"),
}


@pytest.mark.parametrize(("wrong", "field", "message"), WRONG.values(), ids=WRONG.keys())
def test_fields_that_are_wrong(wrong: dict[str, Any], field: str, message: str) -> None:
    (problem,) = problems(wrong)
    assert problem.path == f"$.States.A{field}"
    assert message in problem.message


@pytest.mark.parametrize("character", ' ?*<>{}[]:;,\\|^~$#%&`"\n\x02\x85')
def test_characters_that_no_label_has(character: str) -> None:
    (problem,) = problems(a_map(DISTRIBUTED, Label=f"label{character}"))
    assert problem.path == "$.States.A.Label"


def test_a_label_that_two_maps_have() -> None:
    (first,) = a_map(DISTRIBUTED, Label="people")["States"].values()
    inner = {**first, "ItemProcessor": {"StartAt": "C", "States": {"C": {"Type": "Succeed"}}}}
    outer = {**first, "ItemProcessor": {"StartAt": "B", "States": {"B": inner}}}
    (problem,) = problems({"StartAt": "A", "States": {"A": outer}})
    assert problem.path == "$.States.A.ItemProcessor.States.B.Label"
    assert 'the label "people" is taken at $.States.A.Label' in problem.message
