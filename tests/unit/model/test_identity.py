import json
import re
from copy import deepcopy
from typing import Any

import pytest

from unum_runtime.model.envelope import named_start, start_event
from unum_runtime.model.identity import event_name, started_by
from unum_runtime.model.naming import is_name

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


UUID = "6a7e8feb-b53d-4a2f-9c1e-0123456789ab"
QUEUE, TOPIC = "arn:aws:sqs:eu-west-1:123456789012:orders.fifo", "arn:aws:sns:eu-west-1:123456789012:paid_orders"


def bus(**fields: Any) -> dict[str, Any]:
    return {**EVENTBRIDGE, "id": UUID, **fields}


def s3(*keys: str) -> dict[str, Any]:
    (record,) = S3["Records"]
    changes = [{"bucket": {"name": "b"}, "object": {"key": key, "sequencer": "0055AED6DCD90281E5"}} for key in keys]
    return {"Records": [{**record, "s3": each} for each in changes]}


MESSAGE = {"Records": [{"eventSource": "aws:sqs", "eventSourceARN": QUEUE, "messageId": UUID, "body": "x"}]}
NOTICE = {"Records": [{"EventSource": "aws:sns", "Sns": {"TopicArn": TOPIC, "MessageId": UUID}}]}
STORED = bus(detail={"object": {"key": "in/2026/photo 1.jpg", "sequencer": "0A"}})
RULE = "arn:aws:events:eu-west-1:123456789012:rule/nightly"
SCHEDULED = bus(**{"source": "aws.events", "detail-type": "Scheduled Event", "resources": [RULE]})


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (MESSAGE, f"orders-fifo-{UUID}"),
        (NOTICE, f"paid_orders-{UUID}"),
        (STORED, f"in-2026-photo-1-jpg-{UUID}"),
        (SCHEDULED, f"nightly-2026-01-01T00-00-00Z-{UUID}"),
        ({**SCHEDULED, "resources": []}, f"Scheduled-Event-{UUID}"),
        (bus(**{"detail-type": "Order Placed"}), f"Order-Placed-{UUID}"),
        (bus(**{"detail-type": "\u00fc"}), f"event-{UUID}"),
        (bus(**{"detail-type": "x" * 50}), f"{'x' * 43}-{UUID}"),
        (bus(**{"detail-type": "arn of a: b"}), f"arn-of-a-b-{UUID}"),
        (bus(**{"detail-type": "see arn:b"}), f"see-arn-b-{UUID}"),
        (s3("in/2026/photo+1.jpg"), "in-2026-photo-1-jpg-0055AED6DCD90281E5_1035490a98a46435998d"),
        (s3("a" * 90), f"{'a' * 40}-0055AED6DCD90281E5_ea855d3072f0834955c1"),
        (s3("a", "b", "c"), "a-and-2-more_eab7a1f121052c3c8cd5"),
        (EVENTBRIDGE, "T_460595b76ebd23b7053a"),
        (SQS, "arn-q_252e0c250fc13d6b9da1"),
    ],
)  # fmt: skip
def test_a_name_says_what_the_event_is_about(event: dict[str, Any], name: str) -> None:
    """The digests are a format, too: an event comes again after the next deployment."""
    assert event_name(event) == name
    assert is_name(name)


@pytest.mark.parametrize("event", [EVENTBRIDGE, SQS, SNS, S3, MESSAGE, NOTICE, STORED, SCHEDULED])
def test_a_service_event_names_its_execution_the_same_way_every_time(event: dict[str, Any]) -> None:
    assert event_name(event) == event_name(deepcopy(event))
    assert is_name(event_name(event))


@pytest.mark.parametrize("odd", [UUID.upper(), f"{UUID}0", f"0{UUID}", UUID[1:], f"{UUID}\n", [UUID], 5, None])
def test_an_id_that_no_service_drew_is_digested(odd: Any) -> None:
    """Ids drawn by AWS services have known characters; others may contain any."""
    assert re.fullmatch(r"T_[0-9a-f]{20}", str(event_name({**EVENTBRIDGE, "id": odd})))


def test_keys_that_read_equally_have_other_names() -> None:
    names = {event_name(s3(key)) for key in ("a/b", "a-b", "a b", "a//b", "-a-b", "a-b-", "b" * 80, "b" * 81)}
    assert len(names) == 8


def test_a_changed_object_is_another_event() -> None:
    """Of one key, and of equal sequencers: of other keys, buckets and kinds of change."""
    changes = [("name", "c"), ("key", "l"), ("sequencer", "0B"), ("eventName", "ObjectRemoved:Delete")]
    events = [S3, *(json.loads(json.dumps(S3).replace(f'"{name}": "{old(name)}"', f'"{name}": "{new}"'))
                    for name, new in changes)]  # fmt: skip
    assert len({event_name(event) for event in events}) == 5


def old(name: str) -> str:
    return {"name": "b", "key": "k", "sequencer": "0A", "eventName": "ObjectCreated:Put"}[name]


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
    schedule = "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/nightly"
    name, value = started_by(start_event(f"{schedule} 2026-01-01T00:00:00Z", []))
    assert (name, value) == ("nightly-2026-01-01T00-00-00Z_7eca574fc68f0294ede4", [])
    assert name != started_by(start_event(f"{schedule}2 2026-01-01T00:00:00Z", []))[0]
    assert started_by(start_event("order 17/a", 1))[0] == "order-17-a_0f0b2f4b1ad7d332fd5d"


@pytest.mark.parametrize("empty", ["", None])
def test_events_without_a_name_do_not_share_an_execution(empty: str | None) -> None:
    assert started_by(start_event(empty, 1)) == (None, 1)


def test_other_events_are_inputs_as_they_are() -> None:
    assert started_by(EVENTBRIDGE) == (event_name(EVENTBRIDGE), EVENTBRIDGE)
    assert started_by({"input": 1}) == (None, {"input": 1})


def test_an_event_with_an_input_names_no_start_record() -> None:
    assert named_start(start_event("order-17", 1)) is None
