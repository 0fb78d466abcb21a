"""Control plane of several workflows: the Lambda handler of a function that is control function and failure handler.

Failed events and requests of operators arrive at aliases for each workflow, see
`unum_runtime.functions.operations.served_workflow`. Two aliases are for all workflows, see `SHARED_ALIASES`.
"""

from collections.abc import Mapping
from typing import Any

from unum_runtime.functions.configuration import services
from unum_runtime.functions.operations import control_entry, control_requests, failure_function
from unum_runtime.functions.operations.served_workflow import WorkflowContext
from unum_runtime.model.naming import INTAKE, START_INTAKE
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.control_aliases import SHARED_ALIASES, WORKFLOW, ControlAlias, find_alias
from unum_runtime.protocol.control.operator_requests import ValidationException
from unum_runtime.protocol.control.sweep import SWEEP, is_sweep
from unum_runtime.protocol.requests.answers import refusal


def handle(event: Json, context: Any) -> Json:
    """Recover from a failed event, carry out a control request, or answer CloudFormation.

    Returns:
        See `unum_runtime.functions.operations.control_entry.handle`; None for failed events.

    Raises:
        UnumError: nobody knows the result, or a failed event cannot be used; Lambda calls again.
    """
    alias = context.invoked_function_arn.rpartition(":")[2]
    if alias in SHARED_ALIASES:
        return _at_shared_alias(alias, event, context)
    kind, workflow = find_alias(alias, services()) or ("", "")
    if kind not in (INTAKE, START_INTAKE):
        return control_entry.handle(event, context)
    failure_function.handle(event, WorkflowContext(context, workflow))
    return None


def _at_shared_alias(alias: str, event: Json, context: Any) -> Json:
    """Answer `event` at the alias for all workflows: sweep them, or take any request for one."""
    if alias == ControlAlias.SWEEP:
        found = control_requests.sweep_all(event, context) if is_sweep(event) else None
        return found or refusal(ValidationException.__name__, f"the alias {alias!r} takes {SWEEP} alone")
    workflow = event.get(WORKFLOW) if isinstance(event, Mapping) else None
    if workflow not in services():
        expected = f"workflow: expected one of {sorted(services())}, got {workflow!r}"
        return refusal(ValidationException.__name__, expected)
    return control_entry.at_version(event, context)
