"""One request to a service's API, in Step Functions' spelling on both sides."""

import hashlib
from typing import Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.error_names import failure
from unum_runtime.aws.services.integrations import WITHOUT_ENVELOPE
from unum_runtime.aws.services.operation import Resource
from unum_runtime.aws.services.shapes import to_request, to_result
from unum_runtime.aws.services.spelling import folded
from unum_runtime.model.ir import Json

TOKENS = frozenset(("clienttoken", "clientrequesttoken", "idempotencytoken"))
"""Fields, folded, by which APIs know a request again."""


def request(resource: Resource, parameters: Json, clients: Clients, token: str | None = None) -> Json:
    """The response to one request, with names and types as Step Functions has them.

    Args:
        resource: what to call.
        parameters: a JSON object, in any spelling.
        clients: clients of the services.
        token: what makes the request idempotent; see `call`.

    Raises:
        StatesError: the request failed.
    """
    client = clients.client(resource.service)
    model = client.meta.service_model.operation_model(resource.operation)
    arguments = to_request(parameters, model.input_shape) if model.input_shape else {}
    try:
        response = getattr(client, xform_name(resource.operation))(**_with_token(arguments, model.input_shape, token))
        return _shaped(resource, response, model.output_shape)
    except (ClientError, BotoCoreError) as error:
        raise failure(resource, client.meta.service_model.service_id, error) from error


def _with_token(arguments: dict[str, Any], shape: Any, token: str | None) -> dict[str, Any]:
    if token is None or shape is None:
        return arguments
    names = (name for name in shape.members if folded(name) in TOKENS and name not in arguments)
    return arguments | {name: _sized(token, shape.members[name].metadata) for name in names}


def _sized(token: str, limits: dict[str, int]) -> str:
    """`token`, or its digest where the API wants another length."""
    if limits.get("min", 0) <= len(token) <= limits.get("max", 64):
        return token
    return hashlib.sha256(token.encode()).hexdigest()[: limits.get("max", 64)]


def _shaped(resource: Resource, response: dict[str, Any], shape: Any) -> Json:
    optimized = resource.integration is not None
    result = to_result(response, shape, optimized=optimized) if shape else {}
    if optimized and resource.name not in WITHOUT_ENVELOPE:
        result |= _envelope(response.get("ResponseMetadata", {}))
    return result


def _envelope(metadata: dict[str, Any]) -> dict[str, Json]:
    """What optimized integrations tell of the HTTP response."""
    headers = metadata.get("HTTPHeaders", {})
    return {
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [value] for name, value in headers.items()},
            "HttpHeaders": dict(headers),
            "HttpStatusCode": metadata.get("HTTPStatusCode"),
        },
        "SdkResponseMetadata": {"RequestId": metadata.get("RequestId")},
    }
