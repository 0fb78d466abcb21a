"""Makes the modules beside the tests importable, which importlib mode alone does not; and knows what takes long."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

LONG = frozenset(
    {
        "test_a_nudge_and_a_crash[chain]",
        "test_a_nudge_at_any_time[diamond]",
        "test_a_nudge_at_any_time[limited map]",
        "test_eager_collection_with_one_crash[results that are large at first]",
        "test_every_order_with_a_stop[eager-catch of a scope]",
        "test_every_order_with_a_stop[eager-loop in a map]",
        "test_every_order_with_a_stop[eager-unguarded map]",
        "test_every_way_with_a_crash_and_a_duplicate[eager-chain]",
        "test_every_way_with_a_pause[retry of a parallel]",
        "test_every_way_with_a_pause[retry of a shared result]",
        "test_every_way_with_eager_collection[retry of one branch]",
        "test_every_way_with_one_crash[loop in a map]",
        "test_every_way_with_one_crash[map without join]",
        "test_every_way_with_one_crash[one function at both ends]",
        "test_every_way_with_one_crash[results that are large at first]",
        "test_every_way_with_one_duplicate[diamond]",
        "test_every_way_with_one_duplicate[loop in a map]",
        "test_every_way_with_one_duplicate[timeout between retries of a scope]",
        "test_small_packs_with_a_crash_and_a_duplicate[alone-results of two sizes]",
        "test_small_packs_with_a_crash_and_a_duplicate[pairs-results in packs]",
        "test_small_packs_with_a_crash_and_a_duplicate[pairs-results of two sizes]",
    }
)
"""The longest searches, for `make simulate`; each kind is searched with smaller graphs, too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name in LONG and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.long)
