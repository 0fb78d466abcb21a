"""Requests of a command over the runtime's HTTP client: synchronous invocations, stacks, and what functions send."""

import io
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode
from weakref import finalize
from xml.etree import ElementTree as ET

from unum_cli.aws.aws_settings import Settings
from unum_runtime.json_text import to_ascii
from unum_runtime.wire.api import Api, is_transient, pause_s
from unum_runtime.wire.call_errors import CallError, Unsupported
from unum_runtime.wire.connections import TIMEOUT_S, Connection, Connections
from unum_runtime.wire.responses import Response
from unum_runtime.wire.routes import Route, route_to
from unum_runtime.wire.service_clients import DynamoDb, Sqs, WireClient, endpoint
from unum_runtime.wire.signing import Signer

_STACKS = "{http://cloudformation.amazonaws.com/doc/2010-05-15/}"
_VERSION = "2010-05-15"


class _Functions(WireClient):
    """Lambda client; boto3 documents the operation."""

    def invoke(self, *, FunctionName: str, Payload: bytes, InvocationType: str = "RequestResponse") -> Any:  # noqa: N803
        """Invoke a function."""
        path = f"/2015-03-31/functions/{quote(FunctionName, safe='')}/invocations"
        response = self._api.post(path, {"x-amz-invocation-type": InvocationType}, Payload)
        failed = response.headers.get("x-amz-function-error")
        answer = {"StatusCode": response.status, "Payload": io.BytesIO(response.body)}
        return answer | ({"FunctionError": failed} if failed else {})


class _Stacks(WireClient):
    """CloudFormation client; boto3 documents the operation, whose responses have outputs alone here."""

    def describe_stacks(self, *, StackName: str) -> Any:  # noqa: N803
        """Return a stack with its outputs."""
        form = {"Action": "DescribeStacks", "Version": _VERSION, "StackName": StackName}
        headers = {"content-type": "application/x-www-form-urlencoded"}
        root = _xml(self._api.post("/", headers, urlencode(form).encode()).body)
        members = root.iterfind(f".//{_STACKS}Stacks/{_STACKS}member/{_STACKS}Outputs/{_STACKS}member")
        outputs = [
            {name: one.findtext(f"{_STACKS}{name}", "") for name in ("OutputKey", "OutputValue")} for one in members
        ]
        return {"Stacks": [{"Outputs": outputs}]}


class _Queues(Sqs):
    """SQS client that also receives and deletes; boto3 documents the operations."""

    def receive_message(self, **parameters: Any) -> Any:
        """Receive messages."""
        return self._call("ReceiveMessage", parameters)

    def delete_message(self, **parameters: Any) -> Any:
        """Delete a message."""
        return self._call("DeleteMessage", parameters)


_CLIENTS: Mapping[str, type[WireClient]] = {
    "cloudformation": _Stacks,
    "dynamodb": DynamoDb,
    "lambda": _Functions,
    "sqs": _Queues,
}


def wire_client(service: str, settings: Settings, retries: int, timeout_s: int | None) -> WireClient:
    """Return a client of `service`.

    Raises:
        Unsupported: only boto3 has the service, or supports the settings.
    """
    if service not in _CLIENTS or settings.region is None:
        raise Unsupported(service)
    route = route_to(endpoint(service, settings.region, settings.environment), settings.environment)
    return _CLIENTS[service](_Api(service, route, settings, retries, timeout_s or TIMEOUT_S))


class _Api(Api):
    """One AWS service, with credentials that may be renewed between requests."""

    def __init__(self, service: str, route: Route, settings: Settings, retries: int, timeout_s: int) -> None:
        assert settings.region is not None  # noqa: S101 - `wire_client` has checked it
        super().__init__(route, Signer(service, settings.region, settings.credentials()))
        self._service, self._region, self._settings, self._retries = service, settings.region, settings, retries
        self.connections = _Connections(route, timeout_s)

    def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        for attempt in range(self._retries):
            try:
                return self._signed(path, headers, body)
            except CallError as error:
                if not is_transient(error):
                    raise
                time.sleep(pause_s(attempt, error))
        return self._signed(path, headers, body)

    def _signed(self, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        self._signer = Signer(self._service, self._region, self._settings.credentials())
        return self._post(path, headers, body)


class _Connections(Connections):
    """Connections with their own time limit and JSON errors."""

    def __init__(self, route: Route, timeout_s: int) -> None:
        super().__init__(route)
        self._timeout_s = timeout_s
        # One process may run many commands; a sandbox, in contrast, keeps its connections to its end.
        finalize(self, _close, self._idle)

    def exchange(self, request: bytes) -> Response:
        if self._timeout_s == TIMEOUT_S:
            return _with_json_error(super().exchange(request))
        return _with_json_error(self._exchange(_Connection(self._route, self._timeout_s), request))


def _close(idle: Iterable[Connection]) -> None:
    for each in idle:
        each.close()


class _Connection(Connection):
    """Connection that waits for answers longer than others."""

    def __init__(self, route: Route, timeout_s: int) -> None:
        super().__init__(route)
        self._socket.settimeout(timeout_s)


def _with_json_error(response: Response) -> Response:
    """Return `response` with the error of an XML document as the JSON that `Api` reads.

    Source: AWS CloudFormation API Reference, "Common error types".
    """
    if response.status // 100 == 2 or not response.body.lstrip().startswith(b"<ErrorResponse"):  # noqa: PLR2004
        return response
    error = _xml(response.body)
    found = {name: error.findtext(f".//{{*}}{tag}", "") for name, tag in (("__type", "Code"), ("message", "Message"))}
    return response._replace(body=to_ascii(found).encode())


def _xml(body: bytes) -> ET.Element:
    try:
        return ET.fromstring(body)  # noqa: S314 - AWS's answer
    except ET.ParseError as error:
        raise CallError(f"expected XML, got {body[:200]!r}") from error
