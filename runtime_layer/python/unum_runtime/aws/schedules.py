"""Long waits: EventBridge Scheduler sends each event to the timer queue shortly before it is due.

Scheduler has a precision of one minute. So schedules fire early, and the queue's delay, with a precision of one second,
covers the rest. Scheduler deletes a schedule after it has sent its event.
"""

import time
from collections.abc import Callable
from typing import Any

from unum_runtime.aws.timer import MAX_DELAY_S, Delayed
from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.wire.call_errors import call_errors, error_code

LONG_S = 1_800
"""Shortest remaining wait, in seconds, at which a schedule is cheaper than the queue.

One turn in the queue lasts 15 minutes and costs $1.61 per million events: three SQS requests, one Lambda request, and
the forwarder's run time. A schedule costs $1.00 plus two turns, because its event arrives early and waits again: $4.23,
more than two turns and less than three.
"""

LONGEST_IN_QUEUE_S = MAX_DELAY_S + LONG_S
"""Longest wait, in seconds from the send, that the queue covers alone: one turn precedes any schedule."""

EARLY_S = 300
"""Seconds between a schedule's time and the event's due time: Scheduler's precision of one minute, plus its retries.
A turn in the queue costs the same for any delay up to 15 minutes."""

MAX_AGE_S = 3_600
"""Seconds during which Scheduler retries a send. After that, the event becomes a dead letter, which alarms."""

MAX_ATTEMPTS = 185
"""Maximum of Scheduler's API. Source: Amazon EventBridge Scheduler API Reference, RetryPolicy."""

MAX_INPUT_BYTES = 256 * 1024
"""Size limit of a schedule's input. Source: Amazon EventBridge Scheduler API Reference, Target, Input."""

_KEYWORD = "<aws."
"""Prefix of keywords that Scheduler replaces, such as ``<aws.scheduler.attempt-number>``.
Source: Amazon EventBridge Scheduler User Guide, "Adding context attributes"."""


@dataclass(frozen=True)
class Schedules:
    """EventBridge schedules, one for each long wait.

    Attributes:
        client: function that returns the Scheduler client; called for the first event.
        group: name of the schedule group.
        queue: ARN of the timer queue, target of the schedules.
        role: ARN of the role that Scheduler assumes for the send.
        dead_letters: ARN of the dead-letter queue for failed sends.
        key: ARN of the customer's KMS key for encryption; None for AWS's key.
        longer_than_s: minimum wait for a schedule, in seconds.
    """

    client: Callable[[], Any]
    group: str
    queue: str
    role: str
    dead_letters: str
    key: str | None = None
    longer_than_s: int = LONG_S

    def add(self, delayed: Delayed) -> None:
        """Create the schedule of `delayed`, once even for repeated calls.

        Raises:
            InvokeError: the event is too large, or Scheduler rejected it.
        """
        message = to_input(delayed)
        size = len(message.encode())
        if size > MAX_INPUT_BYTES:
            raise InvokeError(f"{delayed.address}: expected at most {MAX_INPUT_BYTES} bytes for a schedule, got {size}")
        try:
            self.client().create_schedule(**self._request(delayed, message))
        except call_errors() as error:
            if error_code(error) != "ConflictException":  # an earlier delivery created the same schedule
                raise InvokeError(f"schedule group {self.group}: {error}") from error

    @property
    def early_s(self) -> int:
        """Lead time of schedules in seconds, shorter than any wait that deserves a schedule."""
        return min(EARLY_S, self.longer_than_s // 2)

    def _request(self, delayed: Delayed, message: str) -> dict[str, Any]:
        sent_at = time.gmtime(delayed.due_ms // 1000 - self.early_s)
        return {
            "GroupName": self.group,
            # The digest as a name makes a repeated request fail with a conflict instead of a second event. Repeated
            # deliveries have other tracing headers.
            "Name": sha256(to_input(delayed._replace(trace="")).encode()),
            "ScheduleExpression": time.strftime("at(%Y-%m-%dT%H:%M:%S)", sent_at),
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            # By default, finished schedules stay and count against the quota (User Guide, "Deleting a schedule").
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
    """Return the message as JSON text with Scheduler's keywords escaped, so that Scheduler replaces nothing."""
    return delayed.to_body().replace(_KEYWORD, f"\\u{ord(_KEYWORD[0]):04x}{_KEYWORD[1:]}")
