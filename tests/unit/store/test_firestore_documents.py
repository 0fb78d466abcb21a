"""Ids of documents are injective, valid, and keep the order of sort keys; sets are read as they were added."""

import hashlib
import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from unum_google.firestore import document_id, document_of, fields_of, last_name, set_fields
from unum_runtime.features.document_stores.conditional import Document
from unum_runtime.model.naming import Key

NAMES = st.text("ab0/.=%~!#_:é ", max_size=12)


@given(NAMES, NAMES)
def test_two_names_never_share_an_id_and_ids_have_their_order(one: str, other: str) -> None:
    assert (document_id(one) == document_id(other)) == (one == other)
    assert (document_id(one).encode() < document_id(other).encode()) == (one.encode() < other.encode())


@given(NAMES)
def test_every_id_is_one_that_firestore_takes(name: str) -> None:
    found = document_id(name)
    assert "/" not in found
    assert found not in {"", ".", ".."}
    assert not re.fullmatch("__.*__", found)


def test_ids_of_documents_stay_as_they_are_stored() -> None:
    assert [document_id(name) for name in ("w/e:1", "done.x", "")] == ["=w.~e:1", "=done.!x", "="]
    assert document_id("a" * 1_499) == "=" + "a" * 1_499
    assert document_id("a" * 1_500) == "#" + hashlib.sha256(b"a" * 1_500).hexdigest()


def test_long_names_have_ids_that_are_told_apart() -> None:
    found = {document_id(f"wf/{'é.' * 700}{end}") for end in "ab"}
    assert len(found) == 2
    assert all(len(each.encode()) <= 1_500 for each in found)


@given(st.sets(st.integers(0, 300), max_size=256), st.integers(1, 2**41), st.integers(1, 2**41))
def test_a_set_is_read_as_it_was_written(members: set[int], at_ms: int, life_ms: int) -> None:
    fields = set_fields(Key("p", "s"), tuple(members), at_ms, at_ms + life_ms)
    read = document_of(fields, 1)
    assert (read.members, read.expires_at_ms) == (frozenset(members), at_ms + life_ms)
    assert document_of(fields_of(Key("p", "s"), read, at_ms), 1) == read


def test_a_set_is_stored_in_this_form_and_read_with_its_version() -> None:
    fields = fields_of(Key("p", "s"), Document(2_000, {}, frozenset({7})), 1_000)
    expires_at = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert fields == {"sort": "s", "expires_at": expires_at, "item": {}, "members": {"m7": [1_000, 2_000]}}
    assert document_of(fields, "v") == Document(2_000, {}, frozenset({7}), "v")
    # The expiry by the last addition counts, whatever an earlier writer has left beside it.
    assert document_of({**fields, "expires_at": datetime(1970, 1, 2, tzinfo=UTC)}, "v").expires_at_ms == 2_000


def test_an_expiry_between_two_milliseconds_is_rounded_down() -> None:
    found = document_of({"expires_at": datetime(1970, 1, 1, 0, 0, 1, 1_500, tzinfo=UTC)}, "v")
    assert (found.expires_at_ms, type(found.expires_at_ms)) == (1_001, int)


def test_the_bound_of_a_place_is_after_its_entries_and_before_later_places() -> None:
    ordered = ["001/a ffff", last_name("001/a"), "001/a! 0", "001/ab 0", "002 0"]
    assert ordered == sorted(ordered)
