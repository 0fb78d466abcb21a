"""Calls of HTTP endpoints: ``apigateway:invoke`` and ``http:invoke``.

Source: Developer Guide, "Create API Gateway REST APIs with Step Functions" and "Call HTTPS APIs in Step Functions
workflows".
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError

from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.services.adjust import parsed
from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.eventbridge_connection import Authorized, authorize
from unum_runtime.aws.services.shapes import BadParameter
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json

_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"
_SUCCESS = range(200, 300)


def invoke_api(parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Call an API of API Gateway.

    Raises:
        StatesError: ``ApiGateway.<status>`` where the API does not answer with success.
    """
    parts = (
        _required(parameters, "ApiEndpoint"),
        parameters.get("Stage"),
        quote(parameters.get("Path") or "", safe="/@%:+$~*"),
    )
    url = "https://" + "/".join(str(part).strip("/") for part in parts if part)
    headers = {name: _joined(value) for name, value in (parameters.get("Headers") or {}).items()}
    query = list(_pairs(parameters.get("QueryParameters") or {}))
    request = _request(_required(parameters, "Method"), url, query, headers, parameters.get("RequestBody"))
    if parameters.get("AuthType", "NO_AUTH") != "NO_AUTH":
        SigV4Auth(clients.credentials, "execute-api", clients.region).add_auth(request)
    response = _send(request, clients, "ApiGateway.SdkClientException")
    if response.status_code not in _SUCCESS:
        raise StatesError(f"ApiGateway.{response.status_code}", response.text)
    return _result(response)


def invoke_endpoint(parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Call an HTTPS endpoint with the credentials that an EventBridge connection keeps.

    Raises:
        StatesError: ``States.Http.StatusCode.<status>`` where the endpoint does not answer with success;
            ``States.Http.Socket`` where it does not answer.
    """
    connection = parameters.get("InvocationConfig") or parameters.get("Authentication") or {}
    authorized = authorize(connection.get("ConnectionArn"), clients)
    url = _required(parameters, "ApiEndpoint")
    if not url.startswith("https://"):
        raise BadParameter("$.ApiEndpoint", f"expected a URL that begins with https://, got {url!r}")
    headers = {name: _joined(value) for name, value in (parameters.get("Headers") or {}).items()}
    query = [*_pairs(parameters.get("QueryParameters") or {}), *authorized.query]
    body = _encoded(parameters.get("RequestBody"), parameters.get("Transform") or {}, headers)
    request = _request(
        _required(parameters, "Method"), url, query, {**headers, **authorized.headers}, _with_fields(body, authorized)
    )
    response = _send(request, clients, "States.Http.Socket")
    if response.status_code not in _SUCCESS:
        raise StatesError(f"States.Http.StatusCode.{response.status_code}", response.text)
    return _result(response)


def _required(parameters: Mapping[str, Json], name: str) -> str:
    if not isinstance(parameters.get(name), str):
        raise BadParameter("$", f"The field {name!r} is required, and has to be text")
    return str(parameters[name])


def _request(method: str, url: str, query: list[tuple[str, str]], headers: Mapping[str, str], body: Json) -> AWSRequest:
    joint = "&" if "?" in url else "?"
    target = f"{url}{joint}{urlencode(query)}" if query else url
    if body is None:
        return AWSRequest(method=method, url=target, headers=dict(headers))
    typed = {} if _type(headers) else {"Content-Type": _JSON}
    data = body if isinstance(body, str) and _type(headers) == _FORM else dumps(body)
    return AWSRequest(method=method, url=target, headers={**headers, **typed}, data=data.encode())


def _send(request: AWSRequest, clients: Clients, error_name: str) -> Any:
    try:
        return clients.send(request.prepare())
    except BotoCoreError as error:
        raise StatesError(error_name, str(error)) from error


def _result(response: Any) -> Json:
    return {
        "Headers": {name: [value] for name, value in response.headers.items()},
        "ResponseBody": parsed(response.text),
        "StatusCode": response.status_code,
        "StatusText": _phrase(response.status_code),
    }


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _type(headers: Mapping[str, str]) -> str | None:
    """The content type, without what follows a semicolon."""
    found = (value for name, value in headers.items() if name.lower() == "content-type")
    return next((value.partition(";")[0].strip() for value in found), None)


def _joined(value: Json) -> str:
    return ",".join(map(_word, value)) if isinstance(value, list) else _word(value)


def _word(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)


def _pairs(table: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        for item in value if isinstance(value, list) else [value]:
            yield name, "" if item is None else _word(item)


def _with_fields(body: Json, authorized: Authorized) -> Json:
    return {**body, **authorized.body} if isinstance(body, dict) else body


def _encoded(body: Json, transform: Mapping[str, Json], headers: Mapping[str, str]) -> Json:
    """`body` as ``Transform`` wants it; a form where its encoding, and the content type, say so."""
    if transform.get("RequestBodyEncoding") != "URL_ENCODED" or not isinstance(body, dict):
        return body
    if _type(headers) != _FORM:
        message = f"URL_ENCODED needs the header Content-Type {_FORM!r}, got {_type(headers)!r}"
        raise BadParameter("$.Transform", message)
    style = (transform.get("RequestEncodingOptions") or {}).get("ArrayFormat", "INDICES")
    return urlencode([pair for name, value in body.items() for pair in _form(name, value, style)])


def _form(name: str, value: Json, style: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for key, item in value.items():
                yield from _form(f"{name}[{key}]", item, style)
        case list() if style == "COMMAS":
            yield name, ",".join(map(_word, value))
        case list() if style != "NONE":
            for index, item in enumerate(value):
                yield from _form(_element(name, index, style), item, style)
        case _:
            yield name, "" if value is None else _word(value)


def _element(name: str, index: int, style: str) -> str:
    return {"REPEAT": name, "BRACKETS": f"{name}[]"}.get(style, f"{name}[{index}]")
