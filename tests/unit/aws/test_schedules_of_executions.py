"""Operators' requests about executions whose next event is in EventBridge Scheduler."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.unit.aws.forwarding import SENDERS, forwarder_of, messages
from tests.unit.aws.scheduler import Scheduler
from tests.unit.protocol.platform import Platform, chain
from unum_runtime.errors import RefusedDelivery
from unum_runtime.features.timers.schedules import Schedules
from unum_runtime.features.timers.sqs_timer import SqsTimer
from unum_runtime.features.timers.timer_function import Forwarder
from unum_runtime.model.checkpoint import Failure, Status
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.control.nudge import nudge
from unum_runtime.protocol.control.redrives import redrive as redriving
from unum_runtime.protocol.control.redrives.redrive import redrive
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.pending import WaitsFor
from unum_simulator.memory_store import MemoryStore

DAY_S = 86_400
HOUR_S = 3_600


@dataclass
class Waiting:
    """An execution that waits for a day between two Tasks, and the parts behind its timer."""

    platform: Platform
    forwarder: Forwarder
    scheduler: Scheduler
    queue: Any
    functions: Any

    def pass_seconds(self, seconds: float) -> None:
        self.platform.clock.ms += int(seconds * 1000)

    def scheduled(self) -> None:
        """Deliver the queue's last message to the forwarder, which creates a schedule."""
        self.pass_seconds(900)
        self._forward(self.queue.batches[-1][0]["MessageBody"])

    def go_off(self) -> None:
        """Run all schedules in order and deliver their due events."""
        for at_ms, message in sorted(self.scheduler.go_off()):
            due_ms = json.loads(message)["due_ms"]
            assert at_ms < due_ms
            self.platform.clock.ms = max(self.platform.clock.ms, due_ms)
            self._forward(message)
        while self.functions.events:
            _, event = self.functions.events.pop(0)
            self.deliver(event)

    def deliver(self, event: Any) -> str | None:
        """Deliver `event` and return the reason of a refusal, if any."""
        try:
            self.platform.deliver(Envelope.from_json(event))
        except RefusedDelivery as refused:
            return str(refused)
        self.platform.deliver_all()
        return None

    def stop(self) -> None:
        stop(self.platform.runtime(), self.platform.steps()[0].name.execution, Failure("Stopped", None))

    def redrive(self) -> None:
        redrive(self.platform.runtime(), "e")
        self.platform.deliver_all()

    def _forward(self, body: str) -> None:
        assert self.forwarder.forward(messages(body)) == {"batchItemFailures": []}


@pytest.fixture
def waiting(
    functions: Any, timer: SqsTimer, clock: Any, schedules: Schedules, scheduler: Scheduler, queue: Any
) -> Waiting:
    definition = chain("A", "B")
    definition["States"]["A"]["Next"] = "W"
    definition["States"]["W"] = {"Type": "Wait", "Seconds": DAY_S, "Next": "B"}
    platform = Platform.of(definition, A=lambda event: event, B=lambda event: event)
    platform.clock, platform.options["timer"] = clock, timer
    platform.memory = platform.store = MemoryStore(clock)
    senders = replace(SENDERS, workflow=platform.runtime().workflow.name)
    forwarder = forwarder_of(functions, timer, clock, schedules=schedules, senders=senders)
    platform.start("e", 1)
    platform.deliver_all()
    found = Waiting(platform, forwarder, scheduler, queue, functions)
    found.scheduled()
    assert len(scheduler.schedules()) == 1
    return found


def ended(waiting: Waiting) -> tuple[Status, Counter[str]]:
    ending = waiting.platform.ending()
    assert ending is not None
    return ending.status, waiting.platform.calls


def test_it_goes_on_when_its_schedule_has_gone_off(waiting: Waiting) -> None:
    waiting.go_off()
    assert ended(waiting) == (Status.SUCCEEDED, Counter(A=1, B=1))


def test_schedule_of_a_stopped_execution_fires_without_effect(waiting: Waiting) -> None:
    waiting.stop()
    waiting.go_off()
    assert ended(waiting) == (Status.ABORTED, Counter(A=1))


def test_one_that_is_redriven_waits_until_it_would_have(waiting: Waiting) -> None:
    due_ms = waiting.platform.clock.ms + (DAY_S - 900) * 1000
    waiting.stop()
    waiting.pass_seconds(HOUR_S)
    waiting.redrive()
    assert waiting.platform.calls == Counter(A=1)
    waiting.scheduled()
    assert len(waiting.scheduler.schedules()) == 2
    waiting.go_off()
    assert ended(waiting) == (Status.SUCCEEDED, Counter(A=1, B=1))
    assert 0 <= waiting.platform.clock.ms - due_ms < 1_000


def test_one_that_is_redriven_after_its_time_goes_on_at_once(waiting: Waiting) -> None:
    waiting.stop()
    waiting.pass_seconds(2 * DAY_S)
    waiting.redrive()
    assert ended(waiting) == (Status.SUCCEEDED, Counter(A=1, B=1))


def test_otherwise_it_would_go_on_before_its_time(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redriving, "_waiting", redriving.entered)
    waiting.stop()
    waiting.redrive()
    assert ended(waiting) == (Status.SUCCEEDED, Counter(A=1, B=1))


def test_what_a_schedule_could_not_send_is_told_and_nudged(waiting: Waiting) -> None:
    """An event that Scheduler gives up is a dead letter; a nudge before its time has it wait once more."""
    waiting.scheduler.go_off()
    (missing,) = nudge(waiting.platform.runtime(), "e")
    assert (missing.state, missing.waits_for) == ("B", WaitsFor.TIME)
    waiting.scheduled()
    waiting.scheduler.go_off()
    waiting.pass_seconds(DAY_S)
    (missing,) = nudge(waiting.platform.runtime(), "e")
    assert (missing.state, missing.waits_for) == ("B", WaitsFor.DELIVERY)
    waiting.platform.deliver_all()
    assert ended(waiting) == (Status.SUCCEEDED, Counter(A=1, B=1))
