"""Whole executions that AWS Step Functions recorded end here as they ended there."""

import copy
from collections import defaultdict
from typing import Any

import pytest

from tests.golden import adapter
from tests.golden.recordings import cases, judge, needed

WANTED = 0.97
"""Of the recorded tests, each of which has one or several executions, all of which must end as recorded."""

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
    tests = defaultdict(set)
    for case in cases("executions.jsonl"):
        tests[case["source"]["test"]].add(verdicts[case["name"]])
    passed = sum(found == {"pass"} for found in tests.values())
    others = {name: found for name, found in verdicts.items() if found != "pass"}
    assert passed / len(tests) >= WANTED, others
