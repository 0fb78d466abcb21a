"""The table of AWS beside this library: each row is true, and the page has exactly the rows."""

import ast
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.golden.asl_table import page
from tests.golden.asl_table.differences import DIFFERENT, Different
from tests.golden.asl_table.expressions import DATA, INTRINSICS, JSONATA, PATHS, holds, rule
from tests.golden.asl_table.refusals import REFUSED
from tests.golden.asl_table.samples import (
    FIELDS_OF_PARTS,
    PROCESSOR,
    READER,
    SERVICE,
    definition,
    fields_of_states,
    with_field,
    with_part,
)
from tests.golden.asl_table.services import DIRECT, calls, with_call
from tests.golden.asl_table.strict import REFUSED as REFUSED_STRICTLY
from tests.golden.asl_table.strict import refusal
from unum_compiler.checks import context_object
from unum_compiler.checks.differences import Difference
from unum_compiler.checks.warnings import ERRORS
from unum_compiler.definition import Definition
from unum_runtime.asl.jsonata.engine import BUILT_IN
from unum_runtime.asl.jsonpath.intrinsics import FUNCTIONS
from unum_runtime.errors import DefinitionError
from unum_runtime.features.data_sets import config
from unum_runtime.features.data_sets.write import OUTPUT_TYPES, TRANSFORMATIONS
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_simulator.local import LocalWorkflow

ROOT = Path(__file__).parents[2]


def compiled(machine: Json) -> Workflow:
    return Definition.from_asl(machine).compile("w", None)


def output(state: dict[str, Any], value: Json = DATA) -> Json:
    """Return the output of a machine whose state A follows one that assigns the variable v."""
    first = {"Type": "Pass", "Assign": {"v": {"x": 1}}, "Next": "A"}
    ending = LocalWorkflow(
        compiled({"StartAt": "V", "States": {"V": first, "A": {"Type": "Pass", "End": True, **state}}}), {}
    ).run("e", value)
    assert isinstance(ending.outcome, Success), ending
    return ending.outcome.value


def test_the_page_is_what_the_command_writes() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.written(text), "run make asl-table"


@pytest.mark.parametrize(("language", "kind", "field"), [*fields_of_states()])
def test_a_field_of_a_state_compiles(language: Any, kind: str, field: str) -> None:
    machine = with_field(language, kind, field)
    assert field in machine["States"]["A"]
    compiled(machine)


@pytest.mark.parametrize(
    ("part", "field"), [(part, field) for part, fields in FIELDS_OF_PARTS.items() for field in fields]
)
def test_a_field_of_a_part_compiles(part: str, field: str) -> None:
    machine = with_part(part, field)
    assert f'"{field}"' in json.dumps(machine)
    compiled(machine)


@pytest.mark.parametrize(("text", "value"), PATHS.values(), ids=PATHS)
def test_a_path_has_its_value(text: str, value: Json) -> None:
    assert output({"Parameters": {"x.$": text}}) == {"x": value}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_intrinsic_function_has_its_value(name: str) -> None:
    text, value = INTRINSICS[name]
    assert name in text
    assert output({"Parameters": {"x.$": text}}) == {"x": value}


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_jsonata_function_has_its_value(name: str) -> None:
    text, value = JSONATA[name]
    assert f"${name}(" in text
    assert output({"QueryLanguage": "JSONata", "Output": {"x": f"{{% {text} %}}"}}) == {"x": value}


@pytest.mark.parametrize("operator", page.comparison_operators())
@pytest.mark.parametrize("form", ["plain", "And", "Or", "Not"])
def test_a_comparison_decides(operator: str, form: str) -> None:
    condition: dict[str, Json] = rule(operator)
    condition = {"plain": condition, "Not": {"Not": condition}}.get(form, {form: [condition]})
    choice = {"Type": "Choice", "Choices": [{**condition, "Next": "Yes"}], "Default": "No"}
    ends = {name: {"Type": "Pass", "Result": name, "End": True} for name in ("Yes", "No")}
    ending = LocalWorkflow(compiled({"StartAt": "C", "States": {"C": choice, **ends}}), {}).run("e", DATA)
    assert ending.outcome == Success("Yes" if holds(operator) is not (form == "Not") else "No")


@pytest.mark.parametrize("field", context_object._EVERYWHERE)
def test_a_field_of_the_context_object_can_be_read(field: str) -> None:
    if field == "State.RetryCount":  # of a Task; other states have none
        machine = {
            "StartAt": "A",
            "States": {"A": {"Type": "Task", "Resource": "f", "Parameters": {"x.$": f"$$.{field}"}, "End": True}},
        }
        ending = LocalWorkflow(compiled(machine), {"f": lambda event, _context: event}).run("e", DATA)
        assert ending.outcome == Success({"x": 0})
        return
    query = f"{{% $states.context.{field} %}}"
    if field == "Execution.RedriveTime":  # missing before the first redrive; tests of redrives read it after one
        compiled(definition({"Type": "Pass", "Parameters": {"x.$": f"$$.{field}"}, "End": True}))
        assert output({"QueryLanguage": "JSONata", "Output": f"{{% $exists($states.context.{field}) %}}"}) is False
        return
    found = output({"Parameters": {"x.$": f"$$.{field}"}})
    assert output({"QueryLanguage": "JSONata", "Output": {"x": query}}).keys() == found.keys() == {"x"}


@pytest.mark.parametrize("field", context_object._ITEM)
def test_a_field_of_an_item_can_be_read(field: str) -> None:
    selector = {"x.$": f"$$.{field}"}
    found = output({"Type": "Map", "ItemsPath": "$.o", "ItemSelector": selector, "ItemProcessor": PROCESSOR})
    expected = {"Index": 0, "Key": "x", "Source": "STATE_DATA", "Value": 1}
    assert found[0] == {"x": expected[field.rpartition(".")[2]]}


RESOURCES = (
    "f",
    "${f}",
    "arn:aws:lambda:eu-west-1:111111111111:function:f",
    "arn:aws:states:eu-west-1:111111111111:activity:a",
)


@pytest.mark.parametrize("resource", RESOURCES)
def test_a_function_or_activity_can_be_named(resource: str) -> None:
    compiled(definition({"Type": "Task", "Resource": resource, "End": True}))


@pytest.mark.parametrize(
    "state",
    [
        {"Type": "Pass", "Parameters": {"t": "${Name}", "p.$": "$.${Name}", "i.$": "States.Format('{}', '${Name}')"}},
        {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% ${Name} + 1 %}"},
        {"Type": "Wait", "Seconds": "${Name}"},
        {"Type": "Wait", "Timestamp": "${Name}"},
        {"Type": "Task", "Resource": "f", "TimeoutSeconds": "${Name}"},
    ],
)
def test_a_placeholder_can_stand_for_a_value(state: dict[str, Any]) -> None:
    compiled(definition({**state, "End": True}))


def test_the_variables_of_jsonata() -> None:
    caught = {"ErrorEquals": ["States.ALL"], "Next": "Z", "Output": "{% $states.errorOutput.Error & $v %}"}
    read = {"Output": "{% $states.result & $states.input & $states.context.State.Name %}", "Next": "B"}
    states = {
        "V": {"Type": "Pass", "Assign": {"v": "!"}, "Next": "A"},
        "A": {"Type": "Task", "Resource": "f", **read},
        "B": {"Type": "Parallel", "Branches": [FAILING], "Catch": [caught], "End": True},
        "Z": {"Type": "Pass", "Output": "{% [$states.input] %}", "End": True},
    }
    workflow = compiled({"QueryLanguage": "JSONata", "StartAt": "V", "States": states})
    seen: list[Json] = []
    ending = LocalWorkflow(workflow, {"f": lambda event, _context: seen.append(event) or "r"}).run("e", "i")
    assert (seen, ending.outcome) == (["i"], Success(["E!"]))


FAILING = {"StartAt": "I", "States": {"I": {"Type": "Fail", "Error": "E"}}}


def test_a_task_can_read_its_token() -> None:
    compiled(with_call("sqs:sendMessage.waitForTaskToken"))


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_an_error_name_can_be_caught_and_retried(name: str) -> None:
    rules = {"Retry": [{"ErrorEquals": [name]}], "Catch": [{"ErrorEquals": [name], "Next": "Z"}]}
    definition_ = Definition.from_asl(definition({"Type": "Task", "Resource": "f", "End": True, **rules}))
    definition_.compile("w", None)
    assert definition_.warnings() == ()


CONFIGS: list[dict[str, Json]] = [
    *({"InputType": name, **({"CSVHeaderLocation": "FIRST_ROW"} if name == "CSV" else {})} for name in config.FORMATS),
    *({"ManifestType": name, "InputType": "MANIFEST" if "S3" in name else "JSONL"} for name in config.MANIFESTS),
]


@pytest.mark.parametrize("settings", CONFIGS, ids=str)
def test_a_data_set_can_be_read(settings: dict[str, Json]) -> None:
    reader = {"Resource": f"{SERVICE}s3:getObject", "Parameters": {"Bucket": "b", "Key": "k"}, "ReaderConfig": settings}
    compiled(definition({"Type": "Map", "ItemReader": reader, "ItemProcessor": PROCESSOR, "End": True}))


@pytest.mark.parametrize("kind", OUTPUT_TYPES)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_results_can_be_written(kind: str, transformation: str) -> None:
    settings = {"OutputType": kind, "Transformation": transformation}
    writer = {"Resource": f"{SERVICE}s3:putObject", "Parameters": {"Bucket": "b"}, "WriterConfig": settings}
    compiled(definition({"Type": "Map", "ResultWriter": writer, "ItemProcessor": PROCESSOR, "End": True}))


@pytest.mark.parametrize("call", [*(f"{service}:{action}{suffix}" for service, action, suffix in calls()), *DIRECT])
def test_a_call_of_a_service_compiles(call: str) -> None:
    compiled(with_call(call))


@pytest.mark.parametrize("machine", REFUSED.values(), ids=REFUSED)
def test_a_refused_part_is_refused_alone_and_named_on_the_page(machine: Json) -> None:
    with pytest.raises(DefinitionError) as caught:
        compiled(machine)
    (problem,) = caught.value.problems
    assert problem.path.startswith("$.")
    assert page.shown(machine) in page.PAGE.read_text(encoding="utf-8")


def test_every_feature_that_the_compiler_refuses_has_a_row() -> None:
    text = json.dumps([*REFUSED.values()])
    assert "AllowNullValues" in text
    assert READER.keys() == {*FIELDS_OF_PARTS["`ReaderConfig`"]}


def test_each_difference_refused_in_strict_mode_is_refused_alone() -> None:
    assert {problem.feature for problem in map(refusal, REFUSED_STRICTLY)} == {*map(str, Difference)}


def test_the_page_is_what_the_compiler_and_the_tests_say() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text) == text


ALL = [entry for entries in DIFFERENT.values() for entry in entries]


@cache
def _tests_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.text[:40])
def test_a_difference_is_shown_by_a_test(entry: Different) -> None:
    file, _, name = entry.test.partition("::")
    assert name in _tests_in(file)
