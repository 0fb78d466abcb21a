"""Events that came to release 0.1.0 come again, and find the executions that it has named."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.model.test_identity import EVENTBRIDGE, S3
from tests.unit.protocol.platform import Platform, chain
from tests.unit.protocol.requests.test_messages import BY_ORDER, QUEUE, batch, message
from unum_runtime.model.earlier_names import former_name
from unum_runtime.model.envelope import start_event
from unum_runtime.model.identity import event_name, started_by
from unum_runtime.protocol.planning.evaluation import timestamp
from unum_runtime.protocol.requests import doors
from unum_runtime.protocol.requests.renamed import name_in_use
from unum_runtime.store.large_items import LargeItems
from unum_runtime.store.memory import MemoryObjects

NAMED = start_event("arn:aws:scheduler:eu-west-1:1:schedule/default/nightly 2026-01-01T00:00:00Z", {})
LARGE = 2_000


class Counting:
    """A store that counts the keys that are read."""

    def __init__(self, store: Any) -> None:
        self._store, self.keys = store, 0

    def read(self, keys: Any) -> Any:
        self.keys += len([*keys])
        return self._store.read(keys)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture
def platform() -> Platform:
    return Platform.of(chain("A"), A=lambda _: "done")


@pytest.fixture
def counting(platform: Platform) -> Iterator[Counting]:
    platform.store = Counting(platform.store)
    return platform.store


def aged(event: dict[str, Any], platform: Platform, age_s: float) -> dict[str, Any]:
    sent = timestamp(platform.clock.ms - int(age_s * 1000))
    if "Records" in event:
        return {"Records": [{**record, "eventTime": sent} for record in event["Records"]]}
    return {**event, "time": f"{sent[:19]}Z"}


def arrive(platform: Platform, event: Any, **options: Any) -> Any:
    return doors.start_by_event(platform.runtime(), event, "request", **options)


@pytest.mark.parametrize("event", [EVENTBRIDGE, S3])
@pytest.mark.parametrize("age_s", [31, 90, 86_400])
def test_an_event_that_comes_again_finds_its_execution(platform: Platform, event: Any, age_s: float) -> None:
    late = aged(event, platform, age_s)
    former = former_name(event)
    platform.start(str(former), late)
    assert arrive(platform, late)["execution"] == former
    assert platform.calls["A"] == 1


@pytest.mark.parametrize("age_s", [0, 29, 31])
def test_an_event_that_has_no_execution_gets_a_readable_name(platform: Platform, age_s: float) -> None:
    for event in (EVENTBRIDGE, S3):
        assert arrive(platform, aged(event, platform, age_s))["execution"] == event_name(event)
    assert platform.calls["A"] == 2


@pytest.mark.parametrize(
    ("age_s", "reads", "late_ms"),
    [(0, 0, 0), (28, 0, 0), (30, 1, 0), (31, 1, 0), (29.999, 0, 999), (30.999, 1, 999)],
)
def test_a_new_event_is_not_looked_for(
    platform: Platform, counting: Counting, age_s: float, reads: int, late_ms: int
) -> None:
    """Times are compared by seconds, as all sources write them."""
    platform.clock.ms += late_ms
    arrive(platform, aged(EVENTBRIDGE, platform, age_s))
    late = counting.keys
    arrive(platform, {"any": "input"})
    assert late - (counting.keys - late) == reads


def test_only_a_message_that_was_received_before_is_looked_for(platform: Platform) -> None:
    body = {"order": {"id": "number 1"}}
    for name_from in ({}, BY_ORDER):
        first = batch(message(1, body))
        own = start_event("number 1", None) if name_from else first
        former = former_name(own)
        assert arrive(platform, first, queues=name_from or {QUEUE: ""})["executions"] == [started_by(own)[0]]
        platform.start(str(former), first)
        again = arrive(platform, batch(message(1, body, receives=2)), queues=name_from or {QUEUE: ""})
        assert again["executions"] == [former]


def test_a_message_that_is_received_for_the_first_time_is_not_looked_for(
    platform: Platform, counting: Counting
) -> None:
    """Its name is in its body, which does not say how often the message was received."""
    reads = []
    for number, receives in ((1, 1), (2, 2)):
        before = counting.keys
        arrive(platform, batch(message(number, {"order": {"id": f"number {number}"}}, receives)), queues=BY_ORDER)
        reads.append(counting.keys - before)
    assert reads[1] == reads[0] + 1


def test_the_name_of_a_target_is_looked_for(platform: Platform) -> None:
    assert doors.run(platform.runtime(), NAMED, "r")["execution"] == started_by(NAMED)[0]
    former = former_name(NAMED)
    platform.start(str(former), {})
    assert doors.run(platform.runtime(), NAMED, "r")["execution"] == former


@pytest.mark.parametrize("name", ["order-17", 17, "", None])
def test_valid_names_are_not_looked_for(platform: Platform, counting: Counting, name: Any) -> None:
    doors.run(platform.runtime(), start_event(name, {}), "r")
    own = counting.keys
    arrive(platform, {"any": "input"})
    assert counting.keys - own == own


def test_an_execution_whose_input_is_gone_keeps_its_name(platform: Platform) -> None:
    """The look needs no object: its expiry would be an error for ever."""
    objects = MemoryObjects()
    large = LargeItems(platform.store, objects, platform.workflow.name, LARGE)
    former, late = former_name(EVENTBRIDGE), aged({**EVENTBRIDGE, "detail": "x" * LARGE}, platform, 60)
    rt = replace(platform.runtime(), store=large)
    doors.run(rt, start_event(former, late), "r")
    objects.erase_folder("w")
    assert name_in_use(rt, late, "readable") == former
