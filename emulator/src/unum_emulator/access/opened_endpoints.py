"""Endpoints that a deployed app has opened: to callers without credentials, and to web pages of other origins.

On AWS, anyone may call a function URL of type NONE and a method of an API without IAM authorization; here too, from
programs. A web page of another origin may use what the app's own CORS settings name: those of a function URL, of an
HTTP API, and of a bucket. AWS leaves that to browsers, which send simple requests all the same; here such a request
would run code on the user's machine, so the emulator refuses it.

A page that the user's browser shows can send requests to loopback addresses, and one whose name resolves to such an
address (DNS rebinding) reads the answers, too. Browsers tell both: ``Host`` has the page's name, ``Origin`` the page
that sends a request, and ``Sec-Fetch-Site`` where a request without origin comes from, such as an image's. Pages cannot
change these headers.
https://fetch.spec.whatwg.org/#origin-header https://www.w3.org/TR/fetch-metadata/
"""

from typing import Any

from ministack import app
from ministack.services import apigateway, apigateway_v1, lambda_svc, s3

from unum_emulator.access.guarded_requests import Request
from unum_emulator.process_settings import HOST

_RESPONSES = ("/_ministack/cfn-response/", "/_ministack/cfn-signal/")
"""URLs with a random token, for a custom resource's answer and for signals; on AWS they are presigned."""


def needs_no_signature(request: Request) -> bool:
    """Return True if the app or CloudFormation has opened the endpoint to callers without credentials."""
    if request.method == "PUT" and request.path.startswith(_RESPONSES):
        return True
    if url := _function_url(request):
        return bool(url.get("AuthType") == "NONE")
    if (api := app._parse_execute_api_url(request.host, request.path)) is None:
        return False
    name, first, rest = api
    if not (apigateway_v1.find_api_scope(name) or apigateway.find_api_scope(name)) or rest.startswith("/@connections/"):
        return False
    stage, path = app._resolve_stage_and_path(name, first, rest)
    return bool(app._execute_api_authorization_type(name, stage, request.method, path) != "AWS_IAM")


def allows_origin(request: Request, origin: str) -> bool:
    """Return True if the app's CORS settings for the endpoint name `origin`, or every origin."""
    if url := _function_url(request):
        return bool(lambda_svc._function_url_cors_headers(url, {"origin": origin}))
    if (api := app._parse_execute_api_url(request.host, request.path)) is not None:
        return bool(apigateway._cors_response_headers(_cors_of_http_api(api[0]), origin))
    return bool(bucket_headers(request))


def bucket_headers(request: Request) -> dict[str, str]:
    """Return CORS headers of the bucket in the path, if one of its rules allows the request's origin and method."""
    bucket = request.path.lstrip("/").partition("/")[0]
    if not bucket or s3._bucket_owner_account(bucket) is None:
        return {}
    method = request.headers.get("access-control-request-method") if request.method == "OPTIONS" else request.method
    headers: dict[str, str] = s3.cors_response_headers(bucket, method or "", dict(request.headers))
    return headers


def preflight(request: Request) -> Any:
    """Return the answer of the bucket in the path to a browser's preflight request."""
    bucket, _, key = request.path.lstrip("/").partition("/")
    return s3.cors_preflight(bucket, key, dict(request.headers))


def has_cors_of_its_own(request: Request) -> bool:
    """Return True for function URLs and APIs, whose apps choose their CORS headers."""
    return (
        app._parse_lambda_url(request.host, request.path) is not None
        or app._parse_execute_api_url(request.host, request.path) is not None
    )


def _function_url(request: Request) -> dict[str, Any] | None:
    """Return the configuration of the function URL that `request` names; None for another or unknown one."""
    found = app._parse_lambda_url(request.host, request.path)
    resolved = lambda_svc.resolve_function_url(found[0]) if found else None
    return resolved[-1] if resolved else None


def _cors_of_http_api(name: str) -> dict[str, Any]:
    if (scope := apigateway.find_api_scope(name)) is None:
        return {}
    api: dict[str, Any] = apigateway._apis.get_scoped(*scope, name) or {}
    return api.get("corsConfiguration") or {}


_NAMES = (HOST, "localhost")
_SAME = ("same-origin", "none")


class Origins:
    """Names of one emulator.

    Attributes:
        port: its TCP port.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._hosts = frozenset(f"{name}:{port}" for name in _NAMES)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    def is_own_host(self, request: Request) -> bool:
        """Return True if the request names this machine and port."""
        return request.host in self._hosts

    def is_foreign(self, request: Request) -> bool:
        """Return True if a web page of another origin sent `request`."""
        origin = request.origin
        if origin is not None:
            return origin not in self._origins
        return request.headers.get("sec-fetch-site", "none") not in _SAME


def is_followed_link(request: Request) -> bool:
    """Return True if a person followed a link to the request's URL, rather than a page loading it."""
    fetch = [request.headers.get(f"sec-fetch-{name}") for name in ("mode", "dest", "user")]
    return request.method == "GET" and request.origin is None and fetch == ["navigate", "document", "?1"]
