"""One call of a service, with a JSON object as parameters and a JSON value as result."""

from unum_runtime.aws.services import nested_executions
from unum_runtime.aws.services.adjust import adjusted, done_before, finished
from unum_runtime.aws.services.api_request import request
from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.http import invoke_api, invoke_endpoint
from unum_runtime.aws.services.operation import parse
from unum_runtime.aws.services.shapes import BadParameter
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json


def call(resource: str, parameters: Json, *, clients: Clients, token: str | None = None) -> Json:
    """What the service answers.

    Args:
        resource: such as ``dynamodb:putItem`` or ``aws-sdk:s3:getObject``.
        parameters: a JSON object.
        clients: clients of the services.
        token: the same for all calls that shall have one effect, at most 64 characters; used where the API has a place
            for it and the parameters leave it empty.

    Raises:
        StatesError: the call failed; named as Step Functions names it.
    """
    given = {} if parameters is None else parameters
    if not isinstance(given, dict):
        raise BadParameter("$", "expected an object")
    match resource:
        case "apigateway:invoke":
            return invoke_api(given, clients)
        case "http:invoke":
            return invoke_endpoint(given, clients)
    called = parse(resource)
    asked = adjusted(called, given, clients, token)
    if alias := nested_executions.start_alias(called, asked):
        return nested_executions.start(alias, asked, clients)
    try:
        response = request(called, asked, clients, token)
    except StatesError as failed:
        response = done_before(called, asked, token, failed)
    return finished(called, response)
