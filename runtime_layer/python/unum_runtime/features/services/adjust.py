"""Changes to parameters and results of single integrations, beyond the service model.

``elasticmapreduce`` has one cluster or step, by name, where the API of EMR has lists and ids.

Source: Developer Guide, "Create and manage Amazon EMR clusters with Step Functions".
"""

from collections.abc import Mapping
from dataclasses import replace

from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.features.services.api_request import send_request
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.operation import Resource, parse
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.features.services.spelling import fold_name
from unum_runtime.json_text import InvalidJson, InvalidSyntax, JSONDecodeError, parse_foreign
from unum_runtime.model.states import Json

_EMR = "elasticmapreduce:"

_LISTED: Mapping[str, Mapping[str, str]] = {
    "addStep": {"Step": "Steps"},
    "cancelStep": {"StepId": "StepIds"},
    "setClusterTerminationProtection": {"ClusterId": "JobFlowIds"},
    "terminateCluster": {"ClusterId": "JobFlowIds"},
}
"""Fields with one value, and the lists of the API that take it, by action."""

_RETURNED: Mapping[str, tuple[str, str]] = {
    "addStep": ("StepIds", "StepId"),
    "cancelStep": ("CancelStepsInfoList", "CancelStepsInfo"),
}
"""List in the response, and the result's field for its only item, by action."""


def emr_request(resource: Resource, parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Return the parameters of the API request for `resource`.

    Raises:
        StatesError: a required name is missing, or unknown to the cluster.
    """
    action = resource.name.removeprefix(_EMR)
    named = {fold_name(name): (name, value) for name, value in parameters.items()}
    match action:
        case "modifyInstanceFleetByName":
            fleet = _with_id(resource, named, "InstanceFleet", clients)
            return {"ClusterId": _required(named, "ClusterId"), "InstanceFleet": fleet}
        case "modifyInstanceGroupByName":
            group = _with_id(resource, named, "InstanceGroup", clients)
            return {"ClusterId": _required(named, "ClusterId"), "InstanceGroups": [group]}
    lists = _LISTED.get(action, {})
    request = {to: [_required(named, one)] for one, to in lists.items()}
    rest = {name: value for name, value in parameters.items() if fold_name(name) not in map(fold_name, lists)}
    if action == "addStep":
        rest = {"JobFlowId" if fold_name(name) == "clusterid" else name: value for name, value in rest.items()}
    return {**rest, **request}


def emr_result(resource: Resource, response: Mapping[str, Json]) -> Json:
    """Return the Task result for the API's response."""
    action = resource.name.removeprefix(_EMR)
    if action == "createCluster":
        return {"ClusterId" if name == "JobFlowId" else name: value for name, value in response.items()}
    if action not in _RETURNED:
        return response
    listed, one = _RETURNED[action]
    rest = {name: value for name, value in response.items() if name != listed}
    return rest | {one: next(iter(response.get(listed) or ()), None)}


def _with_id(resource: Resource, named: Mapping[str, tuple[str, Json]], kind: str, clients: Clients) -> Json:
    """Return the changes of an instance fleet or group, with the id that the cluster knows by its name."""
    cluster, name = _required(named, "ClusterId"), _required(named, f"{kind}Name")
    listing = replace(resource, operation=f"List{kind}s")
    found = send_request(listing, {"ClusterId": cluster}, clients)[f"{kind}s"]
    ids = [each["Id"] for each in found if each.get("Name") == name]
    if not ids:
        raise BadParameter("$", f"the cluster {cluster!r} has no {kind} with the name {name!r}")
    return {**_required(named, kind), f"{kind}Id": ids[0]}


def _required(named: Mapping[str, tuple[str, Json]], name: str) -> Json:
    if fold_name(name) not in named:
        raise BadParameter("$", f"The field {name!r} is required but was missing")
    return named[fold_name(name)][1]


def adjust_parameters(resource: Resource, parameters: Json, clients: Clients, token: str | None) -> Json:
    """Return the parameters of the API request for `resource`; arguments as for `call`."""
    match resource.name:
        case "states:startExecution":
            return _with_name_and_input(parameters, token)
        case "lambda:invoke" if "Payload" in parameters:
            return parameters | {"Payload": dumps(parameters["Payload"])}
        case "bedrock:invokeModel":
            return _model_request(parameters, clients)
        case name if name.startswith(_EMR):
            return emr_request(resource, parameters, clients)
        case _:
            return parameters


def adjust_result(resource: Resource, parameters: Json, result: Json, clients: Clients) -> Json:
    """Return the Task result for a service's response.

    Args:
        resource: operation of the request.
        parameters: parameters of the Task.
        result: response of the service.
        clients: clients of AWS services.

    Raises:
        StatesError: the response reports a failure.
    """
    match resource.name:
        case "lambda:invoke":
            return _lambda_result(result)
        case "events:putEvents" if result.get("FailedEntryCount"):
            raise StatesError("EventBridge.FailedEntry", dumps(result))  # PutEvents answers 200 all the same
        case "bedrock:invokeModel":
            return result | {"Body": _body(parameters, result, clients)}
        case name if name.startswith(_EMR):
            return emr_result(resource, result)
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
    """Return the JSON value in `text`, or else the text.

    Raises:
        StatesError: ``States.Runtime`` for JSON that no later state could read, such as a number beyond every double.
    """
    try:
        return parse_foreign(text)
    except (JSONDecodeError, InvalidSyntax):
        return text
    except InvalidJson as error:
        raise StatesError("States.Runtime", f"the service's answer is not valid JSON: {error}") from error


def _with_name_and_input(parameters: Json, token: str | None) -> Json:
    """Add required input, and a name: Step Functions starts a named execution only once."""
    rest = {key: value for key, value in parameters.items() if fold_name(key) not in ("input", "name")}
    value, name = field(parameters, "Input"), field(parameters, "Name") or token
    text = value if isinstance(value, str) else dumps({} if value is None else value)
    return rest | {"Input": text} | ({"Name": name} if name else {})


def _model_request(parameters: Json, clients: Clients) -> Json:
    """Replace ``Input`` by the body of its S3 object, and leave out ``Output``."""
    if parameters.get("Output") is not None:
        _object(parameters, "Output")  # refused before the model costs anything
    parameters = _without(parameters, "Output")
    if parameters.get("Input") is None:
        return parameters
    body = send_request(parse("aws-sdk:s3:getObject"), _object(parameters, "Input"), clients)["Body"]
    return _without(parameters, "Input") | {"Body": body}


def _body(parameters: Json, result: Json, clients: Clients) -> Json:
    """Return the model's answer, or the URI of the S3 object in ``Output`` after writing the answer there.

    Developer Guide, "Invoke and customize Amazon Bedrock models": the body is replaced with a reference to the
    location. The form of that reference is not documented.
    """
    body = result.get("Body", "")
    if parameters.get("Output") is None:
        return parse_if_json(body)
    place = _object(parameters, "Output")
    typed = {"ContentType": result["ContentType"]} if "ContentType" in result else {}
    send_request(parse("aws-sdk:s3:putObject"), {**place, **typed, "Body": body}, clients)
    return f"s3://{place['Bucket']}/{place['Key']}"


def _object(parameters: Json, field: str) -> dict[str, str]:
    """Return bucket and key of the ``S3Uri`` in a field of the parameters."""
    place = parameters[field]
    uri = place.get("S3Uri") if isinstance(place, dict) else None
    bucket, _, key = uri.removeprefix("s3://").partition("/") if isinstance(uri, str) else ("", "", "")
    if not bucket or not key:
        raise BadParameter(f"$.{field}", "The field 'S3Uri' is required and must be the URI of an S3 object")
    return {"Bucket": bucket, "Key": key}


def _without(parameters: Mapping[str, Json], name: str) -> dict[str, Json]:
    return {key: value for key, value in parameters.items() if key != name}


def _lambda_result(result: Json) -> Json:
    text = result.get("Payload", "")
    payload = parse_if_json(text)
    if "FunctionError" in result:
        error = payload.get("errorType") if isinstance(payload, dict) else None
        raise StatesError(error or "Lambda.Unknown", text)
    return result | {"Payload": payload} if text else result
