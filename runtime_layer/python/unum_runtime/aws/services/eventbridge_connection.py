"""What an EventBridge connection adds to a request: credentials, and parameters that it keeps.

The connection's secret is in Secrets Manager. Source: EventBridge User Guide, "Connections for HTTP endpoint targets",
and Developer Guide, "Call HTTPS APIs in Step Functions workflows", where the permissions for it are listed.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from unum_runtime.aws.services.api_request import request
from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.operation import parse
from unum_runtime.aws.services.shapes import BadParameter
from unum_runtime.model.ir import Json


@dataclass(frozen=True, slots=True)
class Authorized:
    """What goes into a request.

    Attributes:
        headers: by name.
        query: parameters, in order.
        body: fields of the body, where that is an object.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, str] = field(default_factory=dict)


def authorize(arn: str | None, clients: Clients) -> Authorized:
    """What the connection with ARN `arn` adds.

    Raises:
        StatesError: there is no such connection, or its kind of authorization is not supported.
    """
    if not arn:
        raise BadParameter("$", "The field 'InvocationConfig.ConnectionArn' is required but was missing")
    connection = request(parse("aws-sdk:eventbridge:describeConnection"), {"Name": _name(arn)}, clients)
    stored = request(parse("aws-sdk:secretsmanager:getSecretValue"), {"SecretId": connection["SecretArn"]}, clients)
    secret = json.loads(stored["SecretString"])
    more = secret.get("invocation_http_parameters") or {}
    headers = _credentials(connection["AuthorizationType"], secret) | dict(_entries(more.get("header_parameters")))
    return Authorized(
        headers=headers,
        query=tuple(_entries(more.get("query_string_parameters"))),
        body=dict(_entries(more.get("body_parameters"))),
    )


def _name(arn: str) -> str:
    """The name in ``arn:aws:events:<region>:<account>:connection/<name>/<id>``."""
    return arn.rpartition("connection/")[2].partition("/")[0]


def _credentials(kind: str, secret: Mapping[str, str]) -> dict[str, str]:
    match kind:
        case "BASIC":
            pair = f"{secret['username']}:{secret['password']}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        case "API_KEY":
            return {secret["api_key_name"]: secret["api_key_value"]}
        case _:
            message = f"a connection with {kind} is not supported; use one with BASIC or API_KEY"
            raise BadParameter("$.InvocationConfig", message)


def _entries(parameters: Iterable[Mapping[str, Json]] | None) -> Iterable[tuple[str, str]]:
    return ((str(entry["key"]), str(entry["value"])) for entry in parameters or ())
