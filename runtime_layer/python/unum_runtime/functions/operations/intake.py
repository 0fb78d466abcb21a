"""Intake: the version of the failure handler that continues invocations in place of functions whose role may not."""

from typing import Any

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory, NotOurEvent, StoreError
from unum_runtime.functions.configuration import services
from unum_runtime.functions.operations.function_versions import configured
from unum_runtime.functions.runtime_factory import runtime_of
from unum_runtime.model.checkpoint import Checkpoint
from unum_runtime.model.naming import START_STEP, Name, checkpoint_key
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.control.take_over import take_over
from unum_runtime.protocol.runtime import Runtime


def answer(request: TakeOver, context: Any) -> None:
    """Continue the requested invocation, by the definition with the digest of the request.

    Raises:
        NotOurEvent: the request belongs to another workflow, or to no execution of it.
        DefinitionNotStored: no execution has a definition with the digest of the request.
        UnumError: a service did not answer; Lambda calls again.
    """
    if request.workflow not in services():
        raise NotOurEvent(f"take_over.workflow: expected one of {sorted(services())}, got {request.workflow!r}")
    rt = _runtime(request, context, request.digest)
    try:
        take_over(rt, request, execution_routes(rt, request.name))
    except (InconsistentHistory, NotOurEvent, StoreError) as error:
        from unum_runtime.protocol.delivery.deletion import refuse_if_deleted  # noqa: PLC0415 - few requests fail

        refuse_if_deleted(rt, request.name.execution.name, error)
        raise


def execution_routes(rt: Runtime, name: Name) -> dict[str, str]:
    """Return what travels with the execution of the invocation `name`, from its first commit or its first function."""
    first = Name(name.execution, (), START_STEP + 1)
    key = checkpoint_key(rt.workflow.name, first)
    item = rt.store.read([key]).get(key)
    began = None if item is None else Checkpoint.from_item(first, item).began
    routes = {key: rt.routes[key] for key in rt.carried} if began is None else {**began.routes}
    if rt.statuses is None:
        return routes
    from unum_runtime.features.status_events.announcements import (  # noqa: PLC0415 - only workflows with events have it
        redrives_before,
    )

    # The event of the function has them, but may be forged. It may also come after a redrive that followed on its end.
    step = name.frames[0].iteration if name.frames else name.step
    return routes | redrives_before(rt, name.execution, step).to_routes()


def _runtime(request: TakeOver, context: Any, digest: str) -> Runtime:
    """Return a runtime without user code, with the routes of the request's function version."""
    qualifier = request.address.rpartition(":")[2]
    if not qualifier.isdecimal():
        raise NotOurEvent(f"take_over.address: expected a version, got {request.address!r}")
    address, table = configured(request.address)
    if request.workflow not in table:
        raise NotOurEvent(f"{address}: expected that it serves workflow {request.workflow!r}, but only {sorted(table)}")
    rt = runtime_of(request.workflow, table[request.workflow], address, context, digest)
    return replace(rt, hosts=frozenset())
