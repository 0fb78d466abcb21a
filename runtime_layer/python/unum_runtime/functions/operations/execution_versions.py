"""Runtimes of the control function: for the deployed version of a workflow, and for the version of an execution.

The control function plans in place of any function. It sends events to the functions that an execution began with, and
plans by the execution's own definition, which the store keeps. It has no definition: that of the deployed version is in
the configuration of the function in which executions start.
"""

import time
from collections.abc import Callable
from typing import Any

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RouteGone
from unum_runtime.functions.configuration import ENTRY, Service, services
from unum_runtime.functions.definitions import NO_DEFINITION
from unum_runtime.functions.operations.function_versions import (
    addresses,
    begun_at,
    configured,
    directory_of,
    entry_at,
    start_alias,
)
from unum_runtime.functions.operations.runtime_in_place import runtime_of
from unum_runtime.functions.operations.served_workflow import own_version, workflow_of
from unum_runtime.functions.runtime_factory import status_events
from unum_runtime.model.checkpoint import Began
from unum_runtime.protocol.control.versions import senders
from unum_runtime.protocol.runtime import Runtime


def newest_versions(context: Any) -> Began:
    """Return the deployed versions, through the description of this function's own alias."""
    workflow = workflow_of(context)
    return begun_at(workflow, start_alias(directory_of(context.invoked_function_arn, workflow)))


def recent_versions(context: Any) -> Began:
    """Return the versions that were deployed at most `RECENT_S` ago: Lambda allows 15 such questions a second."""
    began: Began = _recently("began", context, lambda: newest_versions(context))
    return began


def _recently(what: str, context: Any, look_up: Callable[[], Any]) -> Any:
    """Return the answer of `look_up`, or its answer of the last `RECENT_S` seconds for the same workflow."""
    key = what, workflow_of(context)
    until_s, found = _recent.get(key, (0.0, None))
    if time.monotonic() >= until_s:
        found = look_up()
        _recent[key] = time.monotonic() + RECENT_S, found
    return found


RECENT_S = 10

_recent: dict[tuple[str, str], tuple[float, Any]] = {}
"""Versions and settings that this sandbox has looked up, with the time until which they are recent."""


def own_runtime(context: Any, digest: str = NO_DEFINITION) -> Runtime:
    """Return a runtime without user code and without addresses, of the stored definition with `digest`.

    Raises:
        DefinitionNotStored: the store has no such definition.
        InconsistentHistory: the stored definition has another digest.
    """
    workflow = workflow_of(context)
    return _runtime(workflow, services()[workflow], context, digest)


def deployed_runtime(context: Any, *, recently: bool = False) -> Runtime:
    """Return a runtime of the deployed definition, without user code and without addresses.

    Args:
        context: Lambda's context object.
        recently: True for work that may use the definition that was deployed at most `RECENT_S` ago.

    Raises:
        InvokeError: Lambda did not answer.
    """
    workflow = workflow_of(context)
    service = services()[workflow]
    if service.definition == ENTRY:
        entry = _recently("entry", context, lambda: _entry(context)) if recently else _entry(context)
        service = replace(service, definition=entry.definition, values=entry.values)
    return _runtime(workflow, service, context)


def _entry(context: Any) -> Service:
    """Return the settings of the function in which executions start now."""
    workflow = workflow_of(context)
    return entry_at(workflow, start_alias(directory_of(context.invoked_function_arn, workflow)))[1]


def runtime_on(digest: str | None, began: Began, context: Any) -> Runtime:
    """Return a runtime of the definition with `digest`, without user code, with the addresses of `began`.

    Args:
        digest: digest of the definition; None for the deployed one.
        began: the versions of the functions.
        context: Lambda's context object.

    Raises:
        DefinitionNotStored: the store has no such definition.
        InconsistentHistory: the stored definition has another digest.
        InvokeError: Lambda did not answer.
    """
    workflow = workflow_of(context)
    routes = {**began.routes, **addresses(workflow, began)}
    service = replace(_service_at(workflow, began), routes=routes, carried=tuple(began.routes))
    rt = _runtime(workflow, service, context, digest)
    # What has no function of its own begins at the function of the start alias, which knows what may follow.
    places = {state: routes.get(sender or "", began.address) for state, sender in senders(rt.workflow).items()}
    return replace(rt, own_address=began.address, continued_at=places)


def _runtime(workflow: str, service: Service, context: Any, digest: str | None = None) -> Runtime:
    rt = replace(runtime_of(workflow, service, own_version(context), context, digest), hosts=frozenset(), fuses=None)
    bus = services()[workflow].events
    return rt if bus is None else replace(rt, statuses=status_events(bus, notes_first=True))


def _service_at(workflow: str, began: Began) -> Service:
    """Return the settings that executions of `began` have: retention and bucket may have changed since."""
    own = services()[workflow]
    try:
        found = configured(began.address)[1][workflow]
    except RouteGone:  # the function that they began in has left the workflow
        return own
    return replace(found, hosts=(), timer=own.timer, start_alias=None)
