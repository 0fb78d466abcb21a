"""Definitions from elsewhere, most with a verdict: accepted, or refused with a reason, and never by accident.

They lie beside the repository, or where UNUM_ASL_CASES says.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from unum_compiler import compile_workflow
from unum_compiler.compatibility import Compatibility
from unum_compiler.definition import Definition
from unum_runtime.errors import DefinitionError, Problem
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import State, Task, Work

CASES = Path(os.environ.get("UNUM_ASL_CASES", Path(__file__).parents[4] / "shared" / "asl-cases"))

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"no recorded cases in {CASES}; set UNUM_ASL_CASES")

BROKEN_TEMPLATES = {
    # targets that a generator adds: "MISSING_TRANSITION_TARGET: Missing 'Next' target: pass3 at /States/pass1/Next"
    # (AWS's answer in localstack/localstack/issues/11978)
    "agent-with-tools-flow-template.json": 'there is no state "Get DB Schema"',
    # rules that a generator adds: "SCHEMA_VALIDATION_FAILED: These fields are required: [Next] at
    # /States/Choice/Choices[0]"
    # (AWS's answer in aws-cloudformation/cfn-lint/issues/4077)
    "supervisor-agent-flow-template.json": 'the field "Next" is missing',
    # a text in place of an array of rules and of items (specification, "Choice State" and "Map State", Items)
    "dynamic-agent-template.json": 'expected {% an expression %}, got "TOOL_NAMES_LIST"',
    # no function of the language (Developer Guide, "Intrinsic functions": the list of all)
    "web-search-agent.json": "unknown intrinsic function States.Default",
    # zero, in place of what Terraform or a deployment fills in. Specification, "Timeouts and Heartbeats": positive
    # integers; "Map State", ItemBatcher: a positive integer. AWS checks bounds when it creates a state machine:
    # "Maximum value is 99999999 at /States/Wait/Seconds" (in aws-cloudformation/cfn-lint/issues/4075).
    "monte-carlo-simulation/terraform": "TimeoutSeconds: expected an integer from 1 to 99999999, got 0",
}
"""Definitions that Step Functions refuses as well: the reason here, with AWS's words or the rule that they break."""

NO_RESOURCE = (
    "resource: AWS refuses it too, as recorded for arn:aws:states:::dynamodb:query: 'The resource provided ... is not "
    "recognized. The value is not a valid resource ARN, or the resource is not available in this region'"
)
OTHERS_THAN_LINTERS = {
    "aslval-invalid-jsonata-surround-syntax-no-spaces": (
        "specification, JSONata: a string that begins with {% and ends with %}; blanks are not mentioned, and a "
        "published sample that is deployed has none"
    ),
    "aslval-valid-map-with-item-batcher-jsonata": (
        "AWS refuses it: \"'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine\" "
        "(floci-io/floci/issues/2968)"
    ),
    "aslval-valid-task-intrisic-function": "CloudFormation's functions are no part of the language: Resource is a text",
    "statelint-map-with-resultselector": "the context object has no $$.z, so every execution would fail",
    "statelint-pass-with-io-path-context-object": "the context object has no $$.path, so every execution would fail",
    **dict.fromkeys(
        (
            "aslval-valid-task-credentials",
            "aslval-valid-task-timeout-jsonata",
            "statelint-backoff-with-jitter-on-retry",
            "statelint-states-array-intrinsic-functions",
            "statelint-states-array-invocation",
            "statelint-states-json-intrinsic-functions",
            "statelint-states-math-intrinsic-functions",
            "statelint-states-string-intrinsic-functions",
            "statelint-task-with-credentials",
            "statelint-task-with-resultpath",
        ),
        NO_RESOURCE,
    ),
}
"""Cases with another verdict here than a linter's, and why; AWS's own verdicts are all the same."""

STRICTLY_OTHERS = {
    "aslval-valid-map-noconfig": "AWS has data sets only in distributed Maps: Developer Guide, Map state, ItemReader",
    "aslval-valid-pass-negativeIndex": "no source says what a negative index does in AWS",
}
"""Cases that only strict compatibility refuses, and why."""


def cases(name: str) -> Iterator[dict[str, Any]]:
    with (CASES / name).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def problems(definition: Any, compatibility: Compatibility = Compatibility.GENEROUS) -> tuple[Problem, ...]:
    try:
        replace(Definition.from_asl(definition), compatibility=compatibility).compile("w", None)
    except DefinitionError as error:
        return error.problems
    return ()


def mistakes(definition: Any) -> list[str]:
    return [str(problem) for problem in problems(definition) if problem.feature is None]


def is_one_of(case: dict[str, Any], names: Iterable[str]) -> bool:
    return any(name in case["name"] for name in names)


def verdicts(*, valid: bool) -> list[dict[str, Any]]:
    known = (case for case in cases("invalid.jsonl") if case["name"] not in OTHERS_THAN_LINTERS)
    return [case for case in known if case["valid"] is valid]


def test_invalid_definitions_are_refused() -> None:
    assert [case["name"] for case in verdicts(valid=False) if not problems(case["definition"])] == []


def test_valid_definitions_are_refused_for_their_features_only() -> None:
    wrong = {case["name"]: mistakes(case["definition"]) for case in verdicts(valid=True)}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_every_other_verdict_than_recorded_is_a_linters_and_explained() -> None:
    for compatibility, expected in (
        (Compatibility.GENEROUS, OTHERS_THAN_LINTERS),
        (Compatibility.STRICT, OTHERS_THAN_LINTERS | STRICTLY_OTHERS),
    ):
        others = [
            case
            for case in cases("invalid.jsonl")
            if case["valid"] == bool(problems(case["definition"], compatibility))
        ]
        assert {case["name"] for case in others} == expected.keys()
        assert [case["name"] for case in others if case["source"]["oracle"].startswith("aws")] == []


def test_cases_with_an_unknown_resource_are_valid_with_a_known_one() -> None:
    checked = [case for case in cases("invalid.jsonl") if OTHERS_THAN_LINTERS.get(case["name"]) == NO_RESOURCE]
    for case in checked:
        text = re.sub(
            r'"(foo:bar|arn:aws:swf:[^"]*)"', '"arn:aws:lambda:us-east-1:1:function:f"', json.dumps(case["definition"])
        )
        credentials = {"Credentials"} if "-credentials" in case["name"] else set()  # of another form than RoleArn
        assert {problem.feature for problem in problems(text)} == credentials
    assert len(checked) == 10


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
    """Return fields of the definition that the IR lacks, read without the compiler's tables."""
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
    """Return the fields of `state` in the IR, including fields of nested states and alternative Tasks."""
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
