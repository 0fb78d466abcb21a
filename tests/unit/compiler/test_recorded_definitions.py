"""Definitions from elsewhere, most with a verdict: accepted, or refused with a reason, and never by accident.

They lie beside the repository, or where UNUM_ASL_CASES says.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import State, Task, Work

CASES = Path(os.environ.get("UNUM_ASL_CASES", Path(__file__).parents[4] / "shared" / "asl-cases"))

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"no recorded cases in {CASES}; set UNUM_ASL_CASES")

BROKEN_TEMPLATES = {
    # targets and rules that a generator adds
    "agent-with-tools-flow-template.json": 'there is no state "Get DB Schema"',
    "supervisor-agent-flow-template.json": 'the field "Next" is missing',
    "dynamic-agent-template.json": 'expected {% an expression %}, got "TOOL_NAMES_LIST"',
    # no function of the language
    "web-search-agent.json": "unknown intrinsic function States.Default",
    # zero, in place of what Terraform or a deployment fills in
    "monte-carlo-simulation/terraform": "TimeoutSeconds: expected an integer from 1 to 99999999, got 0",
    "stage-glue.asl.json": "MaxItemsPerBatch: expected an integer from 1 to 99999999, got 0",
}
"""Definitions that Step Functions refuses as well, with the reason."""

LINTERS_ARE_WRONG = (
    "surround-syntax-no-spaces",  # AWS takes {%1%} as well
    "map-with-item-batcher-jsonata",  # a state in JSONPath in a machine in JSONata
    "map-with-resultselector",  # parts of the context object that there are not
    "pass-with-io-path-context-object",  # the same
)


def cases(name: str) -> Iterator[dict[str, Any]]:
    with (CASES / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def problems(definition: Any) -> tuple[Problem, ...]:
    try:
        Definition.from_asl(definition).compile("w", None)
    except DefinitionError as error:
        return error.problems
    return ()


def mistakes(definition: Any) -> list[str]:
    return [str(problem) for problem in problems(definition) if problem.feature is None]


def is_one_of(case: dict[str, Any], names: Iterable[str]) -> bool:
    return any(name in case["name"] for name in names)


def verdicts(*, valid: bool) -> list[dict[str, Any]]:
    known = (case for case in cases("invalid.jsonl") if not is_one_of(case, LINTERS_ARE_WRONG))
    return [case for case in known if case["valid"] is valid]


def test_invalid_definitions_are_refused() -> None:
    assert [case["name"] for case in verdicts(valid=False) if not problems(case["definition"])] == []


def test_valid_definitions_are_refused_for_their_features_only() -> None:
    wrong = {case["name"]: mistakes(case["definition"]) for case in verdicts(valid=True)}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_aws_is_always_right_and_linters_mostly() -> None:
    known = list(cases("invalid.jsonl"))
    by_aws = [case for case in known if case["source"]["oracle"].startswith("aws")]
    by_linters = [case for case in known if case not in by_aws]
    assert [case["name"] for case in by_aws if not agrees(case)] == []
    assert sum(map(agrees, by_linters)) >= 0.9 * len(by_linters)


def agrees(case: dict[str, Any]) -> bool:
    return not mistakes(case["definition"]) if case["valid"] else bool(problems(case["definition"]))


def test_what_aws_refuses_is_refused_at_the_same_place() -> None:
    placed = 0
    for case in verdicts(valid=False):
        found = re.findall(r" at (/States\S*)'", str(case["diagnostics"]))
        if found and case["source"]["oracle"].startswith("aws"):
            assert found[0].replace("/", ".").join(("$", "")) in [each.path for each in problems(case["definition"])]
            placed += 1
    assert placed


def test_what_aws_has_executed_is_refused_for_its_features_only() -> None:
    wrong = {case["name"]: mistakes(case["definition"]) for case in cases("executions.jsonl")}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_all_real_workflows_compile_that_are_not_broken() -> None:
    real = [case for case in cases("corpus.jsonl") if not is_one_of(case, BROKEN_TEMPLATES)]
    refused = {case["name"]: found for case in real if (found := problems(case["definition"]))}
    assert refused == {}


@pytest.mark.parametrize("name", BROKEN_TEMPLATES)
def test_a_broken_workflow_is_refused_with_the_reason(name: str) -> None:
    found = [problems(case["definition"]) for case in cases("corpus.jsonl") if is_one_of(case, [name])]
    (refused,) = filter(None, found)  # one file has a second definition, which compiles
    assert BROKEN_TEMPLATES[name] in str(refused[0])


@pytest.mark.parametrize("name", ["invalid.jsonl", "corpus.jsonl", "executions.jsonl"])
def test_nothing_is_ignored(name: str) -> None:
    accepted = [case["definition"] for case in cases(name) if not problems(case["definition"])]
    lost = (lost_fields(definition) for definition in accepted)
    assert [found for found in lost if found] == []


NEITHER_DATA_NOR_LOST = frozenset(("Type", "Comment", "QueryLanguage", "Next", "End", "Resource", "Choices", "Default"))
INSIDE = frozenset(("Branches", "ItemProcessor", "Iterator", "Label", "Retry", "Catch"))


def lost_fields(definition: dict[str, Any]) -> list[str]:
    """What is in the definition and not in the IR; a reading of its own, without the compiler's tables."""
    workflow = compile_workflow(definition, name="w", functions=None)
    return [f"{name}.{field}" for name, state in states(definition) for field in lost(workflow, name, state)]


def lost(workflow: Workflow, name: str, state: dict[str, Any]) -> Iterator[str]:
    compiled: State = workflow.states[name]
    renamed = {"Parameters": "ItemSelector"} if state["Type"] == "Map" else {}
    data = {renamed.get(field, field) for field in state} - NEITHER_DATA_NOR_LOST - INSIDE
    yield from data - set(kept(workflow, compiled))
    if isinstance(compiled, Work):
        for field, rules in (("Retry", compiled.retry), ("Catch", compiled.catch)):
            if [rule["ErrorEquals"] for rule in state.get(field, [])] != [list(rule.errors) for rule in rules]:
                yield field


def kept(workflow: Workflow, state: State) -> Iterator[str]:
    """The fields of `state` in the IR, with those that other Tasks have for it, and with what is inside others."""
    yield from state.data
    if isinstance(state, Task) and state.assumes_role:
        yield from state.data.get("Arguments", state.data.get("Parameters"))
    for field in ("ItemReader", "ResultWriter"):
        if around := workflow.states.get(f"{state.name} ({field})"):
            yield from (field, *around.data, *(("ItemsPath", "Items") if field == "ItemReader" else ()))


def states(machine: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, state in machine["States"].items():
        yield name, state
        inner = [state[field] for field in ("ItemProcessor", "Iterator") if field in state]
        for scope in (*inner, *state.get("Branches", ())):
            yield from states(scope)
