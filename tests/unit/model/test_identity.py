import re
from copy import deepcopy
from typing import Any

import pytest

from unum_runtime.model.envelope import named_start, start_event
from unum_runtime.model.identity import event_name, started_by

EVENTBRIDGE = {
    "version": "0", "id": "6a7e8feb", "detail-type": "T", "source": "aws.s3", "account": "000000000000",
    "time": "2026-01-01T00:00:00Z", "region": "us-east-1", "resources": [], "detail": {},
}  # fmt: skip
SQS = {"Records": [{"eventSource": "aws:sqs", "eventSourceARN": "arn:q", "messageId": "m1", "body": "x"}]}
SNS = {"Records": [{"EventSource": "aws:sns", "Sns": {"TopicArn": "arn:t", "MessageId": "m1"}}]}
S3 = {
    "Records": [
        {
            "eventSource": "aws:s3",
            "eventName": "ObjectCreated:Put",
            "s3": {"bucket": {"name": "b"}, "object": {"key": "k", "sequencer": "0A"}},
        }
    ]
}


@pytest.mark.parametrize("event", [EVENTBRIDGE, SQS, SNS, S3])
def test_a_service_event_names_its_execution_the_same_way_every_time(event: dict[str, Any]) -> None:
    name = event_name(event)
    assert name == event_name(deepcopy(event))
    assert re.fullmatch(r"[a-z0-9-]{1,80}", str(name))


def test_events_with_other_identities_have_other_names() -> None:
    later = deepcopy(S3)
    later["Records"][0]["s3"]["object"]["sequencer"] = "0B"  # type: ignore[index]
    other_message = {"Records": [{**SQS["Records"][0], "messageId": "m2"}]}
    batch = {"Records": [*SQS["Records"], *other_message["Records"]]}
    events = [EVENTBRIDGE, {**EVENTBRIDGE, "id": "7"}, SQS, other_message, batch, SNS, S3, later]
    assert len({event_name(event) for event in events}) == len(events)


@pytest.mark.parametrize(
    "event",
    [None, [], "x", 3, {}, {"id": "x"}, {"Records": []}, {"Records": [{}]}, {"Records": [None]}, {"Records": 3},
     {"Records": [{"eventSource": "aws:sqs"}]}, {"Records": SQS["Records"], "more": 1},
     {"Records": [{"eventSource": "aws:kinesis"}]}, {"Records": [{"eventSource": ["aws:s3"]}]}],
)  # fmt: skip
def test_other_events_have_no_identity(event: Any) -> None:
    assert event_name(event) is None


def test_an_event_may_name_its_execution() -> None:
    assert started_by(start_event("order-17", {"n": 1})) == ("order-17", {"n": 1})
    assert started_by(start_event(17, None)) == ("17", None)


def test_what_is_no_name_becomes_one() -> None:
    name, value = started_by(start_event("arn:aws:scheduler:s 2026-01-01T00:00:00Z", []))
    assert re.fullmatch(r"named-[0-9a-f]{40}", str(name))
    assert value == []
    assert name != started_by(start_event("arn:aws:scheduler:s 2026-01-02T00:00:00Z", []))[0]


@pytest.mark.parametrize("empty", ["", None])
def test_events_without_a_name_do_not_share_an_execution(empty: str | None) -> None:
    assert started_by(start_event(empty, 1)) == (None, 1)


def test_other_events_are_inputs_as_they_are() -> None:
    assert started_by(EVENTBRIDGE) == (event_name(EVENTBRIDGE), EVENTBRIDGE)
    assert started_by({"input": 1}) == (None, {"input": 1})


def test_an_event_with_an_input_names_no_start_record() -> None:
    assert named_start(start_event("order-17", 1)) is None
