"""Definitions written back as state machines of Step Functions: they compile to what they were made from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import recordings
from tests.golden.asl_table.strict import CASES, machine, task
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_compiler.export.exported import Exported, export
from unum_compiler.export.written_back import written_back
from unum_compiler.frontends.from_ir import to_compiled
from unum_compiler.options import FunctionOptions
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Guard

ROOT = Path(__file__).parents[3]

EVERYTHING = json.loads((ROOT / "tests/golden/definitions/everything.asl.json").read_text())


def compiled(machine: Any, **options: Any) -> Workflow:
    return Definition.from_asl(machine).compile("w", None, **options)


def exported(definition: Definition, **functions: str) -> Exported:
    return export(definition, "w", functions)


def real_definitions() -> Iterator[Any]:
    for name in ("corpus.jsonl", "executions.jsonl"):
        yield from (case["definition"] for case in recordings.cases(name) if "definition" in case)


@recordings.needed
def test_recorded_definitions_compile_to_the_same_workflow_after_export() -> None:
    count = 0
    for given in real_definitions():
        try:
            workflow = compiled(given)
        except DefinitionError:
            continue
        count += 1
        assert compiled(written_back(workflow)).digest == workflow.digest, given
    assert count > 600


@pytest.mark.parametrize("file", [*(ROOT / "docs").rglob("*.asl.json"), *(ROOT / "tests").rglob("*.asl.json")], ids=str)
def test_definition_in_a_file_survives_the_way_through_its_compiled_form(file: Path) -> None:
    workflow = Definition.from_asl_file(file).compile("w", None)
    found = exported(Definition.from_ir(to_compiled(workflow)))
    assert compiled(found.machine).digest == workflow.digest


def test_every_field_of_the_language_is_written_back() -> None:
    workflow = compiled(EVERYTHING)
    assert compiled(written_back(workflow)).digest == workflow.digest


def test_comments_and_order_of_a_definition_stay() -> None:
    commented: Any = {
        "Comment": "why",
        "StartAt": "A",
        "States": {"A": {"Comment": "what", "Type": "Task", "Resource": "F", "End": True}},
    }
    found = exported(Definition.from_asl(commented), F="arn:aws:lambda:eu-west-1:111122223333:function:f")
    arn = "arn:aws:lambda:eu-west-1:111122223333:function:f"
    assert found.machine == {**commented, "States": {"A": {**commented["States"]["A"], "Resource": arn}}}
    assert (found.changed, found.lost, found.substitutions) == ((), (), ())


def test_functions_without_an_arn_become_substitutions() -> None:
    invoke = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Parameters": {"FunctionName": "F", "Payload.$": "$.FunctionName"},
        "End": True,
    }
    found = exported(Definition.from_asl({"StartAt": "A", "States": {"A": invoke}}))
    assert found.machine["States"]["A"]["Parameters"]["FunctionName"] == "${F}"
    assert found.substitutions == ("F",)


def test_graph_is_a_state_machine() -> None:
    priced = g.map(g.task("Price"), items=g.out["lines"])
    found = exported(Definition.from_graph(g.task("Split") >> priced >> g.task("Total")))
    assert found.substitutions == ("Price", "Split", "Total")
    assert (found.changed, found.lost) == ((), ())
    assert compiled(found.machine).digest


@pytest.mark.parametrize("is_compiled", [False, True])
def test_quorum_of_a_graph_is_named(*, is_compiled: bool) -> None:
    definition = Definition.from_graph(g.parallel(g.task("A"), g.task("B")).quorum(1))
    if is_compiled:
        definition = Definition.from_ir(to_compiled(definition.compile("w", None)))
    found = exported(definition)
    assert [each.split(": ")[:2] for each in found.changed] == [["$.States.parallel", "quorum"]]
    assert compiled(found.machine).digest


def test_what_only_the_runtime_can_do_is_named() -> None:
    waits = {"Type": "Task", "Resource": "unum:signal:go", "End": True}
    found = exported(Definition.from_asl({"StartAt": "A", "States": {"A": waits}}))
    (changed,) = found.changed
    assert changed.startswith("$.States.A.Resource: extension of the language: Step Functions has no signals")


def test_options_that_change_no_result_are_lost_by_name() -> None:
    options = {"F": FunctionOptions(guard=Guard.LEASE, memoize=True)}
    workflow = compiled(machine(task("F")), options=options)
    found = exported(Definition.from_ir(to_compiled(workflow)))
    assert [each.partition(":")[0] for each in found.lost] == ["$.States.A", "$.States.A"]
    assert compiled(found.machine, options=options).digest == workflow.digest


@pytest.mark.parametrize(("_feature", "place", "state", "equal"), CASES)
def test_what_step_functions_does_otherwise_is_named(_feature: Any, place: str, state: Any, equal: Any) -> None:
    (changed,) = exported(Definition.from_asl(machine(state))).changed
    assert changed.startswith(f"{place}: ")
    assert "strict" not in changed
    assert exported(Definition.from_asl(machine(equal))).changed == ()
