"""Runtime of a function that plans in place of another."""

from typing import Any

from unum_runtime.cold_start.records import replace
from unum_runtime.functions.configuration import Service, services
from unum_runtime.functions.operations.refused_places import gone_failure
from unum_runtime.functions.runtime_factory import runtime_of_version
from unum_runtime.protocol.runtime import Runtime


def runtime_of(workflow: str, service: Service, own_arn: str, context: Any, digest: str | None = None) -> Runtime:
    """Return the runtime of `workflow` in the failure handler, in place of the version `own_arn` with `service`.

    `digest` is that of the definition; see `definition_at`, also for errors.
    """
    handler_arn, own = context.invoked_function_arn, services()[workflow]
    # By this function's role: the function in whose place it acts may have had another bus, or delays no events itself.
    service = replace(service, events=own.events, timer=service.timer or own.timer)
    in_place = runtime_of_version(workflow, service, own_arn, context, digest)
    return replace(in_place, hand_over=None, gone=lambda denied: gone_failure(workflow, handler_arn, denied))
