"""Lines of values in definitions."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_compiler.frontends.files import line_at, lines_of

JSON = """{
  "StartAt" : "A", "States": {
    "A b": {"Parameters": [1,

      {"x.$": "\\"}\\n{"} , [ ] ]},
    "C":
      {}
  }
}"""
YAML = """\
StartAt: A
States:
  A b:
    Parameters:
      - 1
      - {x.$: "$.y"}
  C: &c
    Type: Pass
  D: *c
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("$", 1),
        ("$.StartAt", 2),
        ("$.States", 2),
        ("$.States['A b']", 3),
        ("$.States['A b'].Parameters[0]", 3),
        ("$.States['A b'].Parameters[1]['x.$']", 5),
        ("$.States['A b'].Parameters[2]", 5),
        ("$.States['A b'].Parameters[1].missing[3]", 5),
        ("$.States['A b'].Missing", 3),
        ("$.States.C", 6),
        ("$.StatesX", 1),
        ("line 3, column 2", None),
    ],
)
def test_a_place_in_json_has_the_line_of_its_name(place: str, line: int | None) -> None:
    assert line_at(place, lines_of(JSON, is_yaml=False)) == line


def test_a_place_in_yaml_has_the_line_of_its_name() -> None:
    lines = lines_of(YAML, is_yaml=True)
    places = ("$", "$.States['A b']", "$.States['A b'].Parameters[1]['x.$']", "$.States.C.Type", "$.States.D.Type")
    assert [line_at(place, lines) for place in places] == [1, 3, 6, 8, 8]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_every_value_of_any_json_has_a_line(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    lines = lines_of(text, is_yaml=False)
    assert len(lines) == count(value)
    assert 1 <= max(lines.values()) <= text.count("\n") + 1


def count(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, inside))
