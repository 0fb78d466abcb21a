"""Recorded executions of AWS Step Functions with JSONata states, without Tasks.

Recordings are in a folder next to the checkout, or in UNUM_ASL_CASES; pytest skips these tests without recordings.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonata.jsonata_program import JsonataProgram
from unum_runtime.asl.jsonpath.jsonpath_program import JsonPathProgram
from unum_runtime.errors import StatesError

BESIDE = Path(__file__).parents[5] / "shared" / "asl-cases"
FOLDER = Path(os.environ.get("UNUM_ASL_CASES", BESIDE))
CONTEXT_IS_SHOWN = re.compile(r"\$states\.context\s*%}")
WORDS_AROUND_A_CAUSE = re.compile(
    r"An error occurred while executing the state '[^']*' \(entered at the event id #\d+\)\. "
)
STATES_IN_SCOPE = {"Pass", "Choice", "Succeed", "Fail", "Wait", "Map"}


def recordings(file: str) -> list[dict[str, Any]]:
    path = FOLDER / file
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def is_in_scope(case: dict[str, Any]) -> bool:
    text = json.dumps(case["definition"])
    return '"JSONata"' in text and case["class"] == "pure" and not CONTEXT_IS_SHOWN.search(text)


CASES = [pytest.param(case, id=case["name"]) for case in recordings("executions.jsonl") if is_in_scope(case)]
needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {FOLDER}; set UNUM_ASL_CASES")


def run(machine: dict[str, Any], data: Any, variables: Mapping[str, Any], language: str) -> Any:
    name = machine["StartAt"]
    while name:
        state = machine["States"][name]
        kind, own = state["Type"], state.get("QueryLanguage", language)
        context = ExpressionContext({"Execution": {"Input": data}}, variables)
        program = made(state, own)
        name = state.get("Next")
        if kind == "Fail":
            raise StatesError(*program.failure(data, context))  # type: ignore[arg-type]  # by name
        if kind == "Choice":
            name, (data, variables) = program.choose(data, context)
            continue
        result = program.arguments(data, context)
        if kind == "Map":
            inner = state["ItemProcessor"]
            result = [run(inner, item, variables, own) for item in program.items(data, context)]
        if kind == "Wait":
            assert program.until_ms(data, context) == context.now_ms
        data, variables = program.output(data, result, context)
    return data


def made(state: dict[str, Any], language: str) -> JsonataProgram | JsonPathProgram:
    rules = [(rule, rule["Next"]) for rule in state.get("Choices", ())]
    cls = JsonataProgram if language == "JSONata" else JsonPathProgram
    return cls(state, rules, state.get("Default"))


@needs_recordings
@pytest.mark.parametrize("case", CASES)
def test_recorded_executions(case: dict[str, Any]) -> None:
    definition, expected = case["definition"], case["expected"]
    assert {state["Type"] for state in definition["States"].values()} <= STATES_IN_SCOPE
    assert outcome(definition, case["input"]) == tuple(
        WORDS_AROUND_A_CAUSE.sub("", value) if isinstance(value, str) else value
        for value in (expected["status"], expected.get("output"), expected.get("error"), expected.get("cause"))
    )


def outcome(definition: dict[str, Any], data: Any) -> tuple[str, Any, str | None, str | None]:
    try:
        return "SUCCEEDED", run(definition, data, {}, definition.get("QueryLanguage", "JSONPath")), None, None
    except StatesError as failure:
        return "FAILED", None, failure.error, failure.cause


def outputs_of_single_states() -> list[Any]:
    calls = [case for case in recordings("test_state.jsonl") if '"JSONata"' in json.dumps(case["call"])]
    mocked = [case for case in calls if "result" in case["call"].get("mock", {})]
    done = [case for case in mocked if case["expected"]["status"] == "SUCCEEDED"]
    shown = [case for case in done if case["call"]["definition"].get("Output") != "{% $states %}"]
    return [pytest.param(case, id=case["name"]) for case in shown if "Type" in case["call"]["definition"]]


@needs_recordings
@pytest.mark.parametrize("case", outputs_of_single_states())
def test_recorded_outputs_of_mocked_states(case: dict[str, Any]) -> None:
    call = case["call"]
    left = JsonataProgram(call["definition"]).output(
        json.loads(call["input"]), json.loads(call["mock"]["result"]), ExpressionContext({})
    )
    expected = case["expected"]["output"]
    recorded = json.loads(expected) if isinstance(expected, str) else expected
    assert json.dumps(left.value).replace("2026-11-20T11:37:52.633772", "start-date") == json.dumps(recorded)
