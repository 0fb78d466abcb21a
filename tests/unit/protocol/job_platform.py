"""A platform with a Task that waits for a job."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.unit.protocol.map_platform import deliver
from tests.unit.protocol.platform import Platform, chain
from unum_constructs import Definition
from unum_runtime.model.checkpoint import TOMBSTONE
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.protocol.control import nudge
from unum_runtime.protocol.control.nudge import missing
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.runtime import Call, JobPending

JOB = {"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask.sync", "Parameters": {"TaskDefinition": "t"}}
LOOK_S = 60
SERVICES = "$services"


@dataclass
class Watching(Platform):
    """A platform with a Task `Job`, whose service knows how many jobs were started and how often each was looked at.

    Attributes:
        over_s: how long a job runs, in seconds.
        fails: how many jobs fail.
        started: when each job was started.
        looks: how often any job was looked at.
        events: the event of each start and each poll.
        later: events that wait for their time.
    """

    over_s: int = 150
    fails: int = 0
    started: list[int] = field(default_factory=list)
    looks: int = 0
    events: list[Any] = field(default_factory=list)
    later: list[tuple[int, Envelope]] = field(default_factory=list)

    def schedule(self, events: Sequence[tuple[str, bytes, int]]) -> None:
        before, self.sent = self.sent, []
        for address, payload, due_ms in events:
            self.invoke([(address, payload)])
            self.later.append((due_ms, self.sent.pop()))
        self.sent = before
        self.later.sort(key=lambda each: each[0])

    def pass_time(self, seconds: float) -> None:
        """Time passes; what is due is delivered, in order."""
        end_ms = self.clock.ms + int(seconds * 1000)
        self.deliver_all()
        while self.later and self.later[0][0] <= end_ms:
            due_ms, event = self.later.pop(0)
            self.clock.ms = max(self.clock.ms, due_ms)
            deliver(self, event)
            self.deliver_all()
        self.clock.ms = end_ms

    def begun(self, value: Any = None) -> Envelope:
        """The event of the first look, of an execution whose job has been started."""
        self.start("e", value)
        self.deliver_all()
        ((_, look),) = self.later
        return look

    def found(self) -> pending.Missing:
        (found,) = missing(self.runtime(), "e")
        return found

    def nudge(self, silent_ms: int = 0) -> int:
        return len(nudge.nudge(self.runtime(), "e", silent_ms=silent_ms))

    def stored(self) -> list[str]:
        """Return the keys of job records that are not collected."""
        return [
            key.sort
            for key, (item, _) in self.memory._items.items()
            if key.sort.startswith("job.") and TOMBSTONE not in item
        ]

    def _call(self, call: Call, event: Any) -> Any:
        if call.function != SERVICES:
            return super()._call(call, event)
        self.events.append(event)
        if call.job is None:
            self.started.append(self.clock.ms)
            return JobPending(len(self.started), LOOK_S * 1000)
        self.looks += 1
        if self.clock.ms - self.started[call.job - 1] < self.over_s * 1000:
            return JobPending(call.job, LOOK_S * 1000)
        if call.job <= self.fails:
            raise ValueError("the job has failed")
        return f"job {call.job}"


def watching(
    definition: dict[str, Any] | None = None, collection: Collection = Collection.TTL, **fields: Any
) -> Watching:
    """A platform with `definition`, or `Before`, `Job` and `After` in a row; what waits is kept by itself."""
    if definition is None:
        definition = chain("Before", "Job", "After")
        definition["States"]["Job"] |= JOB | fields.pop("task", {})
    compiled = Definition.from_asl(definition).compile("w", None)
    keys = [task.function for task in compiled.tasks]
    platform = Watching(compiled, dict.fromkeys(keys, lambda event: event), collection=collection, **fields)
    platform.options["timer"] = platform
    return platform
