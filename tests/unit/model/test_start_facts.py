"""Attributes: their bounds, their text, and what malformed text counts as."""

import json
from typing import Any

import pytest

from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import read_start_record, start_record
from unum_runtime.model.naming import Execution
from unum_runtime.model.start_facts import are_attributes, attributes_in, checked_attributes, merged, to_text

MOST = {f"{number:02}{'n' * 4}": "v" * 37 for number in range(10)} | {"09nnnn": "v" * 46}
"""Ten attributes with as many bytes as they may have."""

BAD: list[Any] = [
    None, [], "a=1", 5,
    {"": "x"}, {"a b": "x"}, {"n" * 41: "x"}, {"ü": "x"}, {5: "x"},
    {"a": ""}, {"a": "v" * 101}, {"a": "x\n"}, {"a": "\ud800"}, {"a": None}, {"a": {}}, {"a": ["x"]},
    {**{f"a{number}": "x" for number in range(11)}},
    {**MOST, "00nnnn": "v" * 38},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_what_is_beyond_the_bounds_is_refused_and_read_as_nothing(bad: Any) -> None:
    assert not are_attributes(bad)
    with pytest.raises(ValueError, match="attributes: expected at most 10 texts of 1 to 100 characters"):
        checked_attributes(bad)
    if not isinstance(bad, dict) or all(isinstance(name, str) for name in bad):  # JSON has no other names
        assert attributes_in(json.dumps({"attributes": bad})) == {}


@pytest.mark.parametrize("good", [{}, {"n" * 40: "v" * 100}, {"a.b_c-D": "ü 1"}, MOST])
def test_what_is_within_them_stays(good: dict[str, str]) -> None:
    assert checked_attributes(good) == good == attributes_in(to_text(good))


def test_the_largest_attributes_have_500_bytes() -> None:
    assert len(to_text(MOST)) - len('{"attributes":}') == 500


def test_numbers_and_truth_values_become_text() -> None:
    assert checked_attributes({"a": 7, "b": 1.5, "c": True}) == {"a": "7", "b": "1.5", "c": "true"}


def test_equal_attributes_have_equal_text() -> None:
    assert to_text({"b": "ü", "a": "1"}) == '{"attributes":{"a":"1","b":"ü"}}'
    assert to_text({}) == ""


@pytest.mark.parametrize("text", [None, "", 5, "{", "[]", "5", '"x"', "{}", '{"attributes": 5}', "[" * 100_000])
def test_malformed_text_has_no_attributes(text: Any) -> None:
    assert attributes_in(text) == {}


def test_a_later_release_may_say_more() -> None:
    assert attributes_in('{"attributes":{"a":"1"},"more":[]}') == {"a": "1"}


def test_chosen_attributes_win_and_others_fill_what_is_left() -> None:
    found: dict[str, Any] = {"a": 1, "b": None, "c": True, "d": "", "e e": "x", "f": [], "g": "x" * 101}
    assert merged({"a": "chosen"}, found) == {"a": "chosen", "c": "true"}
    assert merged({f"a{number}": "x" for number in range(9)}, {"b": "1", "c": "2"}).keys() == {
        *(f"a{number}" for number in range(9)),
        "b",
    }


RECORD = start_record(Execution("e", 5), {"n": 1})


def test_a_start_record_without_attributes_is_as_before() -> None:
    assert RECORD.to_item() == {
        "state": "", "phase": "entered", "ir": "", "at": 5, "ms": 0, "attempt": 0, "value": '{"n":1}',
    }  # fmt: skip


def test_a_start_record_keeps_attributes() -> None:
    record = RECORD.saying(about=to_text({"customer": "7"}))
    item = record.to_item()
    assert item == {**RECORD.to_item(), "about": '{"attributes":{"customer":"7"}}'}
    assert read_start_record("e", item) == record
    assert read_start_record("e", {**item, "about": "["}).about == "["
    with pytest.raises(InconsistentHistory):
        read_start_record("e", {**item, "abouts": "x"})
