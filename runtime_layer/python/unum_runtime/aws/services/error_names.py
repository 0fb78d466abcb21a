"""Errors of services under the names, and with the causes, that Step Functions gives them."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from unum_runtime.aws.services.operation import Resource
from unum_runtime.aws.services.spelling import exception_name, pascal, service_prefix
from unum_runtime.errors import StatesError

_MISSING_OBJECT = ("S3", "404")


def failure(resource: Resource, service_id: str, error: ClientError | BotoCoreError) -> StatesError:
    """`error`, which a call of `resource` raised, as the state's.

    ``DynamoDB.ConditionalCheckFailedException`` of the optimized integration is
    ``DynamoDb.ConditionalCheckFailedException`` of ``aws-sdk:``. What the service's model does not name has the name
    of the service: ``DynamoDB.AmazonDynamoDBException``, ``DynamoDb.DynamoDbException``.
    """
    prefix = resource.integration.prefix if resource.integration else service_prefix(service_id)
    if isinstance(error, BotoCoreError):
        return StatesError(f"{prefix}.SdkClientException", str(error))
    name = _modelled(error, service_id, is_sdk=resource.integration is None)
    if resource.integration is None:
        return StatesError(f"{prefix}.{name or f'{prefix}Exception'}", _sdk_cause(error, prefix))
    return StatesError(
        f"{prefix}.{name or resource.integration.unmodelled}", _cause(error, resource.integration.client)
    )


def _modelled(error: ClientError, service_id: str, *, is_sdk: bool) -> str | None:
    """The name that the service's model has for `error`: botocore makes a class of it."""
    if type(error) is ClientError:
        is_missing = (service_id, error.response["Error"].get("Code")) == _MISSING_OBJECT
        return "NoSuchKeyException" if is_missing else None
    name = exception_name(type(error).__name__)
    return pascal(name) if is_sdk else name


def _sdk_cause(error: ClientError, service: str) -> str:
    """As the AWS SDK for Java 2.x says it."""
    metadata = error.response.get("ResponseMetadata", {})
    details = [
        f"Service: {service}",
        f"Status Code: {metadata.get('HTTPStatusCode')}",
        f"Request ID: {metadata.get('RequestId')}",
    ]
    if metadata.get("HostId"):
        details.append(f"Extended Request ID: {metadata['HostId']}")
    return f"{_message(error)} ({', '.join(details)})"


def _cause(error: ClientError, service: str) -> str:
    """As the AWS SDK for Java 1.x says it."""
    metadata = error.response.get("ResponseMetadata", {})
    details = (
        f"Service: {service}",
        f"Status Code: {metadata.get('HTTPStatusCode')}",
        f"Error Code: {error.response['Error'].get('Code')}",
        f"Request ID: {metadata.get('RequestId')}",
        "Proxy: null",
    )
    return f"{_message(error)} ({'; '.join(details)})"


def _message(error: ClientError) -> Any:
    return error.response["Error"].get("Message") or "null"
