"""Delivery records: they come back as they were, are small, and nothing depends on them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_client.deliveries import parse
from unum_runtime.model.delivery_record import MOST_ERROR, MOST_TRIES, Arrival, FailedTry, pack, with_try

REQUEST = "6a7e8feb-b491-4cf7-a9f1-bf3703467718"
STREAM = "2026/11/23/[12]0123456789abcdef0123456789abcdef"
AT_MS = 1_812_345_678_901

identifiers = st.sampled_from(["", REQUEST, STREAM, "=", "=x", "é", "6A7E8FEB-b491-4cf7-a9f1-bf3703467718"]) | st.text()
times = st.integers(AT_MS - 10**9, AT_MS + 10**6)
tries = st.lists(
    st.builds(FailedTry, st.none() | st.text(max_size=9), times, times),
    max_size=3,
    unique_by=lambda each: each.failed_ms,
)


@given(
    arrival=st.builds(Arrival, times, identifiers, identifiers, st.none() | st.integers(0, 9999), st.text(max_size=20)),
    sent_ms=times,
    since_ms=st.none() | times,
    failed=tries,
)
def test_a_record_comes_back_as_it_was(
    arrival: Arrival, sent_ms: int, since_ms: int | None, failed: list[FailedTry]
) -> None:
    text = pack(arrival, sent_ms=sent_ms, began_ms=arrival.began_ms, at_ms=AT_MS, since_ms=since_ms, tries=failed)
    found = parse(text, AT_MS)
    assert found is not None
    assert (found.request_id, found.log_stream, found.init_ms) == (
        arrival.request_id,
        arrival.log_stream,
        arrival.init_ms,
    )
    assert (found.sent_ms, found.began_ms, found.since_ms) == (sent_ms, arrival.began_ms, since_ms)
    assert (list(found.tries), found.given_up) == (failed, arrival.given_up)


def test_a_usual_record_has_seventy_bytes() -> None:
    usual = Arrival(AT_MS - 1234, REQUEST, STREAM)
    text = pack(usual, sent_ms=AT_MS - 1300, began_ms=usual.began_ms, at_ms=AT_MS, since_ms=None, tries=())
    assert len("dlv" + text) <= 72
    cold = pack(
        usual._replace(init_ms=431), sent_ms=AT_MS - 1900, began_ms=AT_MS - 1234, at_ms=AT_MS, since_ms=None, tries=()
    )
    assert len("dlv" + cold) <= 78


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{}",
        "3",
        "null",
        "[[]]",
        '["a","b","c"]',
        '["a",1]',
        '["",7]',
        '["","",1,2,3,4,[[1]]]',
        "[" * 99,
        '["","",1e999]',
        '["","",true]',
        '["","",99999999999999999999]',
    ],
)
def test_a_malformed_record_is_none(text: str) -> None:
    assert parse(text, AT_MS) is None


def test_fields_of_a_later_release_are_left_out() -> None:
    later: list[Any] = ["", "", 1, 2, None, None, [], "", "new"]
    assert parse(json.dumps(later), AT_MS) == parse(json.dumps(later[:-1]), AT_MS)
    assert parse(json.dumps(later), AT_MS) is not None


def test_the_latest_tries_are_kept() -> None:
    found: tuple[FailedTry, ...] = ()
    for number in range(MOST_TRIES + 5):
        found = with_try(found, "E" * 999, number, number + 1)
    assert [each.began_ms for each in found] == list(range(5, MOST_TRIES + 5))
    assert {each.error for each in found} == {"E" * MOST_ERROR}
    assert with_try((), None, 1, 2) == (FailedTry(None, 1, 2),)
