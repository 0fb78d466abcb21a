"""Alarms on a workflow's executions."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from unum_constructs.cdk.threshold_alarm import new_alarm
from unum_constructs.errors import ConstructError

TIMER_AGE_MIN = 20
"""Minutes. The forwarder receives a waiting event every 15 minutes at the latest; an older message is stuck. Source:
Amazon SQS Developer Guide, "Amazon SQS delay queues"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """Alarms of a workflow; None without threshold or metric.

    Attributes:
        failed: failed executions.
        timed_out: executions past their time limit.
        throttled: events that Lambda has to retry.
        timer_age: waiting events that the forwarder does not receive.
        silent: stalled executions that a sweep found.
        abandoned: executions without an end at their last moment.
        late: events after the last moment of their execution, which have no effect.
        oldest_running: an execution that runs for longer than was allowed.
        dead_letters: events in the failure queue; they need an operator.
        dropped: events that Lambda gave up; several alarms for more than ten functions.
        undelivered: records of such events that did not reach the failure handler; several, likewise.
    """

    failed: cloudwatch.Alarm | None
    timed_out: cloudwatch.Alarm | None
    throttled: cloudwatch.Alarm | None
    timer_age: cloudwatch.Alarm | None
    silent: cloudwatch.Alarm | None
    abandoned: cloudwatch.Alarm | None
    late: cloudwatch.Alarm | None
    oldest_running: cloudwatch.Alarm | None
    dead_letters: cloudwatch.Alarm
    dropped: tuple[cloudwatch.Alarm, ...] = ()
    undelivered: tuple[cloudwatch.Alarm, ...] = ()

    def act(self, actions: Sequence[cloudwatch.IAlarmAction]) -> None:
        """Add `actions` to all alarms."""
        for each in self._all:
            each.add_alarm_action(*actions)

    @property
    def _all(self) -> list[cloudwatch.Alarm]:
        every = (getattr(self, each.name) for each in fields(self))
        lists = (each if isinstance(each, tuple) else (each,) for each in every)
        return [each for several in lists for each in several if each is not None]


def optional_alarm(
    scope: Construct, construct_id: str, metric: cloudwatch.IMetric, threshold: float | None, description: str
) -> cloudwatch.Alarm | None:
    """Alarm if `metric` reaches a given `threshold`.

    Raises:
        ConstructError: the threshold is no number above 0, so the alarm would always be on.
    """
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or threshold <= 0:
        raise ConstructError(
            scope, f"expected a number above 0, or None for no alarm, got {threshold!r}", child=construct_id
        )
    return new_alarm(scope, construct_id, metric, threshold, description)
