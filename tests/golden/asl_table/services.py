"""A definition for every service integration and each of its patterns, from the tables of the runtime."""

from collections.abc import Iterator

from tests.golden.asl_table.samples import SERVICE, definition
from unum_compiler.services.service_tasks import _fields
from unum_runtime.features.services.integrations import OPTIMIZED
from unum_runtime.features.services.jobs import JOBS
from unum_runtime.model.states import Json

SYNC, CALLBACK = ".sync", ".waitForTaskToken"
DIRECT = ("aws-sdk:s3:getObject", "aws-sdk:sfn:startExecution.waitForTaskToken")
"""Examples of calls without an optimized integration."""


def calls() -> Iterator[tuple[str, str, str]]:
    """Yield service, action and suffix of every optimized integration."""
    for service, integration in OPTIMIZED.items():
        for action in integration.actions:
            yield service, action, ""
            if f"{service}:{action}" in JOBS:
                yield service, action, SYNC
            if integration.has_callback:
                yield service, action, CALLBACK
    yield "states", "startExecution", ".sync:2"


def with_call(call: str) -> Json:
    """Return a definition with `call`, such as ``sqs:sendMessage``, and its required parameters."""
    action = call.removesuffix(":2").removesuffix(SYNC).removesuffix(CALLBACK)
    parameters: dict[str, Json] = dict.fromkeys(_fields(action).required, "x")
    if call.endswith(CALLBACK):
        parameters = {f"{name}.$": "$$.Task.Token" for name in parameters}
    if action == "lambda:invoke":
        parameters = {"FunctionName": "f", "Payload": {"t.$": "$$.Task.Token"}}
    return definition({"Type": "Task", "Resource": f"{SERVICE}{call}", "Parameters": parameters, "End": True})
