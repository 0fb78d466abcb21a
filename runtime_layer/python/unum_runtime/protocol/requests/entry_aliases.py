"""The two aliases through which executions start: event sources' events, and requests by name.

At the start alias whatever arrives is the execution's input, and its name is the event's identity. At the run alias a
request says name and input. Few deliveries need answers or uploads, so these are imported on use.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from unum_runtime.model.envelope import is_answered, is_start_event, named_start
from unum_runtime.model.identity import event_name
from unum_runtime.model.states import Json
from unum_runtime.protocol.requests.begin import begin, begin_with
from unum_runtime.protocol.runtime import Runtime

if TYPE_CHECKING:
    from unum_runtime.protocol.requests.answers import Links


_NO_QUEUES: Mapping[str, str] = {}


def start_by_event(rt: Runtime, event: Json, request_id: str, *, queues: Mapping[str, str] = _NO_QUEUES) -> Json:
    """Start an execution with `event` as input; for a batch of messages of a queue, one for each message.

    Args:
        rt: the runtime.
        event: any JSON.
        request_id: Lambda's request id, the name of an execution whose event has no identity of its own.
        queues: queues with settings; see `unum_runtime.protocol.requests.messages.start_each`.

    Returns:
        Workflow and name of the execution; for a batch, all names.

    Raises:
        ExecutionDeleted: the execution that the event has started was deleted.
        StoreError: the execution may exist or not; deliver the event again.
    """
    if _may_be_messages(event, queues):
        from unum_runtime.protocol.requests import messages  # noqa: PLC0415 - few workflows start by queues

        if messages.is_batch(event):
            return messages.start_each(rt, event, queues)
    return begin_with(rt, event_name(event) or request_id, event)


def _may_be_messages(event: Json, queues: Mapping[str, str]) -> bool:
    """Return True if the module for messages has to look at `event`: one message needs it only for its name."""
    records = event.get("Records") if isinstance(event, dict) else None
    return isinstance(records, list) and len(records) > (0 if queues else 1)


def run(rt: Runtime, event: Json, request_id: str, links: "Links | None" = None) -> Json:
    """Execute a request at the run alias: start an execution by name, with or without an answer.

    Returns:
        Workflow and name of the execution; for a request that asks for an answer, that.

    Raises:
        ValidationException: neither a start nor a request; nothing was done.
        InvalidExecutionInput: an input that was not uploaded as announced; nothing was started.
        ExecutionAlreadyExists: the name was started with another input; nothing was started.
        ExecutionDeleted: the execution of that name was deleted; nothing was started.
        StartRefused: a start request names no start record; nothing was started.
        UnumError: the execution may exist or not; repeat the request.
    """
    if is_answered(event):
        from unum_runtime.protocol.requests import run as requests  # noqa: PLC0415 - not by most events

        return requests.answer(rt, event, links)
    if named_start(event) is not None or is_start_event(event):
        return begin(rt, event, request_id)
    from unum_runtime.protocol.requests import run as requests  # noqa: PLC0415 - large inputs, and mistakes of callers

    return requests.begin_uploaded(rt, event, request_id)
