"""Runtimes of the control function: for the deployed version of a workflow, and for the version of an execution.

The control function plans in place of any function. It sends events to the functions that an execution began with, and
plans by the execution's own definition, which the store keeps.
"""

import time
from contextlib import suppress
from typing import Any

from unum_runtime.aws.caller import LambdaCaller
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RouteGone
from unum_runtime.functions.configuration import Service, services
from unum_runtime.functions.function_versions import (
    addresses,
    begun_at,
    configured,
    directory_of,
    function_of,
    lambda_client,
    on_failure,
    start_alias,
)
from unum_runtime.functions.runtime_factory import runtime_of
from unum_runtime.model.checkpoint import Began, to_text
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.senders import senders
from unum_runtime.protocol.runtime import Runtime


def newest_versions(context: Any) -> Began:
    """Return the deployed versions, through the description of this function's own alias."""
    (workflow,) = services()
    return begun_at(workflow, start_alias(directory_of(context.invoked_function_arn)))


def recent_versions(context: Any) -> Began:
    """Return the versions that were deployed at most `RECENT_S` ago: Lambda allows 15 such questions a second."""
    if time.monotonic() >= _recent.get("until_s", 0.0):
        _recent["began"], _recent["until_s"] = newest_versions(context), time.monotonic() + RECENT_S
    began: Began = _recent["began"]
    return began


RECENT_S = 10

_recent: dict[str, Any] = {}
"""Versions that this sandbox has looked up, and the time until which they are recent."""


def deployed_runtime(context: Any) -> Runtime:
    """Return a runtime of the deployed definition, without user code and without addresses."""
    ((workflow, service),) = services().items()
    return _runtime(workflow, service, context)


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
    (workflow,) = services()
    routes = {**began.routes, **addresses(workflow, began)}
    service = replace(_service_at(workflow, began), routes=routes, carried=tuple(began.routes))
    rt = _runtime(workflow, service, context, digest)
    # What has no function of its own begins at the function of the start alias, which knows what may follow.
    places = {state: routes.get(sender or "", began.address) for state, sender in senders(rt.workflow).items()}
    return replace(rt, own_address=began.address, continued_at=places)


def ask_version(found: Began, event: Json) -> Json:
    """Send `event` to the failure handler that release 0.1.0 deployed with the functions `found`; return its answer.

    Executions of that release have no stored definition, and its failure handler takes control requests.

    Raises:
        InvokeError: no such handler is known, or it did not answer.
    """
    (workflow,) = services()
    # The functions of several workflows report to the handler of one of them, which this role may not invoke.
    own = (on_failure(address) for address in addresses(workflow, found).values())
    for handler in dict.fromkeys(each for each in own if each is not None):
        with suppress(RouteGone):
            return LambdaCaller(lambda_client()).call(handler, to_text(event).encode())
    raise RouteGone(found.address, LookupError("its failure handler is unknown"), is_deleted=True)


def _runtime(workflow: str, service: Service, context: Any, digest: str | None = None) -> Runtime:
    own = f"{function_of(context.invoked_function_arn)}:{context.function_version}"
    return replace(runtime_of(workflow, service, own, context, digest), hosts=frozenset(), fuses=None)


def _service_at(workflow: str, began: Began) -> Service:
    """Return the settings that executions of `began` have: retention and bucket may have changed since."""
    own = services()[workflow]
    try:
        found = configured(began.address)[1][workflow]
    except RouteGone:  # the function that they began in has left the workflow
        return own
    return replace(found, hosts=(), timer=own.timer, start_alias=None, definition=None)
