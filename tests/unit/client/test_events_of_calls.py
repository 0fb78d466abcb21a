"""Status events of calls: each run is an execution."""

from tests.unit.client.called_tasks import World
from tests.unit.client.test_calls import world
from tests.unit.features.status_events.test_status_events import Bus
from unum_runtime.features.status_events.status_events import StatusEvents

__all__ = ["world"]


def test_a_run_starts_and_ends_with_an_event(world: World) -> None:
    bus = Bus()
    world.platform.options["statuses"] = StatusEvents(put=bus.put)
    assert world.client().call("Resize", 1) == {"got": 1}
    assert bus.statuses == ["RUNNING", "SUCCEEDED"]
