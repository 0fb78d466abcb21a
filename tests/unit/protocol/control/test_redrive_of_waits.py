"""Redrives of executions that were stopped while an event waited: a Wait keeps its end, and a retry is over."""

from typing import Any

from tests.unit.protocol.map_platform import deliver, deliver_all, deployed, result
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.model.checkpoint import Failure
from unum_runtime.protocol.control.redrive import redrive
from unum_runtime.protocol.control.stop import stop


def stopped(definition: dict[str, Any], later_s: int, **functions: Any) -> tuple[Platform, int]:
    """An execution that was stopped while an event waited, and the time of that event; some seconds later."""
    platform = deployed(definition, **functions)
    platform.start("e", 1)
    while platform.sent:
        deliver(platform, platform.sent.pop(0))
    ((_, due_ms),) = platform.options["timer"].kept
    stop(platform.runtime(), platform.steps()[0].name.execution, Failure("Stopped", None))
    platform.options["timer"].kept.clear()
    platform.clock.pass_seconds(later_s)
    redrive(platform.runtime(), "e")
    return platform, due_ms


def test_a_wait_keeps_its_end() -> None:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = {"Type": "Wait", "Seconds": 60, "Next": "B"}
    platform, due_ms = stopped(definition, 20)
    ((_, again_ms),) = platform.options["timer"].kept
    assert again_ms == due_ms
    deliver_all(platform)
    assert result(platform) == 1


def test_the_interval_of_a_retry_is_over() -> None:
    retry = {"Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 600}]}
    broken = [True]

    def fragile(event: Any) -> Any:
        if broken:
            raise ValueError(broken.pop())
        return event

    platform, _ = stopped(chain("A", "B", B=retry), 20, B=fragile)
    assert platform.options["timer"].kept == []
    deliver_all(platform)
    assert result(platform) == 1
