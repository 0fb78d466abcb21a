"""Alarms on metric math, which ministack's CloudFormation refuses.

Such an alarm exists, with its configuration, and keeps the state INSUFFICIENT_DATA: nothing here computes its
expression.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html
"""

from collections.abc import Mapping
from typing import Any

from ministack.services.cloudformation import provisioners

from unum_emulator.patching import replace

_NO_METRIC = {"Namespace": "Emulator", "MetricName": "Expression"}
"""Metric without data in the place of an expression."""


def install() -> None:
    """Let templates create alarms on expressions."""
    original = replace(provisioners, "_cw_metric_alarm_record", None)

    def record(name: str, props: Mapping[str, Any]) -> dict[str, Any]:
        metrics = props.get("Metrics")
        if not metrics:
            plain: dict[str, Any] = original(name, props)
            return plain
        kept = {key: value for key, value in props.items() if key != "Metrics"}
        return {**original(name, {**kept, **_NO_METRIC}), "Metrics": metrics}

    replace(provisioners, "_cw_metric_alarm_record", record)
