"""Whole executions that AWS Step Functions recorded end here as they ended there."""

import copy
from typing import Any

import pytest

from tests.golden import adapter
from tests.golden.recordings import cases, judge, needed

UNEQUAL = {
    "express.express_async-query_runtime_memory": "an Express execution, whose ARN has another form",
    "scenarios.base_scenarios-map_item_reader_json_no_json_list_object": (
        "recorded in 2023: in July 2026, a data set that is an object was observed to give items with Key and Value"
    ),
    "express.express_sync-catch": "masks a part of a cause, which makes the output invalid JSON",
}
"""Recordings that nothing here can equal; see docs/asl.md."""

pytestmark = needed


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """``pass``, or what was different, by the name of the case."""
    return {case["name"]: verdict(case) for case in cases("executions.jsonl")}


def verdict(case: dict[str, Any]) -> str:
    try:
        found = adapter.run(
            copy.deepcopy(case["definition"]), copy.deepcopy(case["input"]), judge().TaskPlayer(case), case
        )
    except adapter.Unsupported as refused:
        return f"refused: {refused}"
    compared = judge().compare(case, found)
    return "pass" if compared["ok"] else f"expected {case['expected']}, got {found}"


def test_executions_end_as_recorded(verdicts: dict[str, str]) -> None:
    others = {name: found for name, found in verdicts.items() if found != "pass"}
    assert {name: found for name, found in others.items() if name not in UNEQUAL} == {}
    assert others.keys() == UNEQUAL.keys()
