"""Alarms on thresholds."""

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct


def new_alarm(
    scope: Construct, construct_id: str, metric: cloudwatch.IMetric, threshold: float, description: str
) -> cloudwatch.Alarm:
    """Alarm if `metric` reaches `threshold` in one period."""
    return cloudwatch.Alarm(
        scope,
        construct_id,
        metric=metric,
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        # Idle workflows write no metrics, so missing data is no breach.
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=description,
    )
