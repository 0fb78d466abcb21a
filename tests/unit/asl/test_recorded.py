"""Executions that AWS Step Functions recorded, of states that need no more than data flow.

The recordings lie beside the checkout, or where UNUM_ASL_CASES says; without them these tests are skipped.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from unum_runtime.asl.conditions import choose, compile_condition
from unum_runtime.asl.dataflow import compile_data_flow, effective_input, output
from unum_runtime.errors import DefinitionError, StatesError

BESIDE = Path(__file__).parents[4] / "shared" / "asl-cases"
RECORDINGS = Path(os.environ.get("UNUM_ASL_CASES", BESIDE)) / "executions.jsonl"
STATES_IN_SCOPE = {"Pass", "Choice", "Succeed"}
FIELDS_IN_SCOPE = {"Type", "Comment", "Next", "End", "InputPath", "OutputPath", "Parameters", "Result", "ResultPath"}
FIELDS_IN_SCOPE |= {"Choices", "Default"}
OTHER_CONTEXT = re.compile(r"\$\$(?!\.Execution\.Input)")
CHOICE_OPERATOR_CASES = 279
WORDS_AROUND_A_CAUSE = re.compile(
    r"An error occurred while executing the state '[^']*' \(entered at the event id #\d+\)\. "
)


def cases() -> list[dict[str, Any]]:
    if not RECORDINGS.exists():
        return []
    everything = map(json.loads, RECORDINGS.read_text(encoding="utf-8").splitlines())
    return [case for case in everything if is_in_scope(case)]


def is_in_scope(case: dict[str, Any]) -> bool:
    definition = case["definition"]
    if "QueryLanguage" in definition or OTHER_CONTEXT.search(json.dumps(definition)):
        return False
    if case["expected"].get("error") == "States.DataLimitExceeded":  # a limit of the service, not of the language
        return False
    states = definition["States"].values()
    return all(state["Type"] in STATES_IN_SCOPE and state.keys() <= FIELDS_IN_SCOPE for state in states)


CASES = cases()
needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {RECORDINGS}; set UNUM_ASL_CASES")


def run(definition: dict[str, Any], data: Any) -> Any:
    context = {"Execution": {"Input": data}}
    name = definition["StartAt"]
    while name:
        state = definition["States"][name]
        flow = compile_data_flow(state, where=f"$.States.{name}")
        work = effective_input(flow, data, context)
        if state["Type"] == "Choice":
            rules = [(compile_condition(rule), rule["Next"]) for rule in state["Choices"]]
            name = choose(rules, state.get("Default"), work, context)
        else:
            name = state.get("Next")
        data = output(flow, data, state.get("Result", work), context)
    return data


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"status": "SUCCEEDED", "output": run(case["definition"], case["input"])}
    except DefinitionError as refused:
        return {"unsupported": [problem.feature or f"mistake at {problem.path}" for problem in refused.problems]}
    except StatesError as error:
        return {"status": "FAILED", "error": error.error, "cause": error.cause}


def same(recorded: dict[str, Any], computed: dict[str, Any]) -> bool:
    return all(computed.get(key) == recorded.get(key) for key in ("status", "output", "error"))


@needs_recordings
def test_every_recorded_choice_operator() -> None:
    operators = [case for case in CASES if case["name"].startswith("choice_operators.")]
    wrong = [case["name"] for case in operators if not same(case["expected"], outcome(case))]
    assert (len(operators), wrong) == (CHOICE_OPERATOR_CASES, [])


OTHERS = [pytest.param(case, id=case["name"]) for case in CASES if not case["name"].startswith("choice_operators.")]


@needs_recordings
@pytest.mark.parametrize("case", OTHERS)
def test_other_recorded_executions(case: dict[str, Any]) -> None:
    computed = outcome(case)
    if "unsupported" in computed:
        pytest.skip(f"refused by name: {', '.join(computed['unsupported'])}")
    assert same(case["expected"], computed)
    if computed["status"] == "FAILED":
        recorded = WORDS_AROUND_A_CAUSE.sub("", case["expected"]["cause"])
        assert computed["cause"].split(" in the input ")[0] == recorded.split(" in the input ")[0]
