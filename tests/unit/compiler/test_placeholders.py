"""``${Name}`` in place of a number or a timestamp: the deployment gives it, so only the run can say what is wrong."""

import json
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_runtime.errors import DefinitionError
from unum_runtime.model.checkpoint import Ending, Failure, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

JSONATA = {"QueryLanguage": "JSONata"}
WORK = {"Type": "Task", "Resource": "f", "End": True}
EACH = {"StartAt": "Work", "States": {"Work": {"Type": "Task", "Resource": "f", "End": True}}}


def machine(**state: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {"End": True, **state}}}


def deployed(definition: Json, value: str) -> Workflow:
    """`definition`, with `value` in place of ``${N}``, as a function of the workflow loads it."""
    text = compile_workflow(definition, name="w", functions=None).to_json()
    return Workflow.from_json(text.replace("${N}", value))


def run(definition: Json, value: str, given: Json = None) -> Ending:
    return LocalWorkflow(deployed(definition, value), {"f": lambda event, _context: event}).run("e", given)


EVERYWHERE: dict[str, dict[str, Any]] = {
    "Wait": machine(Type="Wait", Seconds="${N}"),
    "TimeoutSeconds": machine(**WORK, TimeoutSeconds="${N}", HeartbeatSeconds=1),
    "HeartbeatSeconds": machine(**WORK, HeartbeatSeconds="${N}"),
    "MaxConcurrency": machine(Type="Map", ItemProcessor=EACH, MaxConcurrency="${N}"),
    "ItemBatcher": machine(
        Type="Map",
        ItemProcessor={**EACH, "ProcessorConfig": {"Mode": "DISTRIBUTED"}},
        ItemBatcher={"MaxItemsPerBatch": "${N}"},
        ToleratedFailureCount="${N}",
        ToleratedFailurePercentage="${N}",
    ),
}


@pytest.mark.parametrize("language", [{}, JSONATA], ids=["JSONPath", "JSONata"])
@pytest.mark.parametrize("definition", EVERYWHERE.values(), ids=EVERYWHERE)
def test_a_number_is_what_the_deployment_gives(definition: dict[str, Any], language: dict[str, str]) -> None:
    assert isinstance(run({**definition, **language}, "2", [1]).outcome, Success)


@pytest.mark.parametrize("value", ["-1", "two", "1.5", "${N}", "100000000", ""])
@pytest.mark.parametrize("language", [{}, JSONATA], ids=["JSONPath", "JSONata"])
def test_what_is_no_such_number_fails_the_state(value: str, language: dict[str, str]) -> None:
    outcome = run({**EVERYWHERE["Wait"], **language}, value).outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.Runtime"
    assert outcome.cause == (
        f"state 'A': Seconds must be an integer from 0 to 99999999, and the deployment has given \"{value}\""
    )


COMPARISONS = [
    ("NumericGreaterThan", "2", 3, "Yes"),
    ("NumericGreaterThan", "2.5", 2, "No"),
    ("NumericEquals", "-1", -1, "Yes"),
    ("NumericEquals", "2", "2", "No"),
    ("BooleanEquals", "true", True, "Yes"),
    ("BooleanEquals", "false", True, "No"),
    ("TimestampLessThan", "2016-03-14T01:59:00Z", "2016-03-14T01:58:00Z", "Yes"),
    ("StringEquals", "2", "2", "Yes"),
    ("StringEquals", "2", 2, "No"),
]


def choosing(operator: str, literal: str = "${N}") -> dict[str, Any]:
    rule = {"Or": [{"Variable": "$.x", operator: literal}], "Next": "Yes"}
    ends = {name: {"Type": "Pass", "Result": name, "End": True} for name in ("Yes", "No")}
    return {"StartAt": "C", "States": {"C": {"Type": "Choice", "Choices": [rule], "Default": "No"}, **ends}}


@pytest.mark.parametrize(("operator", "given", "value", "chosen"), COMPARISONS)
def test_a_comparison_is_with_what_the_deployment_gives(operator: str, given: str, value: Json, chosen: str) -> None:
    assert run(choosing(operator), given, {"x": value}).outcome == Success(chosen)


@pytest.mark.parametrize(
    ("operator", "given"), [("NumericEquals", "two"), ("BooleanEquals", "1"), ("TimestampEquals", "soon")]
)
def test_what_cannot_be_compared_fails_the_state(operator: str, given: str) -> None:
    outcome = run(choosing(operator), given, {"x": 1}).outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.Runtime"


def test_a_text_is_no_number_to_compare_with() -> None:
    with pytest.raises(DefinitionError, match="expected a number"):
        compile_workflow(
            json.loads(json.dumps(choosing("NumericEquals")).replace("${N}", "5")), name="w", functions=None
        )


def test_so_many_items_wait() -> None:
    ending = run(EVERYWHERE["ItemBatcher"], "2", [1, 2, 3])
    assert ending.outcome == Success([{"Items": [1, 2]}, {"Items": [3]}])


@pytest.mark.parametrize("language", [{}, JSONATA], ids=["JSONPath", "JSONata"])
def test_a_timestamp_is_what_the_deployment_gives(language: dict[str, str]) -> None:
    definition = {**machine(Type="Wait", Timestamp="${N}"), **language}
    assert isinstance(run(definition, "2016-03-14T01:59:00Z").outcome, Success)
    assert isinstance(run(definition, "soon").outcome, Failure)


EXPRESSIONS = {
    "template of a function": ("States.Format('s3://${N}/{}', $.key)", "b", "s3://b/k"),
    "argument in quotes": ("States.StringSplit('a,b', '${N}')", ",", ["a", "b"]),
    "number as argument": ("States.MathAdd(${N}, 1)", "2", 3),
    "index": ("$.list[${N}]", "1", "y"),
    "slice": ("$.list[${N}:2]", "1", ["y"]),
    "name": ("$.${N}.a", "in", 1),
    "quoted name": ("$['${N}'].a", "in", 1),
    "name in a function": ("States.Format('{}', $.${N})", "key", "k"),
    "text in a filter": ("$.rows[?(@.id == '${N}')].v", "a", [1]),
    "number in a filter": ("$.rows[?(@.v == ${N})].id", "2", ["b"]),
    "path": ("${N}", "$.in.a", 1),
    "path in the context object": ("${N}", "$$.Execution.Input.key", "k"),
    "argument that is a path": ("States.Format('{}', ${N})", "$.key", "k"),
}
QUERIES = {
    "text": ("{% '${N}' & $states.input.key %}", "b", "bk"),
    "number": ("{% ${N} + 1 %}", "2", 3),
    "name": ("{% $states.input.${N} %}", "key", "k"),
    "no hole": ("{% $states.input.rows.${id: v} %}", "2", {"a": 1, "b": 2}),
}
GIVEN: dict[str, Any] = {
    "key": "k",
    "list": ["x", "y"],
    "in": {"a": 1},
    "rows": [{"id": "a", "v": 1}, {"id": "b", "v": 2}],
}


@pytest.mark.parametrize(("text", "value", "expected"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_an_expression_has_holes(text: str, value: str, expected: Any) -> None:
    definition = machine(Type="Pass", Parameters={"found.$": text}, OutputPath="$.found")
    assert run(definition, value, GIVEN).outcome == Success(expected)


@pytest.mark.parametrize(("text", "value", "expected"), QUERIES.values(), ids=QUERIES)
def test_a_jsonata_expression_has_holes(text: str, value: str, expected: Any) -> None:
    assert run(machine(Type="Pass", Output=text, **JSONATA), value, GIVEN).outcome == Success(expected)


def test_data_flow_and_conditions_have_holes() -> None:
    paths = machine(Type="Pass", InputPath="$.${N}", ResultPath="$.${N}.more", OutputPath="$.${N}")
    assert run(paths, "in", GIVEN).outcome == Success({"a": 1, "more": {"a": 1}})
    rules = [{"Variable": "$.${N}", "TimestampEquals": "${N}", "Next": "B"}]
    deployed(
        {
            "StartAt": "A",
            "States": {"A": {"Type": "Choice", "Choices": rules, "Default": "B"}, "B": {"Type": "Succeed"}},
        },
        "t",
    )


BROKEN = {
    "template": machine(Type="Pass", Parameters={"x.$": "States.Format('${N} {}', $)"}),
    "input path": machine(Type="Pass", InputPath="$.${N}"),
    "result path": machine(Type="Pass", ResultPath="$.${N}"),
    "items path": machine(Type="Map", ItemsPath="$.${N}", ItemProcessor=EACH),
    "cause path": {"StartAt": "A", "States": {"A": {"Type": "Fail", "CausePath": "States.Format('${N}')"}}},
    "jsonata": machine(Type="Pass", Output="{% '${N}' %}", **JSONATA),
    "condition": {
        "StartAt": "A",
        "States": {
            "A": {"Type": "Choice", "Choices": [{"Variable": "$.${N}", "IsPresent": True, "Next": "B"}]},
            "B": {"Type": "Succeed"},
        },
    },
}


@pytest.mark.parametrize("definition", BROKEN.values(), ids=BROKEN)
def test_a_value_that_breaks_the_grammar_fails_the_state(definition: dict[str, Any]) -> None:
    outcome = run(definition, "it's a", {}).outcome
    assert isinstance(outcome, Failure)
    assert outcome.error == "States.Runtime"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("States.Format('${B}/{} {}', $.a)", r"'\$\{B\}/.*, character 0: .* has 2 \{\} for 1"),
        ("$.${A}[${B}", r"'\$\.\$\{A\}\[\$\{B\}', character 7: expected"),
        ("States.Lower('${B}')", r"unknown intrinsic function States\.Lower"),
    ],
)
def test_a_mistake_around_a_hole_is_shown_as_written(text: str, fault: str) -> None:
    with pytest.raises(DefinitionError, match=fault):
        compile_workflow(machine(Type="Pass", Parameters={"x.$": text}), name="w", functions=None)


def test_a_mistake_around_a_hole_in_jsonata_is_shown_as_written() -> None:
    definition = machine(Type="Pass", Output=["${Other}", "{% ${Name} + %}"], **JSONATA)
    with pytest.raises(DefinitionError, match=r"\.Output\[1\]: '\$\{Name\} \+' is no JSONata expression"):
        compile_workflow(definition, name="w", functions=None)


@pytest.mark.parametrize("text", ["$$.${N}", "$$.Execution.${N}", "${N}"])
def test_the_input_is_kept_if_only_the_deployment_knows_who_reads_it(text: str) -> None:
    assert deployed(machine(Type="Pass", Parameters={"x.$": text}), "$").keeps_input


@pytest.mark.parametrize("text", ["$.${N}", "$.a", "States.Format('${N}')", "$$.Execution.Name"])
def test_the_input_is_not_kept_otherwise(text: str) -> None:
    assert not deployed(machine(Type="Pass", Parameters={"x.$": text}), "$").keeps_input


@pytest.mark.parametrize("text", ["2", "${N", "${N} s", "{% 2"])
def test_other_texts_are_no_numbers(text: str) -> None:
    with pytest.raises(DefinitionError, match="expected an integer from 0 to 99999999"):
        compile_workflow(machine(Type="Wait", Seconds=text), name="w", functions=None)
