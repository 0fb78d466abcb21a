"""Notes about events that wait for concurrency: which count, and which hide nothing."""

from typing import TYPE_CHECKING

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key, lease_key
from unum_runtime.protocol.control.throttles import Throttle, note_throttle, throttles_of

if TYPE_CHECKING:
    from unum_runtime.model.checkpoint import Item

NAME = Name(Execution("e", 1), (), 1)


def test_the_last_valid_note_of_an_invocation_counts() -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    rt, now_ms = platform.runtime(), platform.clock.ms
    for until_ms in (now_ms + 1, now_ms + 3, now_ms + 2):
        note_throttle(rt, NAME, Throttle(now_ms, until_ms))
    assert throttles_of(rt, [NAME]) == {NAME: Throttle(now_ms, now_ms + 3)}
    assert throttles_of(rt, [NAME.following]) == {}


def test_odd_items_are_no_notes() -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    rt, place = platform.runtime(), lease_key(checkpoint_key("w", NAME))
    odd: list[Item] = [{}, {"since": 1}, {"until": 1}, {"since": "1", "until": 1}, {"since": 1, "until": "1"}]
    for number, item in enumerate(odd):
        key = Key(place.partition, f"{place.sort}.throttled.{number}")
        platform.memory.create(key, item, expires_at_s=10**10)
    platform.memory.create(place, {"since": 1, "until": 1}, expires_at_s=10**10)
    assert throttles_of(rt, [NAME]) == {}
