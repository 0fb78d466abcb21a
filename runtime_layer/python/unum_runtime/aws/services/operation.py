"""What a service Task's resource names: an operation of a service's API."""

from dataclasses import dataclass
from functools import cache

from unum_runtime.aws.services.integrations import ELSEWHERE, OPTIMIZED, Integration
from unum_runtime.aws.services.spelling import botocore_name, capitalized

_SDK = "aws-sdk:"


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of call.

    Attributes:
        name: the resource without the suffix that tells the pattern, and without a version.
        service: botocore's name of the service, without hyphens where `integration` is None; empty for HTTP.
        operation: name of the operation in the service's model.
        integration: the optimized integration that it is part of; None for ``aws-sdk:``.
        parses: of ``.sync:2``: the JSON texts in its result are parsed.
    """

    name: str
    service: str
    operation: str
    integration: Integration | None
    parses: bool = False


@cache
def parse(name: str) -> Resource:
    """The call that `name`, such as ``sqs:sendMessage`` or ``aws-sdk:s3:getObject``, stands for.

    ``.sync:2`` is told from ``.sync`` by a version at the end: ``states:startExecution:2``.

    Raises:
        KeyError: there is no such optimized integration.
    """
    if name.startswith(_SDK):
        service, _, action = name.removeprefix(_SDK).partition(":")
        return Resource(name, botocore_name(service), capitalized(action), None)
    plain = name.removesuffix(":2")
    service, _, action = plain.partition(":")
    integration = OPTIMIZED[service]
    if action not in integration.actions:
        raise KeyError(name)
    api = ELSEWHERE.get(plain, integration.service)
    return Resource(plain, api, capitalized(action), integration, parses=plain != name)
