"""HTTP calls, ``apigateway:invoke`` and ``http:invoke``, and what an EventBridge connection adds to them.

Secrets Manager holds the connection's secret: the token endpoint, the credentials of the client, and parameters of the
request. AWS documents neither its form nor that of the request. Each sandbox keeps its tokens.

Source: Developer Guide, "Create API Gateway REST APIs with Step Functions" and "Call HTTPS APIs in Step Functions
workflows"; EventBridge User Guide, "Connections for HTTP endpoint targets"; RFC 6749, sections 2.3.1, 4.4 and 5.1, and
the fields of EventBridge's `CreateConnection`.
"""

import base64
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import responses
from typing import Any
from urllib.parse import quote, urlencode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError

from unum_runtime.asl.serialize import dumps
from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.errors import StatesError
from unum_runtime.features.services.adjust import parse_if_json
from unum_runtime.features.services.api_request import send_request
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.operation import parse
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

MARGIN_S = 60
"""Time before its expiry from which a token is not used any more, in seconds."""

DEFAULT_LIFETIME_S = 300
"""Lifetime of a token whose server does not say it, in seconds."""

_UNUSABLE = "Events.ConnectionResource.InvalidConnectionState"
_REQUIRED = ("authorization_endpoint", "client_id", "client_secret")

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_SUCCESS = range(200, 300)
_STATUS = "States.Http.StatusCode"
_UNAUTHORIZED = 401


class _Token(NamedTuple):
    """Value of the header ``Authorization``, and the last second of its use, on the monotonic clock."""

    header: str
    until_s: float


_tokens: dict[str, _Token] = {}


def authorization_header(secret: str, clients: Clients) -> str:
    """Return the value of the header ``Authorization`` for a connection.

    Args:
        secret: secret of the connection, JSON text; a changed secret gets a new token.
        clients: sender of HTTP requests.

    Raises:
        StatesError: ``Events.ConnectionResource.InvalidConnectionState``: the server gives no token.
    """
    kept = _tokens.get(secret)
    if kept is None or kept.until_s <= time.monotonic():
        kept = _tokens[secret] = _request_token(parse_foreign(secret), clients)
    return kept.header


def forget_token(secret: str) -> None:
    """Forget the token of a connection, which an endpoint refused."""
    _tokens.pop(secret, None)


def _request_token(secret: Mapping[str, Any], clients: Clients) -> _Token:
    begun_s = time.monotonic()
    try:
        response = clients.send(_token_request(secret).prepare())
    except BotoCoreError as error:
        raise StatesError(_UNUSABLE, f"no answer to the request for a token: {error}") from error
    if response.status_code not in _SUCCESS:
        # The answer may repeat the client's secret, so the cause has its status alone.
        raise StatesError(_UNUSABLE, f"the request for a token was answered with status {response.status_code}")
    try:
        answer = parse_foreign(response.text)
        token, kind = str(answer["access_token"]), str(answer.get("token_type") or "Bearer")
        lifetime_s = float(answer.get("expires_in") or DEFAULT_LIFETIME_S)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise StatesError(_UNUSABLE, "the answer to the request for a token has no access_token") from None
    return _Token(f"{'Bearer' if kind.lower() == 'bearer' else kind} {token}", begun_s + lifetime_s - MARGIN_S)


def _token_request(secret: Mapping[str, Any]) -> AWSRequest:
    for name in _REQUIRED:
        if name not in secret:
            raise StatesError(_UNUSABLE, f"the secret of the connection has no {name}")
    more = secret.get("oauth_http_parameters") or {}
    credentials = {"client_id": str(secret["client_id"]), "client_secret": str(secret["client_secret"])}
    body = {"grant_type": "client_credentials", **credentials, **dict(_token_entries(more.get("body_parameters")))}
    query = dict(_token_entries(more.get("query_string_parameters")))
    headers = {"Accept": "application/json", **dict(_token_entries(more.get("header_parameters")))}
    method, url = str(secret.get("http_method") or "POST"), str(secret["authorization_endpoint"])
    if method == "GET":  # without a body
        query, body = {**body, **query}, {}
    target = f"{url}{'&' if '?' in url else '?'}{urlencode(query)}" if query else url
    if not body:
        return AWSRequest(method=method, url=target, headers=headers)
    headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return AWSRequest(method=method, url=target, headers=headers, data=urlencode(body).encode())


def _token_entries(parameters: Iterable[Mapping[str, Json]] | None) -> Iterable[tuple[str, str]]:
    return ((str(entry["key"]), str(entry["value"])) for entry in parameters or ())


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


def invoke_api(parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Call an API of API Gateway.

    Raises:
        StatesError: ``ApiGateway.<status>`` for a response without success.
    """
    parts = (
        _require_text(parameters, "ApiEndpoint"),
        parameters.get("Stage"),
        quote(parameters.get("Path") or "", safe="/@%:+$~*"),
    )
    url = "https://" + "/".join(str(part).strip("/") for part in parts if part)
    headers = {name: _header_value(value) for name, value in (parameters.get("Headers") or {}).items()}
    query = list(_query_pairs(parameters.get("QueryParameters") or {}))
    request = _request(_require_text(parameters, "Method"), url, query, headers, parameters.get("RequestBody"))
    if parameters.get("AuthType", "NO_AUTH") != "NO_AUTH":
        # ``IAM_ROLE`` or ``RESOURCE_POLICY``: API Gateway checks the function's role in both cases.
        SigV4Auth(clients.credentials, "execute-api", clients.region).add_auth(request)
    return _send(request, clients, unreachable="ApiGateway.SdkClientException", refused="ApiGateway")


def invoke_endpoint(parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Call an HTTPS endpoint with the credentials of an EventBridge connection.

    Raises:
        StatesError: ``States.Http.StatusCode.<status>`` for a response without success; ``States.Http.Socket`` without
            a response.
    """
    connection = parameters.get("InvocationConfig") or parameters.get("Authentication") or {}
    authorization = authorize(connection.get("ConnectionArn"), clients)
    try:
        return _invoke_authorized(parameters, authorization, clients)
    except StatesError as error:
        if authorization.secret is None or error.error != f"{_STATUS}.{_UNAUTHORIZED}":
            raise
    # The server may have revoked the token before its time; EventBridge asks for another one as well.
    forget_token(authorization.secret)
    return _invoke_authorized(parameters, authorize(connection.get("ConnectionArn"), clients), clients)


def _invoke_authorized(parameters: Mapping[str, Json], authorization: Authorization, clients: Clients) -> Json:
    url = _require_text(parameters, "ApiEndpoint")
    if not url.startswith("https://"):
        raise BadParameter("$.ApiEndpoint", f"expected a URL that begins with https://, got {url!r}")
    headers = {name: _header_value(value) for name, value in (parameters.get("Headers") or {}).items()}
    # The connection's values come last and win: workflow data must not replace credentials.
    query = [*_query_pairs(parameters.get("QueryParameters") or {}), *authorization.query]
    body = _encode_body(parameters.get("RequestBody"), parameters.get("Transform") or {}, headers)
    if isinstance(body, dict):
        body = {**body, **authorization.body}
    request = _request(_require_text(parameters, "Method"), url, query, {**headers, **authorization.headers}, body)
    return _send(request, clients, unreachable="States.Http.Socket", refused=_STATUS)


def _require_text(parameters: Mapping[str, Json], name: str) -> str:
    if not isinstance(parameters.get(name), str):
        raise BadParameter("$", f"The field {name!r} is required and must be a string")
    return str(parameters[name])


def _request(method: str, url: str, query: list[tuple[str, str]], headers: Mapping[str, str], body: Json) -> AWSRequest:
    joint = "&" if "?" in url else "?"
    target = f"{url}{joint}{urlencode(query)}" if query else url
    if body is None:
        return AWSRequest(method=method, url=target, headers=dict(headers))
    # Step Functions sends JSON unless the definition sets another type.
    typed = {} if _content_type(headers) else {"Content-Type": _JSON}
    data = body if isinstance(body, str) and _content_type(headers) == _FORM else dumps(body)
    return AWSRequest(method=method, url=target, headers={**headers, **typed}, data=data.encode())


def _send(request: AWSRequest, clients: Clients, *, unreachable: str, refused: str) -> Json:
    try:
        response = clients.send(request.prepare())
    except BotoCoreError as error:
        raise StatesError(unreachable, str(error)) from error
    if response.status_code not in _SUCCESS:
        raise StatesError(f"{refused}.{response.status_code}", response.text)
    return {
        "Headers": {name: [value] for name, value in response.headers.items()},
        "ResponseBody": parse_if_json(response.text),
        "StatusCode": response.status_code,
        "StatusText": responses.get(response.status_code, ""),
    }


def _content_type(headers: Mapping[str, str]) -> str | None:
    """Return the content type without parameters, such as the charset."""
    values = (value for name, value in headers.items() if name.lower() == "content-type")
    return next((value.partition(";")[0].strip() for value in values), None)


def _header_value(value: Json) -> str:
    return ",".join(map(_to_text, value)) if isinstance(value, list) else _to_text(value)


def _to_text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)


def _query_pairs(table: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        for item in value if isinstance(value, list) else [value]:
            yield name, "" if item is None else _to_text(item)


def _encode_body(body: Json, transform: Mapping[str, Json], headers: Mapping[str, str]) -> Json:
    """Encode `body` as ``Transform`` requires: as a form, if encoding and content type agree."""
    if transform.get("RequestBodyEncoding") != "URL_ENCODED" or not isinstance(body, dict):
        return body
    if _content_type(headers) != _FORM:
        message = f"URL_ENCODED needs the header Content-Type {_FORM!r}, got {_content_type(headers)!r}"
        raise BadParameter("$.Transform", message)
    style = (transform.get("RequestEncodingOptions") or {}).get("ArrayFormat", "INDICES")
    return urlencode([pair for name, value in body.items() for pair in _form_pairs(name, value, style)])


def _form_pairs(name: str, value: Json, style: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for key, item in value.items():
                yield from _form_pairs(f"{name}[{key}]", item, style)
        case list() if style == "COMMAS":
            yield name, ",".join(map(_to_text, value))
        case list() if style != "NONE":
            for index, item in enumerate(value):
                yield from _form_pairs(_element_name(name, index, style), item, style)
        case _:
            yield name, "" if value is None else _to_text(value)


def _element_name(name: str, index: int, style: str) -> str:
    return {"REPEAT": name, "BRACKETS": f"{name}[]"}.get(style, f"{name}[{index}]")
