"""Service errors with Step Functions' names and causes."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.errors import StatesError
from unum_runtime.features.services.operation import Resource
from unum_runtime.features.services.spelling import exception_name, pascal, service_prefix

_MISSING_OBJECT = ("S3", "404")
"""Response to ``HeadObject`` without a body, hence without an error name for botocore."""


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
