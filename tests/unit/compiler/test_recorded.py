"""Definitions from elsewhere, most with a verdict: accepted, or refused with a reason, and never by accident.

They lie beside the repository, or where UNUM_ASL_CASES says.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unum_constructs.definition import Definition
from unum_runtime.errors import DefinitionError, Problem

CASES = Path(os.environ.get("UNUM_ASL_CASES", Path(__file__).parents[4] / "shared" / "asl-cases"))

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"no recorded cases in {CASES}; set UNUM_ASL_CASES")

BROKEN_TEMPLATES = (
    "ingest-and-analyze-historical-storm-events",  # <account_number> in an ARN
    "agent-with-tools-flow-template.json",  # targets that a generator adds
    "supervisor-agent-flow-template.json",  # rules that a generator adds
    "dynamic-agent-template.json",  # the same
    "web-search-agent.json",  # States.Default, which is no function of the language
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


def test_invalid_definitions_are_refused() -> None:
    accepted = [
        case["name"] for case in cases("invalid.jsonl") if not case["valid"] and not problems(case["definition"])
    ]
    assert accepted == []


def test_what_aws_accepts_is_refused_for_its_features_only() -> None:
    validated = (
        case for case in cases("invalid.jsonl") if case["valid"] and case["source"]["oracle"].startswith("aws")
    )
    executed = cases("executions.jsonl")
    wrong = {case["name"]: mistakes(case["definition"]) for case in (*validated, *executed)}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_real_workflows_are_refused_for_their_features_only() -> None:
    wrong = {case["name"]: mistakes(case["definition"]) for case in cases("corpus.jsonl")}
    assert {
        name: found for name, found in wrong.items() if found and not any(broken in name for broken in BROKEN_TEMPLATES)
    } == {}


UNIMPLEMENTED_FIELDS = frozenset(
    (
        *(
            "Retry",
            "Catch",
            "Assign",
            "Output",
            "Arguments",
            "Items",
            "Condition",
            "TimeoutSeconds",
            "TimeoutSecondsPath",
        ),
        *(
            "HeartbeatSeconds",
            "HeartbeatSecondsPath",
            "Credentials",
            "ErrorPath",
            "CausePath",
            "ItemReader",
            "ItemBatcher",
        ),
        *("ResultWriter", "Label", "ToleratedFailureCount", "ToleratedFailurePercentage", "MaxConcurrencyPath"),
    )
)


@pytest.mark.parametrize("name", ["invalid.jsonl", "corpus.jsonl", "executions.jsonl"])
def test_nothing_is_accepted_that_is_not_implemented(name: str) -> None:
    accepted = [case["definition"] for case in cases(name) if not problems(case["definition"])]
    assert [found for definition in accepted for found in unimplemented(definition)] == []


def unimplemented(machine: dict[str, Any]) -> Iterator[str]:
    """A reading of its own, without the compiler's tables."""
    if machine.get("QueryLanguage", "JSONPath") != "JSONPath" or "TimeoutSeconds" in machine:
        yield "machine"
    for name, state in machine["States"].items():
        if UNIMPLEMENTED_FIELDS & state.keys() or state["Type"] == "Wait" or state.get("QueryLanguage") == "JSONata":
            yield name
        dynamic = json.dumps([state.get(field) for field in ("Parameters", "ItemSelector", "ResultSelector")])
        if '.$": "States.' in dynamic or "Task.Token" in dynamic:
            yield name
        if ":states:" in str(state.get("Resource")) and not state["Resource"].endswith(":lambda:invoke"):
            yield name
        inner = [state[field] for field in ("ItemProcessor", "Iterator") if field in state]
        for scope in (*inner, *state.get("Branches", ())):
            if scope.get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED":
                yield name
            yield from unimplemented(scope)
