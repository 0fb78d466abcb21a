"""JSON to what botocore takes, and back."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.model import DenormalizedStructureBuilder, Shape
from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.features.services.shapes import BadParameter, to_request, to_result

EVERYTHING = {
    "theText": {"type": "string"},
    "theWhole": {"type": "integer"},
    "theLong": {"type": "long"},
    "theRatio": {"type": "double"},
    "theSwitch": {"type": "boolean"},
    "theTime": {"type": "timestamp"},
    "theBytes": {"type": "blob"},
    "theDBList": {"type": "list", "member": {"type": "structure", "members": {"anARN": {"type": "string"}}}},
    "theMap": {"type": "map", "key": {"type": "string"}, "value": {"type": "string"}},
    "equals": {"type": "string"},
}
SHAPE: Shape = DenormalizedStructureBuilder().with_members(EVERYTHING).build_model()
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "request_"),
    [
        ({"TheText": "a"}, {"theText": "a"}),
        ({"TheText": {"a": [1]}}, {"theText": '{"a":[1]}'}),
        ({"TheText": None}, {}),
        ({"TheWhole": 5.0}, {"theWhole": 5}),
        ({"TheWhole": "5"}, {"theWhole": 5}),
        ({"TheRatio": "0.5"}, {"theRatio": 0.5}),
        ({"TheSwitch": False}, {"theSwitch": False}),
        ({"TheTime": "2026-01-02T12:00:00Z"}, {"theTime": NOON}),
        ({"TheTime": 1767355200}, {"theTime": NOON}),
        ({"TheBytes": "é"}, {"theBytes": "é".encode()}),
        ({"TheBytes": {"a": 1}}, {"theBytes": b'{"a":1}'}),
        ({"TheDbList": [{"AnArn": "a"}]}, {"theDBList": [{"anARN": "a"}]}),
        ({"theDBList": [{"anARN": "a"}]}, {"theDBList": [{"anARN": "a"}]}),
        ({"TheMap": {"any Name": "a", "no": None}}, {"theMap": {"any Name": "a"}}),
        ({"EqualsValue": "a"}, {"equals": "a"}),
    ],
)
def test_to_request(value: Any, request_: Any) -> None:
    assert to_request(value, SHAPE) == request_


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"Unknown": 1}, "'Unknown' is not supported"),
        ([], "expected an object, got []"),
        ({"TheWhole": "five"}, "$.TheWhole: expected a value of type integer"),
        ({"TheWhole": 5.5}, "$.TheWhole"),
        ({"TheSwitch": "true"}, "$.TheSwitch: expected true or false"),
        ({"TheTime": "noon"}, "$.TheTime"),
        ({"TheDbList": {}}, "$.TheDbList: expected an array"),
        ({"TheDbList": [{"B": 1}]}, "$.TheDbList[0]"),
    ],
)
def test_wrong_types(value: Any, place: str) -> None:
    with pytest.raises(BadParameter) as caught:
        to_request(value, SHAPE)
    assert caught.value.error == "States.Runtime"
    assert place in caught.value.cause


RESPONSE = {
    "theText": "a",
    "theTime": NOON,
    "theBytes": b"b",
    "theDBList": [{"anARN": "c"}],
    "theMap": {"anyName": "d"},
    "ResponseMetadata": {},
}


def test_to_result_of_an_aws_sdk_integration() -> None:
    assert to_result(RESPONSE, SHAPE, optimized=False) == {
        "TheText": "a",
        "TheTime": "2026-01-02T12:00:00Z",
        "TheBytes": "b",
        "TheDbList": [{"AnArn": "c"}],
        "TheMap": {"anyName": "d"},
    }


def test_to_result_of_an_optimized_integration() -> None:
    assert to_result(RESPONSE, SHAPE, optimized=True) == {
        "TheText": "a",
        "TheTime": 1767355200000,
        "TheBytes": "b",
        "TheDBList": [{"AnARN": "c"}],
        "TheMap": {"anyName": "d"},
    }


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2999, 1, 1)))  # noqa: DTZ001 - zone follows
def test_times_are_what_they_were(when: datetime) -> None:
    instant = when.replace(tzinfo=UTC)
    text = to_result({"theTime": instant}, SHAPE, optimized=False)["TheTime"]
    assert to_request({"TheTime": text}, SHAPE) == {"theTime": instant}


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "theText": st.text(),
            "theWhole": st.integers(),
            "theRatio": st.floats(allow_nan=False, allow_infinity=False),
            "theSwitch": st.booleans(),
            "theMap": st.dictionaries(st.text(), st.text()),
            "theDBList": st.lists(st.fixed_dictionaries({"anARN": st.text()})),
        },
    ),
    st.booleans(),
)
def test_what_comes_back_can_be_sent(response: dict[str, Any], optimized: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    assert to_request(to_result(response, SHAPE, optimized=optimized), SHAPE) == response
