"""Events that have to wait for long: EventBridge Scheduler sends each to the queue of the timer when it is nearly due.

Scheduler is exact to the minute. So it sends events early, and the delay of the queue does the rest, which is exact to
the second. A schedule is gone when it has sent its event.
"""

import time
from collections.abc import Callable
from typing import Any, Protocol

from unum_runtime.aws.timer import MAX_DELAY_S, Delayed
from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.wire.call_errors import call_errors, error_code

LONG_S = 1_800
"""From when on a schedule is cheaper for what is left to wait, in seconds.

A turn in the queue lasts 15 minutes and costs $1.61 for a million events: three requests of SQS, one of Lambda, and the
forwarder's time. A schedule costs $1.00 and two turns, for what it sends is early and waits once more: $4.23, which is
more than two turns and less than three.
"""

LONGEST_IN_QUEUE_S = MAX_DELAY_S + LONG_S
"""What has to wait for longer, from when it is sent, comes to a schedule, in seconds: one turn comes before."""

EARLY_S = 300
"""How long before an event is due it is sent: for the minute that Scheduler is exact to, and what it has to try again.

A turn in the queue costs the same for any time up to 15 minutes.
"""

MAX_AGE_S = 3_600
"""For how long Scheduler tries to send an event, which lives 8 hours: then Lambda may still try it for 6."""

MAX_ATTEMPTS = 185
"""The most that there can be. Source: Amazon EventBridge Scheduler API Reference, RetryPolicy."""

MAX_INPUT_BYTES = 256 * 1024
"""Source: Amazon EventBridge Scheduler API Reference, Target, Input."""

_KEYWORD = "<aws."
"""What words begin with that Scheduler replaces, such as ``<aws.scheduler.attempt-number>``.

Source: Amazon EventBridge Scheduler User Guide, "Adding context attributes".
"""


class SchedulerClient(Protocol):
    """The call of ``boto3.client("scheduler")`` that is used here, with its own parameters."""

    def create_schedule(self, **parameters: Any) -> Any: ...  # noqa: D102 - boto3 documents it


@dataclass(frozen=True)
class Schedules:
    """Keeps events in schedules until they are nearly due.

    Attributes:
        client: makes a client of Scheduler, or gives the one that there is, when the first event needs it.
        group: name of the schedules' group.
        queue: ARN of the timer's queue, which they send to.
        role: ARN of the role that they do it with.
        dead_letters: ARN of the queue for what they cannot send.
        key: ARN of the user's key that they are encrypted with; a key of AWS's without.
        longer_than_s: only what has longer to wait than this is worth a schedule, in seconds.
    """

    client: Callable[[], SchedulerClient]
    group: str
    queue: str
    role: str
    dead_letters: str
    key: str | None = None
    longer_than_s: int = LONG_S

    def add(self, delayed: Delayed) -> None:
        """Keep `delayed`; once, however often it is added.

        Raises:
            InvokeError: it is too large, or Scheduler did not take it.
        """
        message = to_input(delayed)
        size = len(message.encode())
        if size > MAX_INPUT_BYTES:
            raise InvokeError(f"{delayed.address}: expected at most {MAX_INPUT_BYTES} bytes for a schedule, got {size}")
        try:
            self.client().create_schedule(**self._request(message, delayed.due_ms))
        except call_errors() as error:
            if error_code(error) != "ConflictException":  # the same message has come before
                raise InvokeError(f"schedule group {self.group}: {error}") from error

    @property
    def early_s(self) -> int:
        """How long before its time an event comes back: too late for it to be worth another schedule."""
        return min(EARLY_S, self.longer_than_s // 2)

    def _request(self, message: str, due_ms: int) -> dict[str, Any]:
        sent_at = time.gmtime(due_ms // 1000 - self.early_s)
        return {
            "GroupName": self.group,
            "Name": sha256(message.encode()),
            "ScheduleExpression": time.strftime("at(%Y-%m-%dT%H:%M:%S)", sent_at),
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": {
                "Arn": self.queue,
                "RoleArn": self.role,
                "Input": message,
                "RetryPolicy": {"MaximumEventAgeInSeconds": MAX_AGE_S, "MaximumRetryAttempts": MAX_ATTEMPTS},
                "DeadLetterConfig": {"Arn": self.dead_letters},
            },
            **({"KmsKeyArn": self.key} if self.key else {}),
        }


def to_input(delayed: Delayed) -> str:
    """The message, with nothing in it that Scheduler would replace; to whoever reads the JSON, it is the same."""
    return delayed.to_body().replace(_KEYWORD, f"\\u{ord(_KEYWORD[0]):04x}{_KEYWORD[1:]}")
