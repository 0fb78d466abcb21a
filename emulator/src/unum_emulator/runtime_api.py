"""The Lambda Runtime API, as one function process sees it.

AWS's own runtime client asks `GET /runtime/invocation/next`, runs the handler, and posts the response or
the error (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). ministack runs Python functions
without that client: every exception is a `Runtime.HandlerError`, costs the process, and even a silent
call waits 50 ms for output.
"""

import queue
import re
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import BinaryIO

from unum_emulator.settings import HOST

_PREFIX = "/2018-06-01/runtime"
_NEXT = f"GET {_PREFIX}/invocation/next"
_INIT_ERROR = f"POST {_PREFIX}/init/error"
_RESULT = re.compile(rf"POST {_PREFIX}/invocation/(?P<request_id>[^/]+)/(?P<kind>response|error)")


class ReportKind(StrEnum):
    """What a function's process can say, and what its sandbox can find out about it."""

    READY = "ready"
    INIT_ERROR = "init_error"
    RESPONSE = "response"
    ERROR = "error"
    EXIT = "exit"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"


@dataclass(frozen=True)
class Report:
    """One thing that is known of the process, in the order in which it happened."""

    kind: ReportKind
    body: bytes = b""
    request_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What `invocation/next` returns: the payload, and what becomes the handler's context.

    Attributes:
        payload: the event as JSON.
        request_id: the same for all retries of one asynchronous event.
        invoked_function_arn: the function as the caller named it, with version or alias.
        trace_id: the X-Ray header that the function passes on.
        timeout_s: the handler's time, from the moment of delivery.
    """

    payload: bytes
    request_id: str
    invoked_function_arn: str
    trace_id: str
    timeout_s: int

    def headers(self) -> dict[str, str]:
        """Return the headers of the answer."""
        return {
            "Content-Type": "application/json",
            "Content-Length": str(len(self.payload)),
            "Lambda-Runtime-Aws-Request-Id": self.request_id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + self.timeout_s) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self.invoked_function_arn,
            "Lambda-Runtime-Trace-Id": self.trace_id,
        }


class RuntimeApi:
    """Serves one process on a port of its own, because the client knows the API by host and port alone.

    Whoever delivers writes the answer to the process itself, on the connection that asked: each thread that an event
    passes through would wait for the interpreter.

    Attributes:
        reports: what the process said, and what its sandbox found out.
    """

    def __init__(self) -> None:
        self.reports: queue.SimpleQueue[Report] = queue.SimpleQueue()
        self._asking: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
        self._listener = socket.create_server((HOST, 0))
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True, name="runtime-api").start()

    @property
    def address(self) -> str:
        """What AWS_LAMBDA_RUNTIME_API has to say."""
        return f"{HOST}:{self._listener.getsockname()[1]}"

    def deliver(self, delivery: Delivery) -> None:
        """Answer the process, which asked for work before; if it has ended since, its sandbox reports that."""
        with suppress(OSError):
            self._asking.get().sendall(_answer(HTTPStatus.OK, delivery.headers()) + delivery.payload)

    def close(self) -> None:
        """Release the port and the waiting process."""
        for each in (self._listener, *self._connections):
            with suppress(OSError):  # the process has closed it already
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                # Without this the kernel holds every second small packet back for 40 ms.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True, name="runtime-api").start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection.makefile("rb") as stream:  # a process that was killed breaks it
            while request := _Request.read(stream):
                self._handle(request, connection)

    def _handle(self, request: "_Request", connection: socket.socket) -> None:
        if request.line == _NEXT:
            self._asking.put(connection)
            self.reports.put(Report(ReportKind.READY))
        elif report := request.report():
            self.reports.put(report)
            connection.sendall(_answer(HTTPStatus.ACCEPTED, {"Content-Length": "0"}))
        else:
            connection.sendall(_answer(HTTPStatus.NOT_FOUND, {"Content-Length": "0"}))


@dataclass(frozen=True)
class _Request:
    """What the process sent: method and path, and the body."""

    line: str
    body: bytes

    @classmethod
    def read(cls, stream: BinaryIO) -> "_Request | None":
        """Read the next request of a connection, None at its end."""
        first = stream.readline()
        if not first:
            return None
        method, path, _version = first.decode("latin-1").split(" ", 2)
        return cls(f"{method} {path}", _body(stream, _headers(stream)))

    def report(self) -> Report | None:
        """What it says about an invocation or about the init phase; None if it says something else."""
        if self.line == _INIT_ERROR:
            return Report(ReportKind.INIT_ERROR, self.body)
        result = _RESULT.fullmatch(self.line)
        return Report(ReportKind(result["kind"]), self.body, result["request_id"]) if result else None


def _headers(stream: BinaryIO) -> dict[str, str]:
    """Read headers up to the empty line, with their names in small letters."""
    lines = iter(lambda: stream.readline().decode("latin-1").rstrip(), "")
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _body(stream: BinaryIO, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return stream.read(int(headers.get("content-length", "0")))
    chunks = []
    while size := int(stream.readline(), 16):
        chunks.append(stream.read(size))
        stream.readline()
    stream.readline()
    return b"".join(chunks)


def _answer(status: HTTPStatus, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
