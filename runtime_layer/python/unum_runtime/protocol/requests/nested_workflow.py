"""Requests of other workflows' Tasks at the start alias: register an execution, describe an execution.

So those Tasks need no access to this workflow's table. Responses have the fields of Step Functions' API; times are
milliseconds since 1970.
"""

import json

from unum_runtime.errors import InvalidExecutionInput
from unum_runtime.model.checkpoint import Checkpoint, Ending, Failure, Success, start_record, to_text
from unum_runtime.model.ir import Json
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.history import start_records
from unum_runtime.protocol.runtime import Runtime


def register(rt: Runtime, name: str, text: str) -> dict[str, Json]:
    """Write the start record of the execution `name` with the JSON text `text` as input; a start request begins it.

    Returns:
        The response of ``StartExecution``; for a repeated name with the same input, that of the existing execution.

    Raises:
        InvalidName: the name is not valid for an execution.
        InvalidExecutionInput: `text` is not JSON, or too large.
        ExecutionAlreadyExists: the name was started with another input.
    """
    execution = Execution(start_records.checked_name(name), rt.clock.now_ms())
    draft = start_record(execution, start_records.checked_input(_parsed(text), rt.store))
    # A repeated request with the same name and input finds the record: StartExecution is idempotent in that way.
    stored = start_records.record_start(rt.store, rt.workflow.name, draft, expires_at_s=rt.result_expires_at_s())
    return {"ExecutionArn": _arn(rt, name), "StartDate": stored.committed_ms}


def describe(rt: Runtime, name: str) -> dict[str, Json]:
    """Describe execution `name` in ``DescribeExecution``'s response format.

    Raises:
        ExecutionDoesNotExist: there is no execution of that name.
    """
    start = start_records.start_record(rt.store, rt.workflow.name, name)
    last = start_records.last_step(rt.store, rt.workflow.name, start.name.execution)
    description = {
        "ExecutionArn": _arn(rt, name),
        "Name": name,
        "StartDate": start.committed_ms,
        "StateMachineArn": rt.workflow.home.arn(f"stateMachine:{rt.workflow.name}"),
        **_value("Input", start.outcome),
    }
    return description | (_end(last, last.ending) if last and last.ending else {"Status": "RUNNING"})


def _end(last: Checkpoint, ending: Ending) -> dict[str, Json]:
    return {"Status": ending.status, "StopDate": last.committed_ms, **_value("Output", ending.outcome)}


def _value(field: str, outcome: object) -> dict[str, Json]:
    match outcome:
        case Success(value):
            return {field: to_text(value), f"{field}Details": {"Included": True}}
        case Failure(error, cause):
            return {name: text for name, text in (("Error", error), ("Cause", cause)) if text is not None}
    return {}


def _arn(rt: Runtime, name: str) -> str:
    return rt.workflow.home.arn(f"execution:{rt.workflow.name}:{name}")


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidExecutionInput(f"input: expected JSON text: {error}") from error
