"""HTTP calls: ``apigateway:invoke`` and ``http:invoke``.

Source: Developer Guide, "Create API Gateway REST APIs with Step Functions" and "Call HTTPS APIs in Step Functions
workflows".
"""

from collections.abc import Iterator, Mapping
from http.client import responses
from urllib.parse import quote, urlencode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError

from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.features.services.adjust import parse_if_json
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.eventbridge_connection import Authorization, authorize
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.model.states import Json

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_SUCCESS = range(200, 300)
_STATUS = "States.Http.StatusCode"
_UNAUTHORIZED = 401


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
    from unum_runtime.features.services.eventbridge_connection import forget  # noqa: PLC0415 - see `authorize`

    # The server may have revoked the token before its time; EventBridge asks for another one as well.
    forget(authorization.secret)
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
