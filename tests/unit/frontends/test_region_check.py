"""Regions in the IR: what their nodes and edges have to be."""

import json
from typing import Any

import pytest

from unum_compiler import graph as g
from unum_compiler import to_compiled
from unum_compiler.definition import Definition
from unum_compiler.frontends.from_ir import workflow_problems
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json

FLOW = g.dag({"A": g.task("a"), "B": g.task("b").after("A"), "C": g.task("c").after("A", "B")})
NEEDS: list[Json] = [["A", []], ["B", ["A"]], ["C", ["A", "B"]]]


def text(**fields: Json) -> str:
    """Return the IR of the region with `fields` changed."""
    table: dict[str, Any] = json.loads(Definition.from_graph(FLOW).compile("w", None).to_json())
    table["states"]["dag"].update(fields)
    return json.dumps(table)


def test_a_region_is_read_as_it_was_written() -> None:
    compiled = Definition.from_graph(FLOW).compile("w", None)
    assert json.loads(compiled.to_json())["states"]["dag"]["needs"] == NEEDS
    assert Definition.from_ir(to_compiled(compiled)).compile("w", None).digest == compiled.digest


@pytest.mark.parametrize(
    ("fields", "place", "message"),
    [
        ({"needs": NEEDS[:2]}, "", "expected a name for each of 3 branches, got 2"),
        ({"quorum": 1}, "", "expected a region without a quorum"),
        ({"needs": [["A", []], ["A", ["A"]], NEEDS[2]]}, "[1]", 'expected a name that no other node has, got "A"'),
        ({"needs": [["A", []], ["B", ["A"]], ["C", []]]}, "[2]", 'expected nodes without sources first, got "C"'),
        ({"needs": [["A", []], ["B", ["A", "A"]], NEEDS[2]]}, "[1]", 'node "B" names a source twice'),
        ({"needs": [["A", []], ["B", ["C"]], NEEDS[2]]}, "[1]", '"C", which is not before it: nodes in a circle'),
        ({"needs": [["A", []], ["B", ["B"]], ["C", ["A"]]]}, "[1]", '"B", which is not before it'),
        ({"needs": [["A", []], ["B", ["D"]], NEEDS[2]]}, "[1]", '"D", which does not exist'),
        ({"branches": ["a", "b", "b"]}, "", 'nodes "B" and "C" share state "b"'),
    ],
)
def test_a_region_that_cannot_run_is_refused(fields: dict[str, Json], place: str, message: str) -> None:
    problems = {each.path: each.message for each in workflow_problems(Workflow.from_json(text(**fields)))}
    assert message in problems[f"$.states.dag.needs{place}"]


def test_a_map_has_no_named_nodes() -> None:
    table = json.loads(Definition.from_graph(g.map(g.task("a"), items=g.out)).compile("w", None).to_json())
    table["states"]["map"]["needs"] = [["A", []]]
    (problem,) = workflow_problems(Workflow.from_json(json.dumps(table)))
    assert "expected a Parallel as a region" in problem.message


def test_a_region_has_at_most_256_nodes() -> None:
    flow = g.dag({f"n{number}": g.task("a") for number in range(257)} | {"last": g.task("b").after("n0")})
    with pytest.raises(DefinitionError, match="expected at most 256 nodes, got 258"):
        Definition.from_graph(flow).compile("w", None)
