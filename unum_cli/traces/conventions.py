"""Names of attributes: OpenTelemetry's where it has one, else names that begin with ``unum.``.

Sources: OpenTelemetry Semantic Conventions, "FaaS spans", "AWS SDK client spans", "Amazon SQS", "Amazon SNS",
"Exceptions" and "Recording errors".
"""

from unum_cli.traces.spans import Attribute
from unum_client.deliveries import Delivery
from unum_runtime.features.services.operation import Resource, parse
from unum_runtime.model.states import State, Task

ERROR = "error.type"
NO_NAME = "_OTHER"
"""Value of `ERROR` for a failure without a name, as the conventions say."""

UNFINISHED = "unum.unfinished"
"""Attribute of spans whose end is only the time at which they were read."""

STATUS = "unum.status"
LINK = "unum.link"
"""Attribute of links with their reason: ``fan-in``, ``fork``, ``redrive``, ``parent`` or ``child``."""

_SENDS = {("sqs", "SendMessage"): "aws_sqs", ("sns", "Publish"): "aws.sns"}
"""Values of ``messaging.system`` of service requests that send messages."""

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


def is_user_code(state: State | None) -> bool:
    """Return True if a function of the workflow runs user code for `state`."""
    return isinstance(state, Task) and state.resource is None


def is_service_call(state: State | None) -> bool:
    """Return True if `state` calls an API in place of user code."""
    return _called(state) is not None


def of_service_call(state: State | None) -> dict[str, Attribute]:
    """Return the attributes of the call that `state` makes to an AWS service; none for other states."""
    called = _called(state)
    if called is None or not called.service:  # an endpoint of HTTP is no service of AWS
        return {}
    found: dict[str, Attribute] = {
        "rpc.system": "aws-api",
        "rpc.service": called.service,
        "rpc.method": called.operation,
    }
    system = _SENDS.get((called.service, called.operation))
    if system is not None:
        found |= {"messaging.system": system, "messaging.operation.name": called.operation}
        found |= {"messaging.operation.type": "send"}
    return found


def _called(state: State | None) -> Resource | None:
    resource = state.resource if isinstance(state, Task) else None
    if resource is None or resource == _LAMBDA:
        return None
    try:
        return parse(resource)
    except KeyError:  # activities, functions outside the workflow, and Tasks of the runtime itself
        return None


def of_delivery(delivery: Delivery) -> dict[str, Attribute]:
    """Return the attributes of the invocation that committed a step."""
    found: dict[str, Attribute] = {"faas.coldstart": delivery.is_cold}
    if delivery.request_id:
        found["faas.invocation_id"] = delivery.request_id
    if delivery.log_stream:
        found["aws.log.stream.names"] = [delivery.log_stream]
    return found
