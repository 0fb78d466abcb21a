"""User code: its input as it would be without us, and its result or exception as an outcome."""

import copy
import json
import traceback
from functools import partial
from itertools import dropwhile
from pathlib import Path

from unum_runtime.asl import dataflow
from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Failure, Outcome, Phase, Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Form, Json, Task
from unum_runtime.protocol.advance import Moment
from unum_runtime.protocol.compiled import compiled
from unum_runtime.protocol.memo import shared
from unum_runtime.protocol.plan import Commit
from unum_runtime.protocol.runtime import Call, Runtime

_RUNTIME_FOLDER = str(Path(__file__).parents[1])


def run(rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> Commit:
    """Run user code of `task` on its input `entered`, before data flow.

    Returns:
        The outcome to commit. An exception of user code is an outcome too.

    Raises:
        LeaseHeldError: another execution computes a result that both can use; the event must be delivered again.
    """
    begun_ms = rt.clock.now_ms()
    moment = Moment(rt.workflow.name, envelope.name.execution, entered.entered_ms)
    outcome = _outcome(rt, envelope, task, entered.value, moment.context(task.name))
    return Commit(envelope.name, task.name, Phase.LEFT, outcome, duration_ms=rt.clock.now_ms() - begun_ms)


def _call(envelope: Envelope, task: Task) -> Call:
    invocation = str(envelope.name)
    return Call(
        execution=envelope.name.execution.name,
        invocation=invocation,
        state=task.name,
        function=task.function,
        idempotency_key=f"{envelope.workflow}/{invocation}",
    )


def _outcome(rt: Runtime, envelope: Envelope, task: Task, raw: Json, context: dict[str, Json]) -> Outcome:
    flow = compiled(rt.workflow, task).flow
    try:
        event = dataflow.effective_input(flow, raw, context)
        # User code may change its event, and so must not share it with the input that ResultPath needs afterwards.
        own = event if flow.result_path == "$" else copy.deepcopy(event)
        execute = partial(_result, rt, _call(envelope, task), own)
        result = shared(rt, envelope, task, own, execute) if task.memoize else execute()
        if isinstance(result, Failure):
            return result
        return Success(dataflow.output(flow, raw, _shaped(task, result.value), context))
    except StatesError as failed:
        return Failure(failed.error, failed.cause)


def _result(rt: Runtime, call: Call, event: Json) -> Success | Failure:
    try:
        returned = rt.call(call, event)
    except Exception as error:  # noqa: BLE001 - whatever user code raises is its outcome
        return Failure(type(error).__name__, _cause(str(error), type(error).__name__, _user_frames(error)))
    try:
        return Success(json.loads(dumps(returned)))
    except NotSerializable as error:
        return Failure("Runtime.MarshalError", _cause(str(error), "Runtime.MarshalError", []))


def _shaped(task: Task, result: Json) -> Json:
    """The result as the Task's form gives it.

    Source: AWS Step Functions Developer Guide, "Invoke an AWS Lambda function with Step Functions".
    """
    if task.form is Form.DIRECT:
        return result
    return {"ExecutedVersion": "$LATEST", "Payload": result, "StatusCode": 200}


def _cause(message: str, error_type: str, stack: list[str]) -> str:
    """The cause as Lambda reports it for a function error."""
    return json.dumps({"errorMessage": message, "errorType": error_type, "stackTrace": stack})


def _user_frames(error: Exception) -> list[str]:
    """The stack from user code on; the runtime's own frames come first and say nothing to the user."""
    frames = dropwhile(
        lambda frame: frame.filename.startswith(_RUNTIME_FOLDER), traceback.extract_tb(error.__traceback__)
    )
    return traceback.format_list(frames)
