"""Names of attributes: OpenTelemetry's where it has one, else names that begin with ``unum.``.

Sources: OpenTelemetry Semantic Conventions, "FaaS spans", "AWS SDK client spans", "Amazon SQS", "Amazon SNS",
"Exceptions" and "Recording errors".
"""

from unum_cli.traces.spans import Attribute
from unum_runtime.client.deliveries import Delivery
from unum_runtime.model.states import ACTIVITY, State, Task

ERROR = "error.type"
NO_NAME = "_OTHER"
"""Value of `ERROR` for a failure without a name, as the conventions say."""

UNFINISHED = "unum.unfinished"
"""Attribute of spans whose end is only the time at which they were read."""

STATUS = "unum.status"
LINK = "unum.link"
"""Attribute of links with their reason: ``fan-in``, ``fork``, ``redrive``, ``parent`` or ``child``."""

_SENDS = {"sqs:sendMessage": "aws_sqs", "sns:publish": "aws.sns"}
"""Values of ``messaging.system`` of service calls that send messages."""

_LAMBDA = "lambda:invoke"


def error_type(error: str | None) -> str:
    """Return the value of `ERROR` for the error name `error`."""
    return error or NO_NAME


def of_task(state: State | None) -> dict[str, Attribute]:
    """Return what the definition says of a step's state."""
    if state is None:
        return {}
    found: dict[str, Attribute] = {"unum.state.type": type(state).__name__}
    if isinstance(state, Task):
        if state.resource is None:
            found["unum.function"] = state.handler or state.function
        else:
            found["unum.resource"] = state.resource
        found["unum.pattern"] = state.pattern.name
    return found


def is_service_call(state: State | None) -> bool:
    """Return True if `state` calls an API in place of user code."""
    resource = state.resource if isinstance(state, Task) else None
    return resource is not None and not resource.startswith(("arn:", ACTIVITY, _LAMBDA))


def of_service_call(state: State | None) -> dict[str, Attribute]:
    """Return the attributes of the call that `state` makes to a service; none for other states."""
    if not isinstance(state, Task) or state.resource is None or not is_service_call(state):
        return {}
    service, _, action = state.resource.removeprefix("aws-sdk:").rpartition(":")
    found: dict[str, Attribute] = {
        "rpc.system": "aws-api",
        "rpc.service": service,
        "rpc.method": action[:1].upper() + action[1:],
    }
    sends = _SENDS.get(state.resource.removeprefix("aws-sdk:"))
    if sends:
        found |= {"messaging.system": sends, "messaging.operation.name": action, "messaging.operation.type": "send"}
    return found


def of_delivery(delivery: Delivery) -> dict[str, Attribute]:
    """Return the attributes of the invocation that committed a step."""
    found: dict[str, Attribute] = {"faas.coldstart": delivery.is_cold}
    if delivery.request_id:
        found["faas.invocation_id"] = delivery.request_id
    if delivery.log_stream:
        found["aws.log.stream.names"] = [delivery.log_stream]
    return found
