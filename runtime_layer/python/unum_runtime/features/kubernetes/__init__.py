"""Requests to clusters, for Tasks with `eks:call` and `eks:runJob`; the service function alone loads it.

The cluster's endpoint has a certificate of the cluster's own authority, and accepts a token made of a presigned request
to STS, in the form of ``aws eks get-token``. Of responses and errors, the guide shows one: the error ``EKS.401``. AWS's
sample project reads ``status`` and ``logs`` beside each other, so the result of a job is the job with its logs.

Source: Developer Guide, "Create and manage Amazon EKS clusters with Step Functions"; Kubernetes API Reference, "Job".
"""

import base64
import binascii
import http.client
import ssl
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlencode, urlsplit

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest

from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.features.services.adjust import parse_if_json
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.states import Json

TIMEOUT_S = 60
"""Longest time of one call, in seconds."""

MOST_BYTES = 16 << 20
"""Most bytes of one response: a log has any length."""

_TOKEN_S = 60
"""Validity of the presigned request, in seconds; EKS accepts the token for 15 minutes from its date."""

_SUCCESS = range(200, 300)

ANNOTATION = "unum/attempt"
"""Annotation of a job with the token of the Task's attempt, by which a repeated delivery finds its own job."""

_LONGEST_NAME, _SUFFIX = 63, 10
_EXISTS = "EKS.409"


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


def create_job(parameters: Mapping[str, Json], clients: Clients, token: str | None) -> Json:
    """Create the job in ``Job``, and return the cluster's response; one job for each `token`.

    Raises:
        StatesError: as for `request_text`; ``EKS.409`` for another job with the same name.
    """
    namespace, job = parameters.get("Namespace") or "default", _job(parameters)
    if not isinstance(namespace, str) or not isinstance(parameters.get("LogOptions") or {}, dict):
        raise BadParameter("$", "expected a string as Namespace, and an object as LogOptions")
    metadata = _named(job.get("metadata"), token)
    if token:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION: token}
    try:
        return _call(parameters, clients, "POST", _jobs(namespace), RequestBody={**job, "metadata": metadata})
    except StatesError as failed:
        if failed.error != _EXISTS or not token or "name" not in metadata:
            raise
        found = _call(parameters, clients, "GET", _jobs(namespace, str(metadata["name"])))
        if (found["ResponseBody"]["metadata"].get("annotations") or {}).get(ANNOTATION) != token:
            raise
        return found


def _read(handle: Mapping[str, Json], clients: Clients) -> Json:
    """Return the job's final condition, empty before its end, and the job, at its end with its logs if wanted."""
    job = _call(handle, clients, "GET", _jobs(handle["Namespace"], handle["Name"]))["ResponseBody"]
    conditions = (job.get("status") or {}).get("conditions") or ()
    ended = {each["type"] for each in conditions if each.get("status") == "True"} & {"Complete", "Failed"}
    options = handle.get("LogOptions") or {}
    logs = {"logs": _logs(handle, options, clients)} if ended and options.get("RetrieveLogs") is True else {}
    return {"Condition": "".join(ended), "Job": {**job, **logs}}


def _delete(handle: Mapping[str, Json], clients: Clients) -> Json:
    """Delete the job and its pods."""
    path = _jobs(handle["Namespace"], handle["Name"])
    return _call(handle, clients, "DELETE", path, QueryParameters={"propagationPolicy": ["Background"]})


REQUESTS: Mapping[str, Callable[[Mapping[str, Json], Clients], Json]] = {"read": _read, "delete": _delete}
"""Requests for a created job, by name; they take the handle of `JOBS`."""


def _job(parameters: Mapping[str, Json]) -> dict[str, Json]:
    job = parameters.get("Job")
    try:
        job = parse_foreign(job) if isinstance(job, str) else job
    except ValueError as error:
        raise BadParameter("$.Job", f"expected a job, or its JSON text: {error}") from error
    if not isinstance(job, dict) or not isinstance(job.get("metadata", {}), dict):
        raise BadParameter("$.Job", "expected an object with the job, or its JSON text")
    return job


def _named(metadata: Json, token: str | None) -> dict[str, Json]:
    """Return `metadata` with a name in place of a prefix: repeated deliveries must ask for one job."""
    named = dict(metadata or {})
    if token and named.get("generateName") and not named.get("name"):
        named["name"] = named.pop("generateName")[: _LONGEST_NAME - _SUFFIX] + token[:_SUFFIX]
    return named


def _logs(handle: Mapping[str, Json], options: Mapping[str, Json], clients: Clients) -> Json:
    """Return the logs of all containers by pod; error and cause in place of a log that cannot be read."""
    pods = f"/api/v1/namespaces/{quote(handle['Namespace'], safe='')}/pods"
    selector = {"labelSelector": [f"job-name={handle['Name']}"]}
    try:
        listed = _call(handle, clients, "GET", pods, QueryParameters=selector)["ResponseBody"].get("items") or ()
    except StatesError as failed:  # the retrieval of logs fails no job
        return {"pods": {}, "error": failed.error, "cause": failed.cause}

    def one(pod: str, container: str) -> Json:
        query = {**(options.get("LogParameters") or {}), "container": [container]}
        try:
            text = request_text(_request(handle, "GET", f"{pods}/{quote(pod)}/log", QueryParameters=query), clients)[1]
        except StatesError as failed:
            return {"error": failed.error, "cause": failed.cause}
        return {"log": text if options.get("RawLogs") is True else parse_if_json(text)}

    def containers(pod: str, listed: list[Json]) -> Json:
        return {"containers": {each["name"]: one(pod, each["name"]) for each in listed}}

    named = {pod["metadata"]["name"]: pod["spec"]["containers"] for pod in listed}
    return {"pods": {name: containers(name, inside) for name, inside in named.items()}}


def _call(parameters: Mapping[str, Json], clients: Clients, method: str, path: str, **more: Json) -> Json:
    return call_cluster(_request(parameters, method, path, **more), clients)


def _request(parameters: Mapping[str, Json], method: str, path: str, **more: Json) -> dict[str, Json]:
    """Return parameters of ``eks:call`` for the cluster in `parameters`."""
    cluster = {name: parameters.get(name) for name in ("ClusterName", "CertificateAuthority", "Endpoint")}
    return {**cluster, "Method": method, "Path": path, **more}


def _jobs(namespace: str, name: str = "") -> str:
    path = f"/apis/batch/v1/namespaces/{quote(namespace, safe='')}/jobs"
    return f"{path}/{quote(name, safe='')}" if name else path
