"""The IR written by hand: its schema, and every problem with its place."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from unum_compiler.definition import Definition
from unum_compiler.frontends.ir_schema import KINDS, TOP_LEVEL, ir_schema
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import DefinitionError
from unum_runtime.model import ir
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Guard

GUIDE = Path(__file__).parents[3] / "docs" / "ir.md"

MACHINE = {
    "StartAt": "Split",
    "States": {
        "Split": {"Type": "Task", "Resource": "split", "Next": "Each"},
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Count",
                "States": {"Count": {"Type": "Task", "Resource": "count", "End": True}},
            },
            "Next": "Enough",
        },
        "Enough": {
            "Type": "Choice",
            "Choices": [{"Variable": "$[0]", "NumericGreaterThan": 3, "Next": "Sum"}],
            "Default": "Both",
        },
        "Both": {
            "Type": "Parallel",
            "Branches": [{"StartAt": "One", "States": {"One": {"Type": "Pass", "Result": 1, "End": True}}}],
            "Next": "Sum",
        },
        "Sum": {"Type": "Task", "Resource": "sum", "End": True},
    },
}


def compiled() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Definition.from_asl(MACHINE).compile("w", None).to_json())
    return table


def refused(change: Callable[[dict[str, Any]], object]) -> dict[str, str]:
    table = compiled()
    change(table)
    with pytest.raises(DefinitionError) as caught:
        Definition.from_ir(table)
    return {problem.path: problem.message for problem in caught.value.problems}


def test_what_the_compiler_writes_comes_back() -> None:
    workflow = Definition.from_ir(json.dumps(compiled())).compile("other", ["split", "count", "sum"])
    assert json.loads(workflow.to_json()) == compiled() | {"name": "other"}


def test_what_has_a_default_may_be_missing() -> None:
    table = {field: compiled()[field] for field in ("version", "name", "start_at", "states")}
    assert Definition.from_ir(table).compile("w", None).hop_budget == ir.DEFAULT_HOP_BUDGET


def test_it_has_keys_already() -> None:
    definition = Definition.from_ir(compiled())
    assert definition.bind({"arn": "x"}) == definition


def test_schema_has_every_field_of_every_kind() -> None:
    schema = ir_schema()
    assert schema["properties"].keys() == set(TOP_LEVEL)
    for kind in KINDS:
        properties = schema["$defs"][kind.__name__]["properties"]
        assert properties.keys() == {field.name for field in fields(kind)} - {"name"} | {"type"}
        assert all("description" in properties[name] for name in properties.keys() - {"type"}), kind


def test_every_field_of_a_workflow_is_written_and_known() -> None:
    given = {
        "timeout_s": 1,
        "keeps_input": True,
        "counts_redrives": True,
        "names_children": True,
        "draws": True,
        "payload_limit": 1,
        "small_results": True,
        "strict": True,
        "width_budget": 1,
        "invocation_budget": 1,
        "attributes": {"a": ["b", 0]},
    }
    workflow = Workflow(name="w", start_at="", states={}, **given)  # type: ignore[arg-type]  # by name
    assert json.loads(workflow.to_json()).keys() == TOP_LEVEL


def test_schema_knows_every_kind() -> None:
    assert {kind.__name__: kind for kind in KINDS} == ir._KINDS


def test_schema_is_plain_json() -> None:
    assert json.loads(json.dumps(ir_schema())) == ir_schema()


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        (lambda table: table.pop("start_at"), "$", '"start_at" is missing'),
        (lambda table: table.update(version=0), "$.version", "expected 1, got 0"),
        (lambda table: table.update(speed=1), "$.speed", "no field"),
        (lambda table: table.update(hop_budget="x"), "$.hop_budget", "expected integer"),
        (lambda table: table.update(hop_budget=1.0), "$.hop_budget", "expected integer, got 1.0"),
        (lambda table: table.update(timeout_s=True), "$.timeout_s", "expected integer or null"),
        (lambda table: table.update(collection="never"), "$.collection", 'one of "eager", "ttl"'),
        (lambda table: table["states"].update(X=3), "$.states.X", '"type"'),
        (lambda table: table["states"]["Sum"].update(type="Jump"), "$.states.Sum.type", '"Jump"'),
        (lambda table: table["states"]["Sum"].update(form=1), "$.states.Sum.form", "one of"),
        (lambda table: table["states"]["Enough"]["rules"][0].pop(), "$.states.Enough.rules[0]", "2 items"),
        (lambda table: table["states"]["Both"].update(branches=[1]), "$.states.Both.branches[0]", "string"),
        (
            lambda table: table["states"]["Sum"].update(retry=[{"errors": [], "max_attempts": 0.5}]),
            "$.states.Sum.retry[0].max_attempts",
            "integer",
        ),
    ],
)
def test_shape(change: Callable[[dict[str, Any]], object], place: str, message: str) -> None:
    problems = refused(change)
    assert message in problems[place]


def test_state_is_checked_as_the_kind_that_it_names() -> None:
    problems = refused(lambda table: table["states"].update(X={"type": "Pass", "scope": None, "branches": []}))
    assert problems.keys() == {"$.states.X", "$.states.X.branches"}


@pytest.mark.parametrize(
    ("state", "change", "place", "message"),
    [
        ("Split", {"next": "Eahc"}, ".next", 'did you mean "Each"?'),
        ("Split", {"next": "Count"}, ".next", 'whose scope is "Each"'),
        ("Sum", {"scope": "Split", "next": None}, ".scope", "Map or Parallel"),
        ("Each", {"scope": "Each"}, ".scope", "inside itself"),
        ("Each", {"start": "Sum"}, ".start", 'scope "Each"'),
        ("Each", {"pure": True}, ".pure", "expected false"),
        ("Both", {"pure": False}, ".pure", "expected true"),
        ("Both", {"branches": ["Gone"]}, ".branches[0]", "no state"),
        ("Both", {"join": "Enough"}, ".join", "expected a Task"),
        ("Enough", {"rules": [[{}, "Gone"]]}, ".rules[0][1]", "no state"),
        ("Enough", {"default": "Gone"}, ".default", "no state"),
        ("Sum", {"catch": [{"errors": ["E"], "next": "Gone", "data": {}}]}, ".catch[0].next", "no state"),
        ("Sum", {"committed_by": "Gone"}, ".committed_by", "no state"),
        ("Sum", {"form": "service"}, ".resource", "got null"),
    ],
)
def test_names_lead_somewhere(state: str, change: dict[str, Any], place: str, message: str) -> None:
    problems = refused(lambda table: table["states"][state].update(change))
    assert message in problems[f"$.states.{state}{place}"]


@pytest.mark.parametrize(
    ("state", "change", "message"),
    [
        ("Sum", {"left_out": [1, 0]}, "expected a Task in a branch of a Map"),
        ("Count", {"left_out": [1, -1]}, "expected two numbers of branches"),
        ("Count", {"left_out": [1, 0], "resource": "sqs:sendMessage", "form": "service"}, "that runs a function"),
    ],
)
def test_left_out_branches_are_checked(state: str, change: dict[str, Any], message: str) -> None:
    found = refused(lambda table: table["states"][state].update(change))
    assert message in next(each for place, each in found.items() if place.endswith("left_out"))


def test_all_problems_come_at_once_in_their_order() -> None:
    def change(table: dict[str, Any]) -> None:
        table["states"]["Sum"]["next"] = "Gone"
        table["start_at"] = "Nowhere"

    assert list(refused(change)) == ["$.start_at", "$.states.Sum.next"]


def test_functions_are_known_and_their_options_in_the_ir() -> None:
    definition = Definition.from_ir(compiled())
    with pytest.raises(DefinitionError) as caught:
        definition.compile("w", ["split", "sum"], {"sum": FunctionOptions(guard=Guard.COMMIT)})
    assert [problem.path for problem in caught.value.problems] == ["$.states.Count.function", "$.states.Sum.function"]


def test_no_ir_is_refused() -> None:
    with pytest.raises(DefinitionError, match="expected object"):
        Definition.from_ir("[]")


def test_workflow_of_the_ir_is_that_of_the_definition() -> None:
    workflow: Workflow = Definition.from_ir(compiled()).compile("w", None)
    assert workflow.digest == Definition.from_asl(MACHINE).compile("w", None).digest


def test_documented_example_and_fields() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    workflow = Definition.from_ir(example).compile("pages", None)
    assert [task.name for task in workflow.tasks] == ["split", "count", "sum"]
    known = {name for part in ir_schema()["$defs"].values() for name in part["properties"]} | TOP_LEVEL
    assert not [name for name in known if f"`{name}`" not in text]
