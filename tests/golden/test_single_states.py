"""Calls of TestState that AWS Step Functions answered get the same answer here."""

import json
from dataclasses import replace
from typing import Any

from tests.golden.recordings import cases, judge, needed
from unum_cli.commands.state_test import given, workflow_around
from unum_runtime.errors import DefinitionError
from unum_runtime.model.ir import Home
from unum_runtime.model.states import Json
from unum_simulator import single

DEPLOYED = {"lambda_func_00000001": lambda _event, _context: "HelloWorld!"}
"""The function that the recorded tests deploy; one call has no mock, and AWS called it."""

RECORDED_IN = Home(region="us-east-1", account="111111111111", role_arn="arn:aws:iam::111111111111:role/own")

pytestmark = needed


def answer(call: dict[str, Any]) -> dict[str, Json]:
    workflow, state = workflow_around(call["definition"], call.get("stateName"))
    return single.test_state(
        replace(workflow, home=RECORDED_IN),
        state,
        json.loads(call.get("input", "{}")),
        given=given(
            mock=call.get("mock"),
            variables=json.loads(call.get("variables", "{}")),
            context=json.loads(call["context"]) if "context" in call else None,
            configuration=call.get("stateConfiguration", {}),
            functions={} if "mock" in call else DEPLOYED,
        ),
        level=single.Level(call["inspectionLevel"]),
    )


def verdict(case: dict[str, Any]) -> str:
    try:
        found = answer(case["call"])
    except (DefinitionError, ValueError) as refused:
        return f"refused: {refused}"
    wanted = opened(case["expected"])
    wildcards = set(case["compare"]["wildcards"])
    fits = judge().matches(without_cause(wanted), without_cause(found), wildcards)
    return "pass" if fits else f"expected {wanted}, got {found}"


def without_cause(answered: dict[str, Json]) -> dict[str, Json]:
    """All but the wording for humans."""
    return {name: value for name, value in answered.items() if name != "cause"}


def opened(value: Json) -> Json:
    """The answer with its JSON texts as the values that they hold; the recorder has opened those of objects."""
    if isinstance(value, dict):
        texts = {name: text for name, text in value.items() if name == "output" or name.startswith(("after", "result"))}
        return {name: opened_text(item) if name in texts else opened(item) for name, item in value.items()}
    return value


def opened_text(value: Json) -> Json:
    return json.loads(value) if isinstance(value, str) else value


def test_states_come_to_what_is_recorded() -> None:
    verdicts = {case["name"]: verdict(case) for case in cases("test_state.jsonl")}
    assert {name: found for name, found in verdicts.items() if found != "pass"} == {}
