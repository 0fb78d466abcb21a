"""Long waits: EventBridge Scheduler sends each event to the timer queue shortly before it is due.

Scheduler has a precision of one minute. So schedules fire early, and the queue's delay, with a precision of one second,
covers the rest. Scheduler deletes a schedule after it has sent its event.
"""

import time
from collections.abc import Callable
from typing import Any

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import InvokeError
from unum_runtime.features.timers.sqs_timer import Delayed
from unum_runtime.model.delays import EARLY_S, LONG_S
from unum_runtime.wire.call_errors import call_errors, error_code

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
