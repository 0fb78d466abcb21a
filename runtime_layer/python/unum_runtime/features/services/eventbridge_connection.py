"""Additions of an EventBridge connection to a request: credentials, and stored parameters.

Secrets Manager holds the connection's secret. Source: EventBridge User Guide, "Connections for HTTP endpoint targets",
and Developer Guide, "Call HTTPS APIs in Step Functions workflows", for the required permissions.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from unum_runtime.features.services.api_request import send_request
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.operation import parse
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json


@dataclass(frozen=True, slots=True)
class Authorization:
    """Additions to a request.

    Attributes:
        headers: headers by name.
        query: query parameters, in order.
        body: fields for a body that is an object.
        secret: secret of a connection with OAuth, whose token an endpoint may refuse; None for others.
    """

    headers: Mapping[str, str]
    query: tuple[tuple[str, str], ...]
    body: Mapping[str, str]
    secret: str | None = None


def authorize(arn: str | None, clients: Clients) -> Authorization:
    """Return the additions of the connection with ARN `arn`.

    Raises:
        StatesError: the connection does not exist, or gets no token.
    """
    if not arn:
        raise BadParameter("$", "The field 'InvocationConfig.ConnectionArn' is required but was missing")
    name = arn.rpartition("connection/")[2].partition("/")[0]  # arn:aws:events:REGION:ACCOUNT:connection/NAME/ID
    connection = send_request(parse("aws-sdk:eventbridge:describeConnection"), {"Name": name}, clients)
    # DescribeConnection shows no passwords and keys, only the ARN of their secret.
    stored = send_request(
        parse("aws-sdk:secretsmanager:getSecretValue"), {"SecretId": connection["SecretArn"]}, clients
    )
    secret = parse_foreign(stored["SecretString"])
    more = secret.get("invocation_http_parameters") or {}
    uses_oauth = connection["AuthorizationType"] == "OAUTH_CLIENT_CREDENTIALS"
    if uses_oauth:
        from unum_runtime.features.services.oauth import authorization_header  # noqa: PLC0415 - few connections have tokens

        credentials = {"Authorization": authorization_header(stored["SecretString"], clients)}
    else:
        credentials = _credentials(connection["AuthorizationType"], secret)
    headers = credentials | dict(_entries(more.get("header_parameters")))
    return Authorization(
        headers=headers,
        query=tuple(_entries(more.get("query_string_parameters"))),
        body=dict(_entries(more.get("body_parameters"))),
        secret=stored["SecretString"] if uses_oauth else None,
    )


def _credentials(kind: str, secret: Mapping[str, str]) -> dict[str, str]:
    match kind:
        case "BASIC":
            pair = f"{secret['username']}:{secret['password']}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        case "API_KEY":
            return {secret["api_key_name"]: secret["api_key_value"]}
        case _:
            message = f"a connection with {kind} is not supported; use BASIC, API_KEY or OAUTH_CLIENT_CREDENTIALS"
            raise BadParameter("$.InvocationConfig", message)


def _entries(parameters: Iterable[Mapping[str, Json]] | None) -> Iterable[tuple[str, str]]:
    return ((str(entry["key"]), str(entry["value"])) for entry in parameters or ())
