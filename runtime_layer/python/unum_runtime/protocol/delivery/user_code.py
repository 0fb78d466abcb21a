"""User code: its event as it would be without us, and what it returns or raises as a result."""

import json
import traceback
from itertools import dropwhile

import unum_runtime
from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import Form, Json, Pattern, Task
from unum_runtime.protocol.runtime import Call, CallbackPending, JobPending, Runtime

_RUNTIME_FOLDER = unum_runtime.__path__[0]


def event_of(task: Task, arguments: Json) -> Json:
    """What user code of `task` gets where the state's effective input is `arguments`."""
    return arguments.get("Payload", {}) if task.form is Form.INVOKE else arguments


def call(rt: Runtime, invocation: Call, event: Json) -> Success | Failure | JobPending | CallbackPending:
    """Run user code, and turn what comes of it into a result."""
    try:
        returned = rt.call(invocation, event)
    except StatesError as failed:  # of our own code for services, which knows what its failures are called
        return Failure(failed.error, failed.cause)
    except Exception as error:  # noqa: BLE001 - whatever user code raises is its outcome
        return Failure(type(error).__name__, _cause(str(error), type(error).__name__, _user_frames(error)))
    if isinstance(returned, JobPending | CallbackPending):
        return returned
    try:
        return Success.from_text(dumps(returned))
    except NotSerializable as error:
        return Failure("Runtime.MarshalError", _cause(str(error), "Runtime.MarshalError", []))


def shaped(task: Task, result: Json) -> Json:
    """The result as the Task's form gives it.

    Source: AWS Step Functions Developer Guide, "Invoke an AWS Lambda function with Step Functions".
    """
    if task.form is not Form.INVOKE or task.pattern is not Pattern.RESPONSE:
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
