"""Alarms on a workflow's executions, and on events that Lambda lost, summed over the workflow's functions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.cdk.lookup import path_of
from unum_constructs.cdk.threshold_alarm import new_alarm
from unum_constructs.errors import ConstructError

TIMER_AGE_MIN = 20
"""Minutes. The forwarder receives a waiting event every 15 minutes at the latest; an older message is stuck. Source:
Amazon SQS Developer Guide, "Amazon SQS delay queues"."""

MOST_IN_ALARM = 10
"""Most metrics in the expression of one alarm. Source: Amazon CloudWatch User Guide, "Create a CloudWatch alarm based
on a metric math expression"."""


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


class Loss(StrEnum):
    """Lambda's metrics of asynchronous events. Source: AWS Lambda Developer Guide, "Types of metrics"."""

    DROPPED = "AsyncEventsDropped"
    """Events that Lambda gave up, whether or not the failure handler gets a record of them."""

    UNDELIVERED = "DestinationDeliveryFailures"
    """Records that Lambda could not deliver to the failure handler: nobody knows of their events."""


def distinct(functions: Sequence[lambda_.Function]) -> list[lambda_.Function]:
    """Return `functions`, each once: several Tasks may share one."""
    return [*{path_of(each): each for each in functions}.values()]


def sum_of(
    functions: Sequence[lambda_.Function], loss: Loss, *, period: Duration | None, label: str | None
) -> cloudwatch.MathExpression:
    """Return the sum of `loss` over `functions`."""
    each = {f"f{number}": function for number, function in enumerate(functions)}
    return cloudwatch.MathExpression(
        # A function without any such event has no data, and a sum with a part without data would have none.
        expression=" + ".join(f"FILL({name}, 0)" for name in each),
        using_metrics={
            name: function.metric(str(loss), statistic="Sum", period=period) for name, function in each.items()
        },
        label=label or str(loss),
        period=period,
    )


def alarms_on(  # noqa: PLR0913 - what an alarm needs
    scope: Construct,
    construct_id: str,
    functions: Sequence[lambda_.Function],
    loss: Loss,
    *,
    period: Duration,
    threshold: int | None,
    description: str,
) -> tuple[cloudwatch.Alarm, ...]:
    """Alarm if `loss` reaches `threshold` in one period; more than `MOST_IN_ALARM` functions need several alarms."""
    made = (
        optional_alarm(
            scope,
            f"{construct_id}{number or ''}",
            sum_of(part, loss, period=period, label=None),
            threshold,
            description,
        )
        for number, part in enumerate(_parts(functions))
    )
    return tuple(each for each in made if each is not None)


def _parts(functions: Sequence[lambda_.Function]) -> Iterator[Sequence[lambda_.Function]]:
    for begin in range(0, len(functions), MOST_IN_ALARM):
        yield functions[begin : begin + MOST_IN_ALARM]
