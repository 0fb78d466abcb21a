"""Mark the longest searches."""

from pathlib import Path

import pytest

LONG = frozenset(
    {
        "test_a_nudge_at_any_time[diamond]",
        "test_a_nudge_at_any_time[limited map]",
        "test_every_order_with_a_stop[eager-catch of a scope]",
        "test_every_order_with_a_stop[eager-loop in a map]",
        "test_every_order_with_a_stop[eager-region in a map]",
        "test_every_order_with_a_stop[eager-unguarded map]",
        "test_every_order_with_a_stop[eager-wavefront]",
        "test_every_way_with_eager_collection[retry of one branch]",
        "test_every_way_with_one_crash[results that are large at first]",
    }
)
"""The longest searches, for `make simulate`; each kind is searched with smaller graphs, too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name in LONG and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.long)
