"""A definition that compiles strictly ends as AWS recorded; the others are refused for a named difference."""

import copy
from collections import Counter
from typing import Any

import pytest

from tests.golden import adapter
from tests.golden.recordings import cases, judge, needed
from unum_compiler.checks.differences import Difference
from unum_compiler.compatibility import Compatibility

pytestmark = needed

STALE = "scenarios.base_scenarios-map_item_reader_json_no_json_list_object"
UNEQUAL = {"express.express_sync-catch", STALE}
"""A recording that masks a part of a cause, so that nothing can equal it, and one that newer measurements contradict;
see `test_recorded`."""


def verdict(case: dict[str, Any]) -> str:
    arguments = copy.deepcopy((case["definition"], case["input"]))
    try:
        found = adapter.run(*arguments, judge().TaskPlayer(case), case, Compatibility.STRICT)
    except adapter.Unsupported as refused:
        return str(refused)
    return "as recorded" if judge().compare(case, found)["ok"] else f"expected {case['expected']}, got {found}"


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    return {case["name"]: verdict(case) for case in cases("executions.jsonl")}


def test_strict_definitions_end_as_recorded_or_are_refused(verdicts: dict[str, str]) -> None:
    others = {name: found for name, found in verdicts.items() if found != "as recorded" and name not in UNEQUAL}
    assert [name for name, found in others.items() if f"{Difference.ROLE}: refused by compatibility" not in found] == []
    assert Counter(verdicts.values())["as recorded"] >= 475
