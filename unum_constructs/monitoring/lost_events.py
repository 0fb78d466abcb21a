"""Lambda metrics of unprocessed events, summed over workflow functions."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.cdk.lookup import path_of
from unum_constructs.monitoring.alarms import optional_alarm

MOST_IN_ALARM = 10
"""Most metrics in the expression of one alarm. Source: Amazon CloudWatch User Guide, "Create a CloudWatch alarm based
on a metric math expression"."""


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
