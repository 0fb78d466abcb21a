"""Entries of the list of executions: which belong to the workflow, and bounds around every text."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unum_runtime.model.list_index import FIRST, LAST, Kind, after, before, entry, is_entry, is_place, place, shard_of
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key, start_key

ONE = Execution("one", 1_800_000_000_000)
SHARD = shard_of(ONE)
STARTED = entry("w", ONE, Kind.STARTED)
REDRIVEN = entry("w", ONE, Kind.REDRIVEN)
STEP = checkpoint_key("w", Name(ONE, (), 7))


def test_entries_of_a_start_and_of_a_redrive_belong_to_their_workflow() -> None:
    assert is_entry("w", Kind.STARTED, SHARD, start_key("w", "one"), STARTED)
    assert is_entry("w", Kind.REDRIVEN, SHARD, STEP, REDRIVEN)


@pytest.mark.parametrize(
    ("kind", "key", "item"),
    [
        (Kind.STARTED, start_key("other", "one"), STARTED),
        (Kind.STARTED, start_key("w/x", "one"), STARTED),
        (Kind.STARTED, start_key("w", "two"), STARTED),
        (Kind.STARTED, start_key("w", "one")._replace(sort="other"), STARTED),
        (Kind.STARTED, STEP, STARTED),
        (Kind.REDRIVEN, start_key("w", "one"), REDRIVEN),
        (Kind.REDRIVEN, checkpoint_key("other", Name(ONE, (), 7)), REDRIVEN),
        (Kind.REDRIVEN, checkpoint_key("w", Name(Execution("one", 1), (), 7)), REDRIVEN),
        (Kind.STARTED, start_key("w", "one"), {**STARTED, "list_at": 7}),
        (Kind.STARTED, start_key("w", "one"), {"list": "w"}),
        (Kind.STARTED, start_key("w", ""), {**STARTED, "list_at": "1800000000000/"}),
    ],
)
def test_all_others_do_not(kind: Kind, key: Key, item: Any) -> None:
    assert not is_entry("w", kind, SHARD, key, item)


def test_an_entry_in_another_shard_would_be_seen_twice() -> None:
    assert not is_entry("w", Kind.STARTED, (SHARD + 1) % 4, start_key("w", "one"), STARTED)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
PLACES = st.builds(Execution, st.from_regex(r"[A-Za-z0-9_-]{1,80}", fullmatch=True), st.integers(0, 10**13 - 1)).map(
    place
)


@given(TEXTS | PLACES, PLACES)
def test_no_text_of_others_hides_a_place(found: str, other: str) -> None:
    assume(FIRST <= found <= LAST and found != other)
    assert is_place(other)
    bound = before(found)
    assert bound < found
    bound.encode()
    assert (other <= bound) == (other < found)
    assert (after(found) <= other) == (found < other) or not is_place(found)
