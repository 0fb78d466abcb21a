"""Changes to parameters and results of single integrations, beyond the service model."""

import json
from collections.abc import Mapping

from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.services.api_request import send_request
from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.operation import Resource, parse
from unum_runtime.aws.services.shapes import BadParameter
from unum_runtime.aws.services.spelling import fold_name
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json


def adjust_parameters(resource: Resource, parameters: Json, clients: Clients, token: str | None) -> Json:
    """Return the parameters of the API request for `resource`; arguments as for `call`."""
    match resource.name:
        case "states:startExecution":
            return _with_name_and_input(parameters, token)
        case "lambda:invoke" if "Payload" in parameters:
            return parameters | {"Payload": dumps(parameters["Payload"])}
        case "bedrock:invokeModel":
            return _with_body_from_s3(parameters, clients)
        case _:
            return parameters


def adjust_result(resource: Resource, result: Json) -> Json:
    """Return the Task result for a service's response.

    Raises:
        StatesError: the response reports a failure.
    """
    match resource.name:
        case "lambda:invoke":
            return _lambda_result(result)
        case "events:putEvents" if result.get("FailedEntryCount"):
            raise StatesError("EventBridge.FailedEntry", dumps(result))  # PutEvents answers 200 all the same
        case "bedrock:invokeModel":
            return result | {"Body": parse_if_json(result.get("Body", ""))}
        case _:
            return result


def recover_response(resource: Resource, parameters: Json, token: str | None, failed: StatesError) -> Json:
    """Return the known part of a lost response: a start that succeeded in an earlier, dead delivery.

    Step Functions answers a repeated start with an error once the execution has ended. The name is the token of this
    Task, so only this Task can have started that execution.

    Raises:
        StatesError: `failed`, if it has another meaning.
    """
    taken = "StepFunctions.ExecutionAlreadyExistsException"
    if (resource.name, failed.error) != ("states:startExecution", taken) or field(parameters, "Name") != token:
        raise failed
    machine = str(field(parameters, "StateMachineArn"))
    return {"ExecutionArn": f"{machine.replace(':stateMachine:', ':execution:', 1)}:{token}"}


def field(table: Mapping[str, Json], name: str) -> Json:
    """Return the field called `name` in any spelling; None if absent."""
    return next((value for key, value in table.items() if fold_name(key) == fold_name(name)), None)


def parse_if_json(text: str) -> Json:
    """Return the JSON value in `text`, or else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _with_name_and_input(parameters: Json, token: str | None) -> Json:
    """Add required input, and a name: Step Functions starts a named execution only once."""
    rest = {key: value for key, value in parameters.items() if fold_name(key) not in ("input", "name")}
    value, name = field(parameters, "Input"), field(parameters, "Name") or token
    text = value if isinstance(value, str) else dumps({} if value is None else value)
    return rest | {"Input": text} | ({"Name": name} if name else {})


def _with_body_from_s3(parameters: Json, clients: Clients) -> Json:
    """Replace ``Input`` by the body of its S3 object."""
    source = parameters.get("Input")
    if source is None:
        return parameters
    uri = source.get("S3Uri") if isinstance(source, dict) else None
    if not isinstance(uri, str):
        raise BadParameter("$.Input", "The field 'S3Uri' is required and must be a string")
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    body = send_request(parse("aws-sdk:s3:getObject"), {"Bucket": bucket, "Key": key}, clients)["Body"]
    return {name: value for name, value in parameters.items() if name != "Input"} | {"Body": body}


def _lambda_result(result: Json) -> Json:
    text = result.get("Payload", "")
    payload = parse_if_json(text)
    if "FunctionError" in result:
        error = payload.get("errorType") if isinstance(payload, dict) else None
        raise StatesError(error or "Lambda.Unknown", text)
    return result | {"Payload": payload} if text else result
