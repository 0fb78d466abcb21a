"""JSON text of Task results."""

import datetime as dt
import enum
import json
import math
import tracemalloc
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import StatesError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


class Colour(enum.StrEnum):
    RED = "red"


@given(JSON)
def test_json_reads_back(value: Any) -> None:
    assert json.loads(dumps(value)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, None, True]}, '{"a":[1,2.5,null,true]}'),
        ("Ж", '"Ж"'),
        ((1, (2,)), "[1,[2]]"),
        (Decimal("0.1"), "0.1"),
        ({1: 1, 1.5: 1, False: 1, None: 1}, '{"1":1,"1.5":1,"false":1,"null":1}'),
        (Colour.RED, '"red"'),
    ],
)
def test_text_equals_lambdas(value: Any, text: str) -> None:
    assert dumps(value) == text


CIRCLE: list[Any] = []
CIRCLE.append({"self": CIRCLE})


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (
            {"items": [0, 0, 0, {"when": dt.datetime(2020, 1, 1, tzinfo=dt.UTC)}]},
            "$.items[3].when: datetime.datetime is not JSON; return str, int, float, bool, None, list or dict",
        ),
        ({"a b": {1}}, "$['a b']: set is not JSON"),
        ([b"x"], "$[0]: bytes is not JSON"),
        ({"x": (1, math.nan)}, "$.x[1]: nan is not JSON; return a finite number or None"),
        ([math.inf], "$[0]: inf is not JSON"),
        ([Decimal("NaN")], "$[0]: NaN is not JSON"),
        ({("a", 1): 1}, "$[('a', 1)]: a key of type tuple is not JSON; use str keys"),
        ({math.nan: 1}, "$[nan]: nan is not JSON"),
        ({"x": 10**400}, "$.x: an integer of 1329 bits is beyond the range of a double; return it as a text"),
        ([-(10**5000)], "$[0]: an integer of 16610 bits is beyond the range of a double"),
        ([Decimal("1e400")], "$[0]: 1E+400 is not JSON"),
        (["ok", "\ud800"], "$[1]: the text contains a lone surrogate"),
        ({"\ud800": 1}, "the text contains a lone surrogate"),
        (CIRCLE, "$[0].self: expected a tree, got a reference to an enclosing value"),
    ],
)
def test_errors_name_type_and_place(value: Any, cause: str) -> None:
    with pytest.raises(NotSerializable) as caught:
        dumps(value)
    assert cause in caught.value.cause
    assert isinstance(caught.value, StatesError)
    assert caught.value.error == "Runtime.MarshalError"


def test_the_place_begins_with_the_callers_path() -> None:
    with pytest.raises(NotSerializable, match=r"^Runtime.MarshalError: result\.x: set"):
        dumps({"x": set()}, where="result")


def test_a_value_may_occur_twice() -> None:
    shared = [1]
    assert dumps({"a": shared, "b": shared}) == '{"a":[1],"b":[1]}'


def test_a_circle_of_much_text_takes_no_memory() -> None:
    circle: list[Any] = ["x" * 100_000]
    circle.append(circle)
    tracemalloc.start()
    try:
        with pytest.raises(NotSerializable, match="an enclosing value"):
            dumps(circle)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_tower_of_lists() -> None:
    tower: list[Any] = []
    for _ in range(200_000):
        tower = [tower]
    with pytest.raises(NotSerializable, match="nested too deeply"):
        dumps(tower)


def test_a_fault_that_is_nested_too_deeply_to_be_found_is_one() -> None:
    value: Any = "\ud800"
    for _ in range(400):
        value = [value]
    with pytest.raises(NotSerializable, match=r"\$: a text contains a lone surrogate"):
        dumps(value)
