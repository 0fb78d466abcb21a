"""Requests at the describe alias of the control function: descriptions of executions of any version."""

from typing import Any

from unum_runtime.functions.configuration import services
from unum_runtime.functions.definitions import NO_DEFINITION
from unum_runtime.functions.runtime_factory import links, runtime_here
from unum_runtime.model.naming import describe_alias
from unum_runtime.model.states import Json
from unum_runtime.protocol.control import describe


def is_asked(context: Any) -> bool:
    """Return True if this delivery came through a describe alias."""
    return context.invoked_function_arn.rpartition(":")[2] in map(describe_alias, services())


def answer(event: Json, context: Any) -> Json:
    """Answer the request in `event`; see `unum_runtime.protocol.control.describe.answer`."""
    ((workflow, service),) = services().items()
    return describe.answer(runtime_here(workflow, context, NO_DEFINITION), event, links(service))
