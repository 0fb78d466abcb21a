"""Intake of a function: the on-failure destination of its own version, which its role may invoke anyway."""

from functools import cache
from typing import Any

from unum_runtime.aws.client_factory import botocore_client
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.errors import NotOurEvent
from unum_runtime.json_text import to_text
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.wire.call_errors import call_errors, invoke_error


def send(own_arn: str, request: TakeOver) -> None:
    """Send `request` to the intake of the function version `own_arn`.

    Raises:
        InvokeError: the version has no intake, or it was not reached.
    """
    intake = _destination(own_arn)
    if intake is None:
        raise NotOurEvent(f"{own_arn}: expected a version with an on-failure destination, found none")
    LambdaInvoker(lambda_client()).invoke([(intake, to_text(request.to_json()).encode())])


@cache
def _destination(address: str) -> str | None:
    """Return the on-failure destination of version `address`, which never changes; None without one.

    Raises:
        InvokeError: Lambda did not answer.
    """
    try:
        found = lambda_client().get_function_event_invoke_config(FunctionName=address)
    except call_errors() as error:
        raise invoke_error(address, error) from error
    destination: str | None = found.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    return destination


@cache
def lambda_client() -> Any:
    """Return a Lambda client with many retries.

    Lambda takes 15 such requests a second in an account. Source: AWS Lambda Developer Guide, "Lambda quotas".
    """
    return botocore_client("lambda", retries=10)
