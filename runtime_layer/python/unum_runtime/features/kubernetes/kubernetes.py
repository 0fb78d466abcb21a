"""Calls of a Kubernetes API on Amazon EKS: ``eks:call``, and the requests of ``eks:runJob``.

The cluster's endpoint has a certificate of the cluster's own authority, and accepts a token made of a presigned request
to STS, in the form of ``aws eks get-token``. Source: Developer Guide, "Create and manage Amazon EKS clusters with Step
Functions". Of responses and errors, that page shows one: the error ``EKS.401``.
"""

import base64
import binascii
import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest

from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.features.services.adjust import parse_if_json
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.model.states import Json

TIMEOUT_S = 60
"""Longest time of one call, in seconds."""

MOST_BYTES = 16 << 20
"""Most bytes of one response: a log has any length."""

_TOKEN_S = 60
"""Validity of the presigned request, in seconds; EKS accepts the token for 15 minutes from its date."""

_SUCCESS = range(200, 300)


def call_cluster(parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Call the API of a cluster, and return its response; parameters and errors as for `request_text`."""
    response, text = request_text(parameters, clients)
    headers = {name: [value] for name, value in response.getheaders()}
    return {"Headers": headers, **_described(response, text)}


def request_text(parameters: Mapping[str, Json], clients: Clients) -> tuple[http.client.HTTPResponse, str]:
    """Call the API of a cluster, and return its response and the text of the body.

    Args:
        parameters: parameters of ``eks:call``.
        clients: clients of AWS services.

    Raises:
        StatesError: ``EKS.<status>`` for a response without success; ``EKS.SdkClientException`` without a response.
    """
    name, endpoint = _text(parameters, "ClusterName"), urlsplit(_text(parameters, "Endpoint"))
    if endpoint.scheme != "https" or not endpoint.hostname:
        raise BadParameter("$.Endpoint", f"expected a URL that begins with https://, got {endpoint.geturl()!r}")
    body = parameters.get("RequestBody")
    headers = {"Accept": "application/json, */*", "Authorization": f"Bearer {_token(name, clients)}"}
    typed = {} if body is None else {"Content-Type": "application/json"}
    connection = http.client.HTTPSConnection(
        endpoint.hostname,
        endpoint.port,
        timeout=TIMEOUT_S,
        context=_trusting(_text(parameters, "CertificateAuthority")),
    )
    try:
        data = None if body is None else (body if isinstance(body, str) else dumps(body)).encode()
        connection.request(_text(parameters, "Method"), _target(parameters), data, {**headers, **typed})
        with connection.getresponse() as response:
            content = response.read(MOST_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        raise StatesError("EKS.SdkClientException", f"{endpoint.geturl()}: {error}") from error
    finally:
        connection.close()
    if len(content) > MOST_BYTES:
        raise StatesError("States.DataLimitExceeded", f"the response has more than {MOST_BYTES} bytes")
    text = content.decode(errors="replace")
    if response.status not in _SUCCESS:
        raise StatesError(f"EKS.{response.status}", dumps(_described(response, text)))
    return response, text


def _described(response: http.client.HTTPResponse, text: str) -> dict[str, Json]:
    """Return what the Developer Guide shows as the cause of ``EKS.401``."""
    return {"ResponseBody": parse_if_json(text), "StatusCode": response.status, "StatusText": response.reason}


def _text(parameters: Mapping[str, Json], name: str) -> str:
    if not isinstance(parameters.get(name), str) or not parameters[name]:
        raise BadParameter("$", f"The field {name!r} is required and must be a string")
    return str(parameters[name])


def _trusting(authority: str) -> ssl.SSLContext:
    """Return a TLS context that trusts the certificate authority `authority`, PEM in Base64, alone."""
    try:
        return ssl.create_default_context(cadata=base64.b64decode(authority, validate=True).decode())
    except (binascii.Error, ValueError, ssl.SSLError) as error:
        raise BadParameter("$.CertificateAuthority", f"expected a certificate, PEM in Base64: {error}") from error


def _target(parameters: Mapping[str, Json]) -> str:
    query = parameters.get("QueryParameters") or {}
    if not isinstance(query, dict):
        raise BadParameter("$.QueryParameters", "expected an object")
    pairs = [(key, item) for key, value in query.items() for item in (value if isinstance(value, list) else [value])]
    encoded = urlencode([(key, item if isinstance(item, str) else dumps(item)) for key, item in pairs])
    path = quote(_text(parameters, "Path"), safe="/@%:+$~*")
    return f"{path}?{encoded}" if encoded else path


def _token(cluster: str, clients: Clients) -> str:
    """Return a token that names the caller to `cluster`: a presigned ``GetCallerIdentity``."""
    suffix = "amazonaws.com.cn" if clients.region.startswith("cn-") else "amazonaws.com"
    url = f"https://sts.{clients.region}.{suffix}/?Action=GetCallerIdentity&Version=2011-06-15"
    # The signed header binds the token to the cluster, so that no other cluster's administrator can use it.
    request = AWSRequest(method="GET", url=url, headers={"x-k8s-aws-id": cluster})
    SigV4QueryAuth(clients.credentials, "sts", clients.region, expires=_TOKEN_S).add_auth(request)
    return f"k8s-aws-v1.{base64.urlsafe_b64encode(str(request.url).encode()).decode().rstrip('=')}"
