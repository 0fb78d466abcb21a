"""One API request in Step Functions' spelling of parameters and result."""

import hashlib
from typing import Any

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.errors import StatesError
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.integrations import WITHOUT_ENVELOPE
from unum_runtime.features.services.operation import Resource
from unum_runtime.features.services.shapes import to_request, to_result
from unum_runtime.features.services.spelling import exception_name, fold_name, pascal, service_prefix
from unum_runtime.model.states import Json

_MISSING_OBJECT = ("S3", "404")
"""Response to ``HeadObject`` without a body, hence without an error name for botocore."""

TOKENS = frozenset(("clienttoken", "clientrequesttoken", "idempotencytoken"))
"""Normalized names of idempotency tokens in AWS APIs."""


def failure(resource: Resource, service_id: str, error: ClientError | BotoCoreError) -> StatesError:
    """Return the state's error for `error` of a call of `resource`.

    ``DynamoDB.ConditionalCheckFailedException`` of the optimized integration is
    ``DynamoDb.ConditionalCheckFailedException`` with ``aws-sdk:``. Errors absent from the service model have the
    service's name: ``DynamoDB.AmazonDynamoDBException``, ``DynamoDb.DynamoDbException``.
    """
    prefix = resource.integration.prefix if resource.integration else service_prefix(service_id)
    if isinstance(error, BotoCoreError):  # no response at all, for example a timeout or a connection error
        return StatesError(f"{prefix}.SdkClientException", str(error))
    integration = resource.integration
    name = _modelled_name(error, service_id, is_sdk=integration is None)
    if integration is None:
        return StatesError(f"{prefix}.{name or f'{prefix}Exception'}", _sdk_cause(error, prefix))
    return StatesError(f"{prefix}.{name or integration.unmodelled_error}", _cause(error, integration.client))


def _modelled_name(error: ClientError, service_id: str, *, is_sdk: bool) -> str | None:
    """Return the model's name for `error`: botocore creates one class for each."""
    if type(error) is ClientError:
        is_missing = (service_id, error.response["Error"].get("Code")) == _MISSING_OBJECT
        return "NoSuchKeyException" if is_missing else None
    name = exception_name(type(error).__name__)
    return pascal(name) if is_sdk else name


def _sdk_cause(error: ClientError, service: str) -> str:
    """Return the error text of the AWS SDK for Java 2.x."""
    text, status, request_id, host = _response_details(error)
    extended = f", Extended Request ID: {host}" if host else ""
    return f"{text} (Service: {service}, Status Code: {status}, Request ID: {request_id}{extended})"


def _cause(error: ClientError, service: str) -> str:
    """Return the error text of the AWS SDK for Java 1.x."""
    text, status, request_id, _host = _response_details(error)
    code = f"Error Code: {error.response['Error'].get('Code')}"
    return f"{text} (Service: {service}; Status Code: {status}; {code}; Request ID: {request_id}; Proxy: null)"


def _response_details(error: ClientError) -> tuple[Any, Any, Any, Any]:
    """Return error text, HTTP status, request ID and, for S3, the extended request ID."""
    metadata = error.response.get("ResponseMetadata", {})
    text = error.response["Error"].get("Message") or "null"
    return text, metadata.get("HTTPStatusCode"), metadata.get("RequestId"), metadata.get("HostId")


def send_request(resource: Resource, parameters: Json, clients: Clients, token: str | None = None) -> Json:
    """Send one API request and return its response, with names and types as in Step Functions.

    Args:
        resource: operation of the request.
        parameters: JSON object, in any spelling.
        clients: clients of AWS services.
        token: idempotency token; see `call`.

    Raises:
        StatesError: the request failed.
    """
    client = clients.client(resource.service)
    model = client.meta.service_model.operation_model(resource.operation)
    arguments = to_request(parameters, model.input_shape) if model.input_shape else {}
    try:
        response = getattr(client, xform_name(resource.operation))(**_with_token(arguments, model.input_shape, token))
        return _to_json(resource, response, model.output_shape)
    except (ClientError, BotoCoreError) as error:
        raise failure(resource, client.meta.service_model.service_id, error) from error


def _with_token(arguments: dict[str, Any], shape: Any, token: str | None) -> dict[str, Any]:
    if token is None or shape is None:
        return arguments
    # Without a token, a redelivered event would repeat the effect of its first delivery.
    names = (name for name in shape.members if fold_name(name) in TOKENS and name not in arguments)
    return arguments | {name: _fit_token(token, shape.members[name].metadata) for name in names}


def _fit_token(token: str, limits: dict[str, int]) -> str:
    """Return `token`, or its digest if the API requires another length."""
    if limits.get("min", 0) <= len(token) <= limits.get("max", 64):
        return token
    return hashlib.sha256(token.encode()).hexdigest()[: limits.get("max", 64)]


def _to_json(resource: Resource, response: dict[str, Any], shape: Any) -> Json:
    optimized = resource.integration is not None
    result = to_result(response, shape, optimized=optimized) if shape else {}
    # Recorded: optimized integrations pass on the HTTP metadata of the SDK for Java, SDK integrations do not.
    if optimized and resource.name not in WITHOUT_ENVELOPE:
        result |= _envelope(response.get("ResponseMetadata", {}))
    return result


def _envelope(metadata: dict[str, Any]) -> dict[str, Json]:
    """Return the HTTP metadata in results of optimized integrations."""
    headers = metadata.get("HTTPHeaders", {})
    return {
        "SdkHttpMetadata": {
            "AllHttpHeaders": {name: [value] for name, value in headers.items()},
            "HttpHeaders": dict(headers),
            "HttpStatusCode": metadata.get("HTTPStatusCode"),
        },
        "SdkResponseMetadata": {"RequestId": metadata.get("RequestId")},
    }
