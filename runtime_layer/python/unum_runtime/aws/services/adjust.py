"""What single integrations do to parameters and results beside what the service's model says."""

import json
from collections.abc import Callable, Mapping

from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.services.api_request import request
from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.operation import Resource, parse
from unum_runtime.aws.services.shapes import BadParameter
from unum_runtime.aws.services.spelling import folded
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json


def adjusted(resource: Resource, parameters: Json, clients: Clients, token: str | None) -> Json:
    """The parameters with which to call `resource`; see `call` for the arguments."""
    match resource.name:
        case "states:startExecution":
            return _start_execution(parameters, token)
        case "lambda:invoke" if "Payload" in parameters:
            return parameters | {"Payload": dumps(parameters["Payload"])}
        case "bedrock:invokeModel":
            return _invoke_model(parameters, clients)
        case _:
            return parameters


def finished(resource: Resource, result: Json) -> Json:
    """The result of the Task, from the response of the service.

    Raises:
        StatesError: the response says that what was asked for failed.
    """
    finish = _FINISH.get(resource.name)
    return finish(result) if finish else result


def done_before(resource: Resource, parameters: Json, token: str | None, failed: StatesError) -> Json:
    """The response to a call that had its effect before, in a delivery that died: all that is known of it.

    A machine tells of a name that it ran before only by an error, once that execution has ended; of our own name it
    means that we started it. When it began is not known here.

    Raises:
        StatesError: `failed`, which says something else.
    """
    taken = "StepFunctions.ExecutionAlreadyExistsException"
    if (resource.name, failed.error) != ("states:startExecution", taken) or field(parameters, "Name") != token:
        raise failed
    machine = str(field(parameters, "StateMachineArn"))
    return {"ExecutionArn": f"{machine.replace(':stateMachine:', ':execution:', 1)}:{token}"}


def field(table: Mapping[str, Json], name: str) -> Json:
    """The field called `name`, however it is spelled; None if there is none."""
    return next((value for key, value in table.items() if folded(key) == folded(name)), None)


def parsed(text: str) -> Json:
    """The JSON value that `text` is; else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _start_execution(parameters: Json, token: str | None) -> Json:
    """With an input, for the API wants at least braces, and a name, for that is what makes a start idempotent."""
    rest = {key: value for key, value in parameters.items() if folded(key) not in ("input", "name")}
    given, name = field(parameters, "Input"), field(parameters, "Name") or token
    text = given if isinstance(given, str) else dumps({} if given is None else given)
    return rest | {"Input": text} | ({"Name": name} if name else {})


def _invoke_model(parameters: Json, clients: Clients) -> Json:
    """With the body from S3 where ``Input`` says so."""
    source = parameters.get("Input")
    if source is None:
        return parameters
    uri = source.get("S3Uri") if isinstance(source, dict) else None
    if not isinstance(uri, str):
        raise BadParameter("$.Input", "The field 'S3Uri' is required, and has to be text")
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    body = request(parse("aws-sdk:s3:getObject"), {"Bucket": bucket, "Key": key}, clients)["Body"]
    return {name: value for name, value in parameters.items() if name != "Input"} | {"Body": body}


def _invoked(result: Json) -> Json:
    text = result.get("Payload", "")
    payload = parsed(text)
    if "FunctionError" in result:
        error = payload.get("errorType") if isinstance(payload, dict) else None
        raise StatesError(error or "Lambda.Unknown", text)
    return result | {"Payload": payload} if text else result


def _put(result: Json) -> Json:
    if result.get("FailedEntryCount"):
        raise StatesError("EventBridge.FailedEntry", dumps(result))
    return result


def _inferred(result: Json) -> Json:
    return result | {"Body": parsed(result.get("Body", ""))}


_FINISH: Mapping[str, Callable[[Json], Json]] = {
    "lambda:invoke": _invoked,
    "events:putEvents": _put,
    "bedrock:invokeModel": _inferred,
}
