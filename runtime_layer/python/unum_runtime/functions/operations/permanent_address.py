"""Requests at the permanent address: aliases of the control function that stay when a definition changes.

The start alias and the run alias belong to the function in which executions start, which may be another one after a
deployment. The aliases of the same names at the control function send on what arrives. A start becomes a start by name,
so a repeated delivery of one event finds its execution.
"""

from typing import Any

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.errors import RouteGone
from unum_runtime.functions.operations import function_versions
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.functions.operations.served_workflow import workflow_of
from unum_runtime.json_text import to_text
from unum_runtime.model.envelope import is_answered, named_start, start_event, with_alias
from unum_runtime.model.identity import event_name
from unum_runtime.model.naming import run_alias, start_alias
from unum_runtime.model.states import Json
from unum_runtime.store.large_items import MAX_EVENT_BYTES

QUEUE = "aws:sqs"
"""Event source of messages; see `unum_runtime.protocol.requests.messages`, which the control function lacks."""

_SEVERAL = 2

_known: dict[str, str] = {}
"""Start aliases by the alias that tells them. A deployment that makes another one deletes the former."""


def send_on(event: Json, context: Any) -> Json:
    """Send `event` on to the alias of the same name at the function in which executions start.

    Returns:
        The answer of that alias; for a start that nobody waits for, workflow and name of the execution.

    Raises:
        InvokeError: nobody knows whether it has arrived; Lambda, or who waits, sends it again.
    """
    alias, workflow = context.invoked_function_arn.rpartition(":")[2], workflow_of(context)
    is_start = alias == start_alias(workflow)
    # A mapping of a queue waits for the answer, which says the messages that come again.
    if _has_messages(event) if is_start else is_answered(event):
        return _send(alias, to_text(event).encode(), context, waits=True)
    if is_start:
        # Lambda's request id is the same on every delivery of one asynchronous event.
        event = start_event(event_name(event) or context.aws_request_id, event)
    payload, run = to_text(event).encode(), run_alias(workflow)
    if len(payload) > MAX_EVENT_BYTES:  # only a caller that waits can have sent so much
        return _send(run, payload, context, waits=True)
    _send(run, payload, context, waits=False)
    name = named_start(event) or (event.get("start") if isinstance(event, dict) else None)
    return {"workflow": workflow, "execution": name}


def ask_run_alias(request: Json, context: Any) -> Json:
    """Return the answer of the run alias to `request`.

    Raises:
        InvokeError: nobody knows whether it has arrived.
    """
    return _send(run_alias(workflow_of(context)), to_text(request).encode(), context, waits=True)


def _has_messages(event: Json) -> bool:
    """Return True for several messages of a queue, each of which starts an execution.

    One message does so by its own name, as any event does: waiting for it would mean waiting for the first Task.
    """
    if event_name(event) is None or len(event.get("Records", [])) < _SEVERAL:
        return False
    return bool(event["Records"][0].get("eventSource") == QUEUE)


def _send(alias: str, payload: bytes, context: Any, *, waits: bool) -> Json:
    """Invoke `alias` of the function in which executions start; look for another function if it is gone."""
    directory = function_versions.directory_of(context.invoked_function_arn, workflow_of(context))
    if directory in _known:
        try:
            return _invoke(with_alias(_known[directory], alias), payload, waits=waits)
        except RouteGone:
            del _known[directory]
    _known[directory] = function_versions.start_alias(directory)
    return _invoke(with_alias(_known[directory], alias), payload, waits=waits)


def _invoke(address: str, payload: bytes, *, waits: bool) -> Json:
    client = function_versions.lambda_client()
    if waits:
        return LambdaCaller(client).call(address, payload)
    LambdaInvoker(client).invoke([(address, payload)])
    return None
