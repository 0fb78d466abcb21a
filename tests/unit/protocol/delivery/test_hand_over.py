"""Messages to the intake about an invocation that its function may not continue."""

from typing import TYPE_CHECKING

from tests.unit.protocol.platform import Platform, chain
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import StoreDenied
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import Value
from unum_runtime.protocol.delivery.hand_over import hand_over
from unum_runtime.protocol.planning.plan import Invoke

if TYPE_CHECKING:
    from unum_runtime.model.take_over_request import TakeOver


def test_only_a_retry_tells_its_time_and_the_uses_of_retriers() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.start()
    requests: list[TakeOver] = []
    rt, (event,) = replace(platform.runtime(), hand_over=requests.append), platform.sent
    effect = Invoke(event.name, "B", Value(Success(1), 5), due_ms=7, retries=(1, 2))
    for name in (event.name, replace(event.name, step=event.name.step - 1)):
        hand_over(rt, name, "A", StoreDenied("add"), effect)
    assert [(each.retries, each.due_ms) for each in requests] == [((1, 2), 7), ((), None)]
