"""Recorded executions of AWS Step Functions with JSONPath states, without Tasks.

Recordings are in a folder next to the checkout, or in UNUM_ASL_CASES; pytest skips these tests without recordings.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from unum_runtime.asl.expression_context import ExpressionContext
from unum_runtime.asl.jsonpath.conditions import compile_condition
from unum_runtime.asl.jsonpath.dataflow import check_path, check_result_path
from unum_runtime.asl.jsonpath.jsonpath_program import JsonPathProgram
from unum_runtime.asl.jsonpath.templates import compile_template
from unum_runtime.errors import DefinitionError, StatesError

BESIDE = Path(__file__).parents[4] / "shared" / "asl-cases"
RECORDINGS = Path(os.environ.get("UNUM_ASL_CASES", BESIDE)) / "executions.jsonl"
STATES_IN_SCOPE = {"Pass", "Choice", "Wait", "Succeed", "Fail", "Map"}
OUT_OF_SCOPE = {"ItemReader", "ResultWriter", "QueryLanguage", "Arguments", "Output", "Items", "Retry", "Catch"}
PATH_CHECKS = {"InputPath": check_path, "ResultPath": check_result_path, "OutputPath": check_path}
OTHER_CONTEXT = re.compile(r"\$\$(?!\.Execution\.Input|\.Map\.Item|\.State\.Name)")
CHOICE_OPERATOR_CASES = 279
CASES_AT_LEAST = 330
WORDS_AROUND_A_CAUSE = re.compile(
    r"An error occurred while executing the state '[^']*' \(entered at the event id #\d+\)\. "
)
BY_CHANCE = {"<uuid:1>", "RandomNumberGenerated"}


def cases() -> list[dict[str, Any]]:
    if not RECORDINGS.exists():
        return []
    everything = map(json.loads, RECORDINGS.read_text(encoding="utf-8").splitlines())
    return [case for case in everything if is_in_scope(case)]


def is_in_scope(case: dict[str, Any]) -> bool:
    definition = case["definition"]
    if "QueryLanguage" in definition or OTHER_CONTEXT.search(json.dumps(definition)):
        return False
    if case["expected"].get("error") == "States.DataLimitExceeded":  # limit of the service, not of the language
        return False
    return all(state["Type"] in STATES_IN_SCOPE and not state.keys() & OUT_OF_SCOPE for state in states_of(definition))


def states_of(machine: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for state in machine["States"].values():
        yield state
        if state["Type"] == "Map":
            yield from states_of(inner_of(state))


def inner_of(state: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = state.get("ItemProcessor") or state["Iterator"]
    return inner


CASES = cases()
needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {RECORDINGS}; set UNUM_ASL_CASES")


class Failed(Exception):
    """Execution ended by a Fail state."""


def run(machine: dict[str, Any], data: Any, given: Any, variables: Mapping[str, Any]) -> Any:
    name = machine["StartAt"]
    while name:
        state = machine["States"][name]
        context = ExpressionContext({"Execution": {"Input": given}, "State": {"Name": name}}, variables, seed=name)
        name, (data, variables) = step(state, data, given, context)
    return data


def check(state: dict[str, Any]) -> None:
    for field, check_field in PATH_CHECKS.items():
        if problems := check_field(state.get(field), field):
            raise DefinitionError(tuple(problems))
    for field in {"Parameters", "ResultSelector"} & state.keys():
        compile_template(state[field])


def step(state: dict[str, Any], data: Any, given: Any, context: ExpressionContext) -> tuple[str | None, Any]:
    check(state)
    if state["Type"] == "Map" and "Parameters" in state:  # the compiler replaces this older name
        state = {"ItemSelector" if field == "Parameters" else field: value for field, value in state.items()}
    fields = JsonPathProgram(state, [(rule, rule["Next"]) for rule in state.get("Choices", ())], state.get("Default"))
    match state["Type"]:
        case "Choice":
            for rule in state["Choices"]:
                compile_condition(rule)
            return fields.choose(data, context)
        case "Fail":
            raise Failed(*fields.failure(data, context))
        case "Wait":
            fields.until_ms(data, context)
            result = fields.arguments(data, context)
        case "Map":
            for field in ("MaxConcurrency", "ToleratedFailureCount", "ToleratedFailurePercentage"):
                fields.number(field, data, context)
            result = [run(inner_of(state), item, given, context.variables) for item in fields.items(data, context)]
        case _:
            result = fields.arguments(data, context)
    return state.get("Next"), fields.output(data, result, context)


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"status": "SUCCEEDED", "output": run(case["definition"], case["input"], case["input"], {})}
    except Failed as failed:
        names = zip(("error", "cause"), failed.args, strict=True)
        return {"status": "FAILED", **{key: value for key, value in names if value is not None}}
    except DefinitionError as refused:
        return {"unsupported": [problem.feature or f"mistake at {problem.path}" for problem in refused.problems]}
    except StatesError as error:
        return {"status": "FAILED", "error": error.error, "cause": error.cause}


def same(recorded: dict[str, Any], computed: dict[str, Any]) -> bool:
    return all(alike(recorded.get(key), computed.get(key)) for key in ("status", "output", "error"))


def alike(recorded: Any, computed: Any) -> bool:
    if isinstance(recorded, dict) and isinstance(computed, dict):
        same_keys = recorded.keys() == computed.keys()
        return same_keys and all(alike(value, computed[key]) for key, value in recorded.items())
    return recorded == computed or (isinstance(recorded, str) and recorded in BY_CHANCE)


@needs_recordings
def test_every_recorded_choice_operator() -> None:
    operators = [case for case in CASES if case["name"].startswith("choice_operators.")]
    wrong = [case["name"] for case in operators if not same(case["expected"], outcome(case))]
    assert (len(operators), wrong) == (CHOICE_OPERATOR_CASES, [])


@needs_recordings
def test_enough_is_recorded() -> None:
    assert len(CASES) >= CASES_AT_LEAST


OTHERS = [pytest.param(case, id=case["name"]) for case in CASES if not case["name"].startswith("choice_operators.")]


@needs_recordings
@pytest.mark.parametrize("case", OTHERS)
def test_other_recorded_executions(case: dict[str, Any]) -> None:
    computed = outcome(case)
    if "unsupported" in computed:
        pytest.skip(f"refused by name: {', '.join(computed['unsupported'])}")
    assert same(case["expected"], computed)
    if computed.get("cause"):
        recorded = WORDS_AROUND_A_CAUSE.sub("", case["expected"]["cause"])
        assert computed["cause"].split(" in the input ")[0] == recorded.split(" in the input ")[0]
