"""Requests that clients, Tasks and event targets of release 0.1.0 send to the start alias.

There, everything that arrives is input of an execution. These requests have exact forms, so that no such input is
mistaken: a workflow with ``former_clients`` executes them, every other one refuses them with a hint.
"""

from collections.abc import Mapping
from functools import partial

from unum_runtime.errors import InvalidExecutionInput, NotOurEvent, StartRefused
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.start import check_pause, new_record
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.requests import describe, respond
from unum_runtime.protocol.requests.answers import INVALID_REQUEST, answered, refusal
from unum_runtime.protocol.runtime import Runtime

_WITH_INPUT = frozenset({"start", "input"})
_STARTS = (frozenset({"start"}), frozenset({"start", "writer"}), _WITH_INPUT)
_ANSWERED = (
    *(frozenset({"token", *content}) for content in (("output",), ("error", "cause"), ("heartbeat",), ("worker",))),
    frozenset({"register", "input"}),
    frozenset({"describe"}),
)

HINT = (
    "a request in the form of release 0.1.0: update `unum-runtime` where it is sent from and deploy its stack again, "
    "or set `former_clients=True` on the workflow for the meantime"
)


def is_former(event: Json) -> bool:
    """Return True if `event` has exactly the form of a request of release 0.1.0."""
    return is_start(event) or is_answered(event)


def is_start(event: Json) -> bool:
    """Return True for a start request or a start event."""
    fields = _fields(event)
    return fields in _STARTS and ("input" in fields or isinstance(event["start"], str))


def is_answered(event: Json) -> bool:
    """Return True for a request with an answer: with a task token, or by a Task that starts executions."""
    return _fields(event) - {"request"} in _ANSWERED


def refuse(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Refuse a request of release 0.1.0: with an answer and a line in the log, if it asks for an answer.

    Raises:
        NotOurEvent: the event carries an input, which nothing else has: the failure queue keeps it.
        StartRefused: any other start; its start record is there, so that a sweep finds an execution that has not begun.
    """
    reason = f"event: expected input of an execution, got {HINT}"
    if _fields(event) == _WITH_INPUT:
        raise NotOurEvent(reason)
    if is_start(event):
        raise StartRefused(reason)
    rt.log("refused", reason=reason)
    return refusal(INVALID_REQUEST, reason)


def answer(rt: Runtime, event: Mapping[str, Json]) -> Json:
    """Execute a request for which `is_answered` is True.

    Raises:
        UnumError: the request may be executed or not; repeat it.
    """
    return respond.answer(rt, event) if "token" in event else answered(event, partial(_execute, rt, event))


def register(rt: Runtime, name: str, text: str) -> dict[str, Json]:
    """Write the start record of the execution `name` with the JSON text `text` as input; a start request begins it.

    Returns:
        The response of ``StartExecution``; for a repeated name with the same input, that of the existing execution.

    Raises:
        InvalidName: the name is not valid for an execution.
        InvalidExecutionInput: `text` is not JSON, or too large.
        ExecutionAlreadyExists: the name was started with another input.
        StartsPaused: the workflow is paused.
    """
    check_pause(rt, start_records.checked_name(name))
    draft = new_record(rt, name, start_records.checked_input(_parsed(text), rt.store))
    stored = start_records.record_start(rt.store, rt.workflow.name, draft, expires_at_s=rt.result_expires_at_s())
    arn = rt.workflow.home.arn(f"execution:{rt.workflow.name}:{name}")
    return {"ExecutionArn": arn, "StartDate": stored.committed_ms}


def _execute(rt: Runtime, event: Mapping[str, Json]) -> Json:
    match event:
        case {"register": str(name), "input": str(text)}:
            return register(rt, name, text)
        case {"describe": str(name)}:
            return describe.describe(rt, name)
    return refusal(INVALID_REQUEST, f"expected texts, got {event!r}")


def _fields(event: Json) -> frozenset[str]:
    """Return the fields besides the mark; none for an event without it."""
    if not isinstance(event, dict) or type(event.get(MARK)) is not int or event[MARK] != WIRE_VERSION:
        return frozenset()
    return frozenset(event) - {MARK}


def _parsed(text: str) -> Json:
    try:
        return parse_foreign(text)
    except ValueError as error:
        raise InvalidExecutionInput(f"input: expected JSON text: {error}") from error
