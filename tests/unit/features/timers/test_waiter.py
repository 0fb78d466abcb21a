"""Time of a waiter's next look at a held lease."""

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import LeaseHeldError
from unum_runtime.features.timers.waiter import _log, next_look_ms, wait_for_result


@pytest.mark.parametrize(("waited_s", "longest_s"), [(0, 5), (20, 5), (40, 10), (100, 25), (240, 60), (3_600, 60)])
def test_the_pause_is_a_quarter_of_the_time_waited_within_bounds(waited_s: int, longest_s: int) -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    rt = platform.runtime()
    now_ms = platform.clock.ms
    found = [
        next_look_ms(replace(rt, delivery=f"{number:032x}"), now_ms - waited_s * 1000) - now_ms for number in range(200)
    ]
    # Deliveries are spread over the second half of the pause.
    assert longest_s * 500 <= min(found) < longest_s * 550
    assert longest_s * 950 < max(found) <= longest_s * 1000
    assert len({*found}) > 150


@pytest.mark.parametrize(("waited_ms", "told_ms"), [(7_000, 7_000), (0, 0), (-50, 0)])
def test_the_log_tells_how_long_it_has_waited(waited_ms: int, told_ms: int) -> None:
    platform = Platform.of(chain("A"), A=lambda event: event)
    _log(platform.runtime(), LeaseHeldError("held"), platform.clock.ms - waited_ms)
    assert platform.logged == [("waits for a lease", {"reason": "held", "waited_ms": told_ms})]


def test_waiting_event_counts_as_sent_when_due_and_checks_the_deadline() -> None:
    platform = Platform.of({**chain("A", "B"), "TimeoutSeconds": 3}, A=lambda event: event, B=lambda event: event)
    platform.start()
    (event,) = platform.sent
    began_ms = platform.clock.ms
    wait_for_result(platform.runtime(), event, LeaseHeldError("held"))
    ((due_ms, waiting),) = platform.waiting
    assert (due_ms, waiting.due_ms, waiting.waiting_since_ms) == (began_ms + 3_000, began_ms + 3_000, began_ms)
    assert waiting.sent_s == due_ms // 1000


def test_a_waiter_past_the_deadline_pauses_as_any_other() -> None:
    platform = Platform.of({**chain("A", "B"), "TimeoutSeconds": 3}, A=lambda event: event, B=lambda event: event)
    platform.start()
    (event,) = platform.sent
    platform.clock.pass_seconds(4)
    wait_for_result(platform.runtime(), event, LeaseHeldError("held"))
    ((due_ms, _),) = platform.waiting
    assert due_ms > platform.clock.ms
