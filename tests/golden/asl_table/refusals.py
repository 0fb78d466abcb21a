"""Definitions that Step Functions accepts and the compiler refuses by name."""

from typing import Any

from tests.golden.asl_table.samples import PROCESSOR, SERVICE, definition
from unum_runtime.model.states import Json

TASK: dict[str, Any] = {"Type": "Task", "Resource": "f", "End": True}
PASS: dict[str, Any] = {"Type": "Pass", "End": True}
SOME: dict[str, Any] = {"Type": "Map", "ItemProcessor": PROCESSOR, "End": True}
ROLE = {"RoleArn": "arn:aws:iam::111111111111:role/r"}


def _reads(path: str) -> Json:
    return definition({**PASS, "Parameters": {"x.$": path}})


REFUSED: dict[str, Json] = {
    "`Credentials` for an activity": definition(
        {**TASK, "Resource": "arn:aws:states:eu-west-1:111111111111:activity:a", "Credentials": ROLE}
    ),
    "workers by URI": definition({**TASK, "Resource": "https://example.com/worker"}),
    "actions that stream events": definition(
        {**TASK, "Resource": f"{SERVICE}aws-sdk:bedrockruntime:invokeModelWithResponseStream"}
    ),
    "`AllowNullValues` in `apigateway:invoke`": definition(
        {
            **TASK,
            "Resource": f"{SERVICE}apigateway:invoke",
            "Parameters": {"ApiEndpoint": "e", "Method": "GET", "AllowNullValues": True},
        }
    ),
    "`OutputType` `JSONL` without `Resource`": definition(
        {**SOME, "ResultWriter": {"WriterConfig": {"OutputType": "JSONL", "Transformation": "COMPACT"}}}
    ),
    "a filter on a variable that compares with a value at `$`": _reads("$v[?(@.a == $.b)]"),
    "a filter on the context object that does": _reads("$$.Execution[?(@.a == $.b)]"),
    "CloudFormation's functions": definition({**TASK, "Resource": {"Ref": "F"}}),
}
"""A definition with one refused part, by the part's name on the page."""
