"""The names that release 0.1.0 gave, and which events may have come to it."""

from typing import Any

import pytest

from tests.unit.model.test_identity import EVENTBRIDGE, S3, SNS, SQS
from unum_runtime.model.earlier_names import former_name, is_first
from unum_runtime.model.envelope import start_event

SINCE = "2026-01-01T00:00:30.500Z"


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (EVENTBRIDGE, "eventbridge-be5c4ff544b6a5951a204a006866c360d925d442"),
        (SQS, "records-16f35ac7165490cc4538e0b3e7a28569318f6365"),
        (SNS, "records-85df1bf15fe164ff9d3bdc268c1d0550f767f221"),
        (S3, "records-7ff101029418898481b28f738cb26e3e8db6c905"),
        ({"Records": [*S3["Records"], *SNS["Records"]]}, "records-5d1ec7de52831fe4913211626999d1767d2e6497"),
        (start_event("a b", 1), "named-9fef46f302ec4cbb90d1f28cbedbf1183cca93e8"),
        (start_event(1.5, 1), "named-ea0c0daa97c1d78eae22e28edd39243ff486e14b"),
    ],
)
def test_former_names_stay(event: Any, name: str) -> None:
    assert former_name(event) == name


@pytest.mark.parametrize(
    "event",
    [None, [], 5, {}, {"id": "x"}, {"Records": []}, {"Records": 3}, {"Records": [{}]}, {**SQS, "more": 1},
     {"Records": [*SQS["Records"], {}]}, start_event("a", 1), start_event(5, 1), start_event("", 1),
     start_event(None, 1)],
)  # fmt: skip
def test_others_had_the_same_name_or_none(event: Any) -> None:
    assert former_name(event) is None


def received(count: Any) -> Any:
    return {"Records": [{**SQS["Records"][0], "attributes": {"ApproximateReceiveCount": count}}]}


def stored(time: Any) -> Any:
    return {"Records": [{**S3["Records"][0], "eventTime": time}]}


def told(time: Any) -> Any:
    return {"Records": [{"EventSource": "aws:sns", "Sns": {**SNS["Records"][0]["Sns"], "Timestamp": time}}]}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("event", "first"),
    [
        (received("1"), True),
        (received("2"), False),
        (received(1), False),
        (SQS, False),
        (SQS["Records"][0], False),
        (received("1")["Records"][0], True),
        ({"Records": [*received("1")["Records"], *received("2")["Records"]]}, False),
        (stored("2026-01-01T00:00:31.000Z"), True),
        (stored("2026-01-01T00:00:30.900Z"), False),
        (stored(5), False),
        (told("2026-01-01T00:00:31.000Z"), True),
        (told("2026-01-01T00:00:29.000Z"), False),
        ({**EVENTBRIDGE, "time": "2026-01-01T00:00:31Z"}, True),
        ({**EVENTBRIDGE, "time": "2026-01-01T00:00:30Z"}, False),
        ({**EVENTBRIDGE, "time": None}, False),
        (start_event("a b", 1), False),
        (None, False),
    ],
)
def test_what_may_have_come_before(event: Any, *, first: bool) -> None:
    assert is_first(event, SINCE) is first
