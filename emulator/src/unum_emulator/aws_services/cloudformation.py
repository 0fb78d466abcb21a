"""Properties of functions, buckets and alarms that ministack's CloudFormation ignores, refuses or handles differently.

ReservedConcurrentExecutions and RecursiveLoop are settings of the function, not of its configuration. They take effect
at creation and at every update; a missing property resets the setting.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-lambda-function.html

Tags of buckets decide what the CDK's custom resources delete; ministack's stacks create buckets without tags.

ministack refuses alarms on metric math. Here such an alarm exists, with its configuration, and keeps the state
INSUFFICIENT_DATA: nothing here computes its expression.
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-alarm.html
"""

from collections.abc import Callable, Mapping
from typing import Any

from ministack.services import lambda_svc, s3
from ministack.services.cloudformation import provisioners

from unum_emulator.patching import replace


def install() -> None:
    """Extend creation and update of functions and buckets, and let templates create alarms on expressions."""
    _allow_expressions()
    _name_inline_code()
    _extend("AWS::Lambda::Function", _apply)
    _extend("AWS::S3::Bucket", _tag_bucket)


def _extend(resource_type: str, apply: Callable[[str, Mapping[str, Any]], None]) -> None:
    """Call `apply` with physical id and properties after each creation and update."""
    handlers = provisioners._RESOURCE_HANDLERS[resource_type]
    create, update = handlers["create"], handlers["update"]

    def create_resource(logical_id: str, props: Mapping[str, Any], stack_name: str) -> Any:
        created = create(logical_id, props, stack_name)
        apply(created[0], props)
        return created

    def update_resource(
        physical_id: str, old_props: Mapping[str, Any], new_props: Mapping[str, Any], *others: str
    ) -> Any:
        updated = update(physical_id, old_props, new_props, *others)
        apply(updated[0], new_props)
        return updated

    handlers["create"], handlers["update"] = create_resource, update_resource


def _name_inline_code() -> None:
    """Name the file of inline code `index`, as AWS does; ministack names it after the handler's module."""
    original = replace(provisioners, "_zip_inline", None)

    def zip_inline(source: str | None, _handler: str, runtime: str = "python3.12") -> bytes | None:
        archive: bytes | None = original(source, "index.handler", runtime)
        return archive

    replace(provisioners, "_zip_inline", zip_inline)


def _apply(name: str, props: Mapping[str, Any]) -> None:
    record = lambda_svc._functions[name]
    reserved = props.get("ReservedConcurrentExecutions")
    # Assigned even if absent: an update that removes the property removes the setting.
    record["concurrency"] = None if reserved is None else int(reserved)
    record["recursive_loop"] = props.get("RecursiveLoop", "Terminate")


def _tag_bucket(name: str, props: Mapping[str, Any]) -> None:
    # Assigned even if absent, like the settings of functions.
    s3._bucket_tags[name] = {tag["Key"]: tag["Value"] for tag in props.get("Tags") or []}


_NO_METRIC = {"Namespace": "Emulator", "MetricName": "Expression"}
"""Metric without data in the place of an expression."""


def _allow_expressions() -> None:
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
