"""Lambda Runtime API of one function process.

AWS's own runtime client requests `GET /runtime/invocation/next`, runs the handler, and posts the response or the error
(https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). ministack runs Python functions without that client:
every exception is a `Runtime.HandlerError`, ends the process, and even a silent call waits 50 ms for output.
"""

import re
import select
import socket
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType

import httptools

from unum_emulator.process_settings import HOST

_PREFIX = "/2018-06-01/runtime"
_NEXT = f"GET {_PREFIX}/invocation/next"
_INIT_ERROR = f"POST {_PREFIX}/init/error"
_RESULT = re.compile(rf"POST {_PREFIX}/invocation/(?P<request_id>[^/]+)/(?P<kind>response|error)")
_CHUNK = 65_536


class ReportKind(StrEnum):
    """Messages of a function's process, and findings of its sandbox."""

    READY = "ready"
    INIT_ERROR = "init_error"
    RESPONSE = "response"
    ERROR = "error"
    EXIT = "exit"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"


@dataclass(frozen=True)
class Report:
    """One event in a process's life, in order."""

    kind: ReportKind
    body: bytes = b""
    request_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Content of `invocation/next`: the payload, and data for the handler's context.

    Attributes:
        payload: the event as JSON.
        request_id: request id, equal in all retries of an asynchronous event.
        invoked_function_arn: the function with the caller's version or alias.
        trace_id: X-Ray header for the function's own calls.
        timeout_s: time limit of the handler from delivery on, in seconds.
    """

    payload: bytes
    request_id: str
    invoked_function_arn: str
    trace_id: str
    timeout_s: int

    def headers(self) -> dict[str, str]:
        """Return the response headers."""
        return {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": self.request_id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + self.timeout_s) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.invoked_function_arn,
            "Lambda-Runtime-Trace-Id": self.trace_id,
        }


class RuntimeApi:
    """HTTP server for one process, on a separate port: the client knows the API by host and port only.

    The thread that delivers an event also reads the result, because each further thread would wait for the
    interpreter's lock. Between events no thread listens, and the process's request for the next event waits in its
    connection.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0))
        self._connections: dict[int, _Connection] = {}
        self._idle: _Connection | None = None
        self._reports: deque[Report] = deque()
        self._readable = select.poll()
        self._readable.register(self._listener, select.POLLIN)

    @property
    def address(self) -> str:
        """Value of AWS_LAMBDA_RUNTIME_API."""
        return f"{HOST}:{self._listener.getsockname()[1]}"

    def deliver(self, delivery: Delivery) -> None:
        """Answer the process's request for an event; if the process has ended, the sandbox finds out."""
        if self._idle:
            self._idle.send(HTTPStatus.OK, delivery.headers(), delivery.payload)

    def report(self, within_s: float) -> Report | None:
        """Return the process's next message, or None after `within_s` seconds or a closed connection."""
        wait_ms = within_s * 1000
        while not self._reports and (ready := self._readable.poll(wait_ms)):
            # Only the first poll waits; further ones take what has already arrived.
            wait_ms = 0
            for number, _ in ready:
                self._read(number)
        return self._reports.popleft() if self._reports else None

    def close(self) -> None:
        """Release the port and the waiting process."""
        self._listener.close()
        for connection in self._connections.values():
            connection.close()

    def _read(self, number: int) -> None:
        if number == self._listener.fileno():
            connection = _Connection(self._listener.accept()[0])
            self._connections[connection.number] = connection
            self._readable.register(connection.number, select.POLLIN)
        elif (requests := self._connections[number].receive()) is None:
            self._readable.unregister(number)
            self._connections.pop(number).close()
        else:
            for request in requests:
                self._handle(request, self._connections[number])

    def _handle(self, request: "_Request", connection: "_Connection") -> None:
        if request.is_from_browser or request.host != self.address:
            # A web page can send requests to this port; it could answer in the function's place.
            connection.send(HTTPStatus.FORBIDDEN)
        elif request.line == _NEXT:
            self._idle = connection
            self._reports.append(Report(ReportKind.READY))
        elif report := request.report():
            self._reports.append(report)
            connection.send(HTTPStatus.ACCEPTED)
        else:
            connection.send(HTTPStatus.NOT_FOUND)


@dataclass(frozen=True)
class _Request:
    """Request of the process: method and path, body, host, and whether it has headers that only browsers send."""

    line: str
    body: bytes
    host: str
    is_from_browser: bool

    def report(self) -> Report | None:
        """Return the request's message about an invocation or the init phase, or None for other requests."""
        if self.line == _INIT_ERROR:
            return Report(ReportKind.INIT_ERROR, self.body)
        result = _RESULT.fullmatch(self.line)
        return Report(ReportKind(result["kind"]), self.body, result["request_id"]) if result else None


class _Connection:
    """A connection of the process, with callbacks for its HTTP parser."""

    def __init__(self, connected: socket.socket) -> None:
        # Nagle's algorithm with delayed acknowledgements would delay every second small packet by 40 ms.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number = connected.fileno()
        self.close = connected.close
        self._socket = connected
        self._parser = httptools.HttpRequestParser(self)
        self._requests: list[_Request] = []

    def receive(self) -> list[_Request] | None:
        """Return the requests that the received bytes complete, or None after a closed connection or malformed HTTP."""
        try:
            arrived = self._socket.recv(_CHUNK)
            self._parser.feed_data(arrived)
        except (OSError, httptools.HttpParserError):
            return None
        requests, self._requests = self._requests, []
        return requests if arrived else None

    def send(self, status: HTTPStatus, headers: Mapping[str, str] = MappingProxyType({}), body: bytes = b"") -> None:
        """Send a response; a killed process does not read it."""
        fields = {**headers, "Content-Length": str(len(body))}
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in fields.items())]
        with suppress(OSError):
            self._socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def on_message_begin(self) -> None:
        """Reset path, body and headers."""
        self._path, self._body = b"", bytearray()
        self._host, self._is_from_browser = "", False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep the host, and what tells a browser."""
        match name.lower():
            case b"host":
                self._host = value.decode("latin-1")
            case b"origin" | b"sec-fetch-site" | b"referer":
                self._is_from_browser = True

    def on_url(self, part: bytes) -> None:
        """Append to the path."""
        self._path += part

    def on_body(self, part: bytes) -> None:
        """Append to the body."""
        self._body += part

    def on_message_complete(self) -> None:
        """Store the complete request."""
        line = f"{self._parser.get_method().decode()} {self._path.decode('latin-1')}"
        self._requests.append(_Request(line, bytes(self._body), self._host, self._is_from_browser))
