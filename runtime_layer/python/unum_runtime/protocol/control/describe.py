"""Requests at the describe alias: an execution's description or its status alone, or the pause of the workflow.

So callers need no access to the workflow's table. Descriptions have the fields of ``DescribeExecution``; times are
milliseconds since 1970.
"""

from collections.abc import Mapping
from functools import partial

from unum_runtime.errors import ClientError
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Ending, Failure, Outcome, Status, Success, started_execution
from unum_runtime.model.envelope import MARK
from unum_runtime.model.naming import Execution, execution_partition
from unum_runtime.model.start_facts import attributes_in
from unum_runtime.model.states import Json
from unum_runtime.protocol.delivery.pause import read_pause
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.requests.answers import INVALID_REQUEST, MAX_BYTES, Links, answered, refusal
from unum_runtime.protocol.runtime import Runtime


def answer(rt: Runtime, event: Json, links: Links | None = None) -> Json:
    """Answer the request in `event`; nothing else is executed.

    Args:
        rt: a runtime of any version.
        event: the request.
        links: maker of links to objects; None without a payload bucket.

    Returns:
        The description; ``url`` of an object with it, if it exceeds an answer; or ``error`` and ``message``.

    Raises:
        UnumError: no answer; repeat the request.
    """
    if not isinstance(event, dict):
        return refusal(INVALID_REQUEST, f'expected "describe" and a name, got {type(event).__name__}')
    return answered(event, partial(_execute, rt, event, links))


def _execute(rt: Runtime, event: Mapping[str, Json], links: Links | None) -> Json:
    match event:
        case {"describe": str(name), "status": True} if event.keys() == {MARK, "describe", "status"}:
            return {"Status": status(rt, name)}
        case {"describe": str(name)} if event.keys() == {MARK, "describe"}:
            return _within_limit(rt, name, describe(rt, name), links)
        case {"pause": True} if event.keys() == {MARK, "pause"}:
            found = read_pause(rt.store, rt.workflow.name)
            return {"pause": None if found is None else found.to_json()}
    return refusal(
        INVALID_REQUEST,
        f'expected "describe" and a name, with or without "status"; or "pause": true; got {sorted(event)}',
    )


def status(rt: Runtime, name: str) -> Status:
    """Return the status of execution `name`.

    Raises:
        ExecutionDoesNotExist: there is no execution of that name.
    """
    # Without references resolved: a caller that polls needs neither the input nor the output.
    items = rt.store if rt.large is None else rt.large.store
    execution = started_execution(name, start_records.stored_start(items, rt.workflow.name, name))
    end = start_records.end_of(items, rt.workflow.name, execution)
    return Status.RUNNING if end is None else end[0]


def describe(rt: Runtime, name: str) -> dict[str, Json]:
    """Describe execution `name` in ``DescribeExecution``'s response format, with the origin of a fork and attributes.

    Args:
        rt: a runtime of any version.
        name: name of the execution.

    Raises:
        ExecutionDoesNotExist: there is no execution of that name.
    """
    start = start_records.start_record(rt.store, rt.workflow.name, name)
    last = start_records.last_step(rt.store, rt.workflow.name, start.name.execution)
    description = {
        "ExecutionArn": rt.workflow.home.arn(f"execution:{rt.workflow.name}:{name}"),
        "Name": name,
        "StartDate": start.committed_ms,
        "StateMachineArn": rt.workflow.home.arn(f"stateMachine:{rt.workflow.name}"),
        **_value("Input", start.outcome),
        **_origin(start, last),
        **_facts(start),
    }
    return description | (_end(last, last.ending) if last and last.ending else {"Status": Status.RUNNING})


def _within_limit(rt: Runtime, name: str, description: dict[str, Json], links: Links | None) -> Json:
    """Return `description`, or a link to an object that contains it."""
    text = to_text(description)
    if len(text.encode()) <= MAX_BYTES:
        return description
    if links is None or rt.large is None:
        raise ClientError(f"execution {name!r}: its description exceeds an answer, and the workflow has no bucket")
    partition = execution_partition(rt.workflow.name, Execution(name, int(description["StartDate"])))
    return {"url": links.download(rt.large.store_text(partition, text))}


def _origin(start: Checkpoint, last: Checkpoint | None) -> dict[str, Json]:
    origin = start.fork
    if origin is None:
        return {}
    # Steps follow each other without gaps, so the last one tells; a stop record may be in place of the fork's own step.
    step = 0 if last is None else last.name.step - last.is_stop
    source = {"execution": origin.execution.name, "node": origin.node, "visit": origin.visit}
    return {"ForkedFrom": {**source, "is_finished": step >= origin.step}}


def _facts(start: Checkpoint) -> dict[str, Json]:
    """Return an execution's attributes, if any."""
    attributes = attributes_in(start.about)
    return {"Attributes": dict(attributes)} if attributes else {}


def _end(last: Checkpoint, ending: Ending) -> dict[str, Json]:
    return {"Status": ending.status, "StopDate": last.committed_ms, **_value("Output", ending.outcome)}


def _value(field: str, outcome: Outcome | object) -> dict[str, Json]:
    match outcome:
        case Success():
            return {field: outcome.text, f"{field}Details": {"Included": True}}
        case Failure(error, cause):
            return {name: text for name, text in (("Error", error), ("Cause", cause)) if text is not None}
    return {}
