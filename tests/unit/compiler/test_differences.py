"""Strict compatibility: parts that Step Functions does otherwise are refused; the quotas of Step Functions hold."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.golden.asl_table.strict import CASES, PASS, each, machine, strict, task
from unum_compiler import graph as g
from unum_compiler import to_compiled
from unum_compiler.checks.differences import MOST_CHARACTERS, Difference
from unum_compiler.compatibility import HOP_BUDGET, PAYLOAD_LIMIT, Compatibility
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Map


@pytest.mark.parametrize(("feature", "place", "state", "equal"), CASES)
def test_a_difference_is_refused_and_its_remedy_accepted(
    feature: Difference, place: str, state: dict[str, Any], equal: dict[str, Any]
) -> None:
    assert Definition.from_asl(machine(state)).compile("w", None).strict is None
    with pytest.raises(DefinitionError) as caught:
        strict(machine(state))
    assert [(problem.path, problem.feature) for problem in caught.value.problems] == [(place, feature)]
    assert caught.value.problems[0].message.startswith(f'{feature}: refused by compatibility="strict"; ')
    assert strict(machine(equal)).strict is True


def test_every_difference_has_a_case() -> None:
    elsewhere = {Difference.SIZE, Difference.EXTENSION, Difference.IR}
    assert {feature for feature, *_ in CASES} | elsewhere == {*Difference}


def test_a_definition_is_no_longer_than_the_api_takes() -> None:
    shortest = len('{"StartAt": "A", "States": {"A": {"End": true, "Type": "Pass", "Comment": ""}}}')
    longest = machine({**PASS, "Comment": "x" * (MOST_CHARACTERS - shortest)})
    assert strict(longest).strict
    longest["States"]["A"]["Comment"] += "x"
    with pytest.raises(DefinitionError, match=r"^\$: definition over 1 MiB"):
        strict(longest)


def test_compiled_definitions_are_no_definitions_of_step_functions() -> None:
    ir = to_compiled(Definition.from_asl(machine(PASS)).compile("w", None))
    with pytest.raises(DefinitionError, match=r"^\$: intermediate representation"):
        replace(Definition.from_ir(ir), compatibility=Compatibility.STRICT).compile("w", None)
    extended = Definition.from_asl(machine(each(task("f"))))
    extended = replace(extended, extensions={"A": {"quorum": 1}}, compatibility=Compatibility.STRICT)
    with pytest.raises(DefinitionError, match=r"^\$\.states\.A\.quorum: extension of the language"):
        extended.compile("w", None)


BESIDE = g.task("a") >> g.task("b")
EXTENDED = {
    "$.states.dag.needs": (g.dag({"a": g.task("a"), "b": g.task("b").after("a")}), "nest Parallel states instead"),
    "$.states.parallel.quorum": (g.parallel(g.task("a"), g.task("b")).quorum(1), "leave the number out"),
    "$.states.b.meets_previous": (
        g.map(g.task("a") >> g.task("b").meets_previous(), items=g.out),
        "run the later step after the Map",
    ),
}


@pytest.mark.parametrize("place", EXTENDED)
def test_features_of_graphs_alone_are_refused_by_name_and_with_a_remedy(place: str) -> None:
    graph, remedy = EXTENDED[place]
    definition = replace(Definition.from_graph(g.task("first") >> graph), compatibility=Compatibility.STRICT)
    with pytest.raises(DefinitionError) as caught:
        definition.compile("w", None)
    (problem,) = caught.value.problems
    assert (problem.path, problem.feature) == (place, Difference.EXTENSION)
    assert problem.message.endswith(remedy)


def test_any_other_graph_is_a_definition_in_the_language() -> None:
    graph = g.task("c") >> g.parallel(BESIDE, g.task("d"))
    text = Definition.from_graph(graph).text
    assert strict(json.loads(text)).to_json() == strict(text).to_json()


def test_mistakes_and_differences_are_reported_together() -> None:
    definition = machine({**PASS, "Parameters": {"r.$": "$$.Execution.RoleArn"}, "Nxt": "B"})
    with pytest.raises(DefinitionError) as caught:
        strict(definition)
    assert [problem.path for problem in caught.value.problems] == ["$.States.A.Parameters['r.$']", "$.States.A.Nxt"]


def test_the_quotas_are_part_of_the_compiled_definition() -> None:
    definition = machine(each(task("f")))
    workflow = strict(definition)
    assert (workflow.payload_limit, workflow.hop_budget, workflow.strict) == (PAYLOAD_LIMIT, HOP_BUDGET, True)
    some = workflow.states["A"]
    assert isinstance(some, Map)
    assert some.has_limit
    assert Workflow.from_json(workflow.to_json()).to_json() == workflow.to_json()
    usual = Definition.from_asl(definition).compile("w", None)
    assert "strict" not in usual.to_json()
    assert usual.payload_limit is None
