"""Service call with a JSON object as parameters and a JSON value as result."""

from unum_runtime.errors import StatesError
from unum_runtime.features.services import nested_executions
from unum_runtime.features.services.adjust import adjust_parameters, adjust_result, recover_response
from unum_runtime.features.services.api_request import send_request
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.http import invoke_api, invoke_endpoint
from unum_runtime.features.services.operation import parse
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.model.states import Json


def call(resource: str, parameters: Json, *, clients: Clients, token: str | None = None) -> Json:
    """Call a service and return its response as the Task result.

    Args:
        resource: resource such as ``dynamodb:putItem`` or ``aws-sdk:s3:getObject``.
        parameters: JSON object.
        clients: clients of AWS services.
        token: idempotency token of at most 64 characters, equal for all calls that shall have one effect; used if the
            API has a field for it and the parameters leave it empty.

    Raises:
        StatesError: the call failed; named as in Step Functions.
    """
    fields = {} if parameters is None else parameters
    if not isinstance(fields, dict):
        raise BadParameter("$", "expected an object")
    match resource:
        case "apigateway:invoke":
            return invoke_api(fields, clients)
        case "http:invoke":
            return invoke_endpoint(fields, clients)
        case "eks:call":
            from unum_runtime.features.kubernetes.kubernetes import call_cluster  # noqa: PLC0415 - few workflows call clusters

            return call_cluster(fields, clients)
        case "eks:runJob":
            from unum_runtime.features.kubernetes.kubernetes_jobs import create_job  # noqa: PLC0415 - likewise

            return create_job(fields, clients, token)
    called = parse(resource)
    adjusted = adjust_parameters(called, fields, clients, token)
    if alias := nested_executions.start_alias(called, adjusted):
        return nested_executions.start(alias, adjusted, clients)
    try:
        response = send_request(called, adjusted, clients, token)
    except StatesError as failed:
        response = recover_response(called, adjusted, token, failed)
    return adjust_result(called, fields, response, clients)
