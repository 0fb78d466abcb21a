"""Parser of service Task resources into API operations."""

from dataclasses import dataclass
from functools import cache

from unum_runtime.features.services.integrations import OPTIMIZED, OTHER_OPERATIONS, OTHER_SERVICES, Integration
from unum_runtime.features.services.spelling import botocore_name, capitalize

_SDK = "aws-sdk:"


@dataclass(frozen=True, slots=True)
class Resource:
    """API operation of a service Task.

    Attributes:
        name: resource without pattern suffix and version.
        service: botocore's service name, without hyphens if `integration` is None; empty for HTTP.
        operation: name of the operation in the service model.
        integration: optimized integration; None for ``aws-sdk:``.
        parses: True for ``.sync:2``, which parses JSON texts in its result.
    """

    name: str
    service: str
    operation: str
    integration: Integration | None
    parses: bool = False


@cache
def parse(name: str) -> Resource:
    """Parse a resource, such as ``sqs:sendMessage`` or ``aws-sdk:s3:getObject``.

    A version at the end distinguishes ``.sync:2`` from ``.sync``: ``states:startExecution:2``.

    Raises:
        KeyError: unknown optimized integration.
    """
    if name.startswith(_SDK):
        service, _, action = name.removeprefix(_SDK).partition(":")
        return Resource(name, botocore_name(service), capitalize(action), None)
    plain = name.removesuffix(":2")
    service, _, action = plain.partition(":")
    integration = OPTIMIZED[service]
    if action not in integration.actions:
        raise KeyError(name)
    api = OTHER_SERVICES.get(plain, integration.service)
    operation = OTHER_OPERATIONS.get(plain, capitalize(action))
    return Resource(plain, api, operation, integration, parses=plain != name)
