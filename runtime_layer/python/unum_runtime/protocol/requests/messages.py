"""Messages of queues: each starts an execution of its own, whatever batch it comes in.

Lambda polls queues, and puts messages that it receives again into other batches. So an execution is named by its
message, not by its batch, and its input is a batch with this message alone. A message from a dead-letter queue has
another id; a path into its body can name the execution instead.

A batch of several messages is handed to the run alias, one start for each message: the first Tasks of all of them could
take longer than one delivery may. Messages whose start is not accepted come again, alone if their mapping takes reports
of single failures, else with the whole batch. That is harmless: the others find their executions.
Source: AWS Lambda Developer Guide, "Using Lambda with Amazon SQS".
"""

from collections.abc import Mapping
from contextlib import suppress

from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDeleted, InvokeError, StartsPaused, StoreError
from unum_runtime.json_text import parse_foreign, to_text
from unum_runtime.model.envelope import start_event, with_alias
from unum_runtime.model.identity import event_name, started_by
from unum_runtime.model.naming import run_alias
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.start import check_pause
from unum_runtime.protocol.requests.begin import begin_with
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import MAX_EVENT_BYTES

QUEUE = "aws:sqs"
"""Event source of messages of Amazon SQS."""


_NOT_STARTED = (InvokeError, StartsPaused, StoreError)
"""Errors after which a message comes again."""


def is_batch(event: Json) -> bool:
    """Return True if `event` is a batch of messages of a queue."""
    records = event.get("Records") if isinstance(event, dict) and event.keys() == {"Records"} else None
    return isinstance(records, list) and bool(records) and all(map(_is_message, records))


def start_each(rt: Runtime, event: Mapping[str, Json], queues: Mapping[str, str]) -> Json:
    """Start an execution for each message in `event`.

    Args:
        rt: the runtime.
        event: a batch of messages.
        queues: queues whose mapping takes reports of single failures, by ARN, each with the path of the name in the
            body of a message; the path is empty if the message's id names the execution.

    Returns:
        Workflow and names of the executions, and the messages that come again.

    Raises:
        InvokeError: some execution was not started, and the queue is none of `queues`; all messages come again.
        StartsPaused, StoreError: the same.
    """
    records = event["Records"]
    starts = [(_name(record, queues), {"Records": [record]}) for record in records]
    try:
        _start_all(rt, starts)
        failed = [False] * len(starts)
    except _NOT_STARTED:
        if records[0]["eventSourceARN"] not in queues:
            raise
        failed = [not _is_started(rt, each) for each in starts]
    again = [record["messageId"] for record, is_failed in zip(records, failed, strict=True) if is_failed]
    return {
        "workflow": rt.workflow.name,
        "executions": [name for name, _ in starts],
        "batchItemFailures": [{"itemIdentifier": message_id} for message_id in again],
    }


def _is_started(rt: Runtime, one: tuple[str, Json]) -> bool:
    """Start one execution, possibly again; return False after a failure."""
    try:
        _start_all(rt, [one], sends=True)
    except StartsPaused as paused:  # no line for each message: they come again for as long as the pause lasts
        rt.log("refused", reason=str(paused))
        return False
    except (InvokeError, StoreError) as error:
        rt.log("put off", execution=one[0], error=type(error).__name__, reason=str(error))
        return False
    return True


def _start_all(rt: Runtime, starts: list[tuple[str, Json]], *, sends: bool = False) -> None:
    """Start executions by name and input: one here, unless `sends`, and several by an event for each."""
    address = with_alias(rt.own_address, run_alias(rt.workflow.name))
    sent: list[tuple[str, bytes]] = []
    for name, value in starts:
        payload = to_text(start_event(name, value)).encode()
        if len(payload) > MAX_EVENT_BYTES or (len(starts) == 1 and not sends):
            try:
                begin_with(rt, name, value)
            except ExecutionDeleted as gone:  # a late copy of a message: it must not come again, and again be refused
                rt.log("refused", reason=str(gone))
            except ExecutionAlreadyExists:
                # Another message has the name. The queue would deliver this one again to no end; the run alias refuses
                # it too, and it becomes a dead letter of the workflow, as each message of a larger batch does.
                if len(payload) > MAX_EVENT_BYTES:
                    raise
                sent.append((address, payload))
        else:
            check_pause(rt, name)  # what the run alias refused would be a dead letter, and no message any more
            sent.append((address, payload))
    if sent:
        rt.invoker.invoke(sent)


def _is_message(record: Json) -> bool:
    return (
        isinstance(record, dict)
        and record.get("eventSource") == QUEUE
        and event_name({"Records": [record]}) is not None
    )


def _name(record: Mapping[str, Json], queues: Mapping[str, str]) -> str:
    """Return the name in the body of a message, else the name of its id."""
    path = queues.get(record["eventSourceARN"])
    named = start_event(_found(record["body"], path) if path else None, None)
    event = named if started_by(named)[0] else {"Records": [record]}
    name = started_by(event)[0]
    assert name is not None  # noqa: S101 - `is_batch` has asked
    return name


def _found(body: Json, path: str) -> Json:
    """Read the text or number at `path` of JSON text, such as ``$.order.id``; None if missing."""
    with suppress(ValueError, TypeError):
        value = parse_foreign(body)
        for member in path.removeprefix("$.").split("."):
            value = value.get(member) if isinstance(value, dict) else None
        if isinstance(value, str | int) and not isinstance(value, bool):
            return value
    return None
