"""The compiled form: its schema, what of it is read, and what relations between its states are problems."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from unum_compiler import to_compiled
from unum_compiler.definition import Definition
from unum_compiler.frontends.from_ir import workflow_problems
from unum_compiler.frontends.ir_schema import KINDS, TOP_LEVEL, ir_schema
from unum_compiler.options import FunctionOptions
from unum_runtime.cold_start.digest import short_digest
from unum_runtime.errors import DefinitionError
from unum_runtime.json_text import to_sorted
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


def workflow() -> Workflow:
    return Definition.from_asl(MACHINE).compile("w", None)


def compiled() -> dict[str, Any]:
    return json.loads(json.dumps(to_compiled(workflow())))


def refused(change: Callable[[dict[str, Any]], object]) -> dict[str, str]:
    """Return the problems in the relations of a changed IR, by their places."""
    table: dict[str, Any] = json.loads(workflow().to_json())
    change(table)
    return {each.path: each.message for each in workflow_problems(Workflow.from_json(json.dumps(table)))}


def test_what_the_compiler_writes_comes_back() -> None:
    found = Definition.from_ir(json.dumps(compiled())).compile("other", ["split", "count", "sum"])
    assert json.loads(found.to_json()) == json.loads(workflow().to_json()) | {"name": "other"}


CHANGES: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (lambda table: table.pop("digest"), 'expected an object with "digest", as the compiler writes it'),
    (lambda table: table.update(hop_budget=5), r"\$\.digest: expected '[0-9a-f]{12}', that of the other fields, got"),
    (lambda table: table["states"]["Sum"].update(next="Each"), "digest: expected"),
    (lambda table: table.update(speed=1), "digest: expected"),
    (lambda table: table.update(digest=None), "that of the other fields, got null"),
    (lambda table: sign(table, version=0), "IR version 0"),
    (lambda table: sign(table, states={"X": {"type": "Jump"}}), "expected the compiled form of this version, got"),
    (lambda table: sign(table, states=[]), "expected the compiled form of this version, got"),
]


def sign(table: dict[str, Any], **fields: Any) -> None:
    """Change fields and the digest."""
    del table["digest"]
    table.update(fields)
    table["digest"] = short_digest(to_sorted(table).encode())


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_what_the_compiler_did_not_write_is_refused(change: Callable[[dict[str, Any]], object], message: str) -> None:
    table = compiled()
    change(table)
    with pytest.raises(DefinitionError, match=message) as caught:
        Definition.from_ir(table)
    assert "write a definition instead" in str(caught.value)


def test_it_has_keys_already() -> None:
    definition = Definition.from_ir(compiled())
    assert definition.bind({"arn": "x"}) == definition


def test_schema_has_every_field_of_every_kind() -> None:
    schema = ir_schema()
    assert schema["properties"].keys() == {*TOP_LEVEL, "digest"}
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
    written = Workflow(name="w", start_at="", states={}, **given)  # type: ignore[arg-type]  # by name
    assert json.loads(written.to_json()).keys() == TOP_LEVEL


def test_schema_knows_every_kind() -> None:
    assert {kind.__name__: kind for kind in KINDS} == ir._KINDS


def test_schema_is_plain_json() -> None:
    assert json.loads(json.dumps(ir_schema())) == ir_schema()


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


def test_functions_are_known_and_their_options_in_the_ir() -> None:
    definition = Definition.from_ir(compiled())
    with pytest.raises(DefinitionError) as caught:
        definition.compile("w", ["split", "sum"], {"sum": FunctionOptions(guard=Guard.COMMIT)})
    assert [problem.path for problem in caught.value.problems] == ["$.states.Count.function", "$.states.Sum.function"]


def test_no_ir_is_refused() -> None:
    with pytest.raises(DefinitionError, match="expected an object"):
        Definition.from_ir("[]")


def test_workflow_of_the_ir_is_that_of_the_definition() -> None:
    assert Definition.from_ir(compiled()).compile("w", None).digest == workflow().digest


def test_documented_example_and_fields() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    found = Definition.from_ir(example).compile("pages", None)
    assert [task.name for task in found.tasks] == ["count", "split", "sum"]
    known = {name for part in ir_schema()["$defs"].values() for name in part["properties"]} | TOP_LEVEL
    assert not [name for name in known if f"`{name}`" not in text]
