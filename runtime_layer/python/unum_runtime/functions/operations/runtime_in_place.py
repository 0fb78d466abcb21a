"""Runtime of a function that plans in place of another."""

from typing import Any

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RouteGone
from unum_runtime.functions.configuration import Service, services
from unum_runtime.functions.operations.function_versions import (
    addresses,
    begun_at,
    configured,
    directory_of,
    function_of,
    start_alias,
)
from unum_runtime.functions.runtime_factory import runtime_of_version
from unum_runtime.model.checkpoint import Failure
from unum_runtime.protocol.runtime import Runtime

FUNCTION_GONE = "Unum.FunctionGone"
"""Error of an invocation whose function has left the workflow."""

TIMER_GONE = "Unum.TimerGone"
"""Error of an invocation that waits for a time, after the timer queue has left the workflow."""

_REMEDY = "a later deployment removed what this execution needs; restore it and redrive the execution"


def gone_failure(workflow: str, handler_arn: str, denied: RouteGone) -> Failure | None:
    """Return the failure of an invocation that AWS refused the failure handler; None if the refusal may pass.

    Permissions take a while to reach all of IAM after a deployment. A refusal is final if nothing exists at the place,
    or if the place is no part of the deployed workflow.
    """
    is_function = denied.place.startswith("arn:")
    place = function_of(denied.place) if is_function else denied.place
    if not denied.is_deleted and place in deployed_places(workflow, handler_arn):
        return None
    return Failure(FUNCTION_GONE if is_function else TIMER_GONE, f"{denied}; {_REMEDY}")


def deployed_places(workflow: str, handler_arn: str) -> set[str]:
    """Return the functions of the newest version, without qualifiers, and its timer queues."""
    newest = begun_at(workflow, start_alias(directory_of(handler_arn, workflow)))
    found = {newest.address, *addresses(workflow, newest).values()}
    timers = {configured(each)[1][workflow].timer for each in found}
    return {timer for timer in timers if timer is not None} | {function_of(each) for each in found}


def runtime_of(workflow: str, service: Service, own_arn: str, context: Any, digest: str | None = None) -> Runtime:
    """Return the runtime of `workflow` in the failure handler, in place of the version `own_arn` with `service`.

    `digest` is that of the definition; see `definition_at`, also for errors.
    """
    handler_arn, own = context.invoked_function_arn, services()[workflow]
    # By this function's role: the function in whose place it acts may have had another bus, or delays no events itself.
    service = replace(service, events=own.events, timer=service.timer or own.timer)
    in_place = runtime_of_version(workflow, service, own_arn, context, digest)
    return replace(in_place, hand_over=None, gone=lambda denied: gone_failure(workflow, handler_arn, denied))
