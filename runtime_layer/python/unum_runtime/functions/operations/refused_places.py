"""Functions and queues that AWS refuses: the request to the intake, and the failure of what has left the workflow.

A function finds its intake as the on-failure destination of its own version, which its role may invoke anyway.
"""

from functools import cache

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.errors import NotOurEvent, RouteGone
from unum_runtime.functions.operations.function_versions import (
    addresses,
    begun_at,
    configured,
    directory_of,
    function_of,
    lambda_client,
    on_failure,
    start_alias,
)
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.take_over_request import TakeOver

FUNCTION_GONE = "Unum.FunctionGone"
"""Error of an invocation whose function has left the workflow."""

TIMER_GONE = "Unum.TimerGone"
"""Error of an invocation that waits for a time, after the timer queue has left the workflow."""

_REMEDY = "a later deployment removed what this execution needs; restore it and redrive the execution"

_destination = cache(on_failure)
"""`on_failure` with a cache: a version's destination never changes."""


def send(own_arn: str, request: TakeOver) -> None:
    """Send `request` to the intake of the function version `own_arn`.

    Raises:
        InvokeError: the version has no intake, or it was not reached.
    """
    intake = _destination(own_arn)
    if intake is None:
        raise NotOurEvent(f"{own_arn}: expected a version with an on-failure destination, found none")
    LambdaInvoker(lambda_client()).invoke([(intake, to_text(request.to_json()).encode())])


def gone_failure(workflow: str, handler_arn: str, denied: RouteGone) -> Failure | None:
    """Return the failure of an invocation that AWS refused the failure handler; None if the refusal may pass.

    Permissions take a while to reach all of IAM after a deployment. A refusal is final if nothing exists at the place,
    or if the place is no part of the deployed workflow.
    """
    is_function = denied.place.startswith("arn:")
    place = function_of(denied.place) if is_function else denied.place
    if not denied.is_deleted and place in _deployed_places(workflow, handler_arn):
        return None
    return Failure(FUNCTION_GONE if is_function else TIMER_GONE, f"{denied}; {_REMEDY}")


def _deployed_places(workflow: str, handler_arn: str) -> set[str]:
    """Return the functions of the newest version, without qualifiers, and its timer queues."""
    newest = begun_at(workflow, start_alias(directory_of(handler_arn)))
    found = {newest.address, *addresses(workflow, newest).values()}
    timers = {configured(each)[1][workflow].timer for each in found}
    return {timer for timer in timers if timer is not None} | {function_of(each) for each in found}
