"""Alarms on what happens to a workflow's executions."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from unum_constructs.errors import ConstructError

AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD

TIMER_AGE_MIN = 20
"""Minutes. An event that waits is looked at every 15 at the latest; one that is older is not looked at any more.
Source: Amazon SQS Developer Guide, "Amazon SQS delay queues"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """The alarms of a workflow; None for those that were not wanted, or have nothing to watch.

    Attributes:
        failed: executions failed.
        timed_out: executions took longer than they may.
        throttled: events have to be delivered again.
        timer_age: events that wait are not handed on.
        silent: executions stand still, as a sweep has found.
        dead_letters: events need somebody, because nothing could go on from them.
    """

    failed: cloudwatch.Alarm | None
    timed_out: cloudwatch.Alarm | None
    throttled: cloudwatch.Alarm | None
    timer_age: cloudwatch.Alarm | None
    silent: cloudwatch.Alarm | None
    dead_letters: cloudwatch.Alarm

    def act(self, actions: Sequence[cloudwatch.IAlarmAction]) -> None:
        """Have all of them do `actions` when they go off."""
        for each in self._all:
            each.add_alarm_action(*actions)

    @property
    def _all(self) -> list[cloudwatch.Alarm]:
        every = (getattr(self, each.name) for each in fields(self))
        return [each for each in every if each is not None]


def alarm(
    scope: Construct, construct_id: str, metric: cloudwatch.IMetric, threshold: float | None, description: str
) -> cloudwatch.Alarm | None:
    """An alarm that goes off when `metric` reaches `threshold` in one period; none without a threshold.

    Where nothing happens nothing is counted, so that missing data is no reason for an alarm.

    Raises:
        ConstructError: it would always have gone off.
    """
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or threshold <= 0:
        raise ConstructError(
            scope, f"expected a number above 0, or None for no alarm, got {threshold!r}", child=construct_id
        )
    return cloudwatch.Alarm(
        scope,
        construct_id,
        metric=metric,
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=AT_LEAST,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=description,
    )
