"""The Lambda Runtime API, as one function process sees it.

AWS's own runtime client asks `GET /runtime/invocation/next`, runs the handler, and posts the response or
the error (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html). ministack runs Python functions
without that client: every exception is a `Runtime.HandlerError`, costs the process, and even a silent
call waits 50 ms for output.
"""

import http.server
import queue
import re
import socketserver
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from unum_emulator.settings import HOST

_PREFIX = "/2018-06-01/runtime"
_RESULT = re.compile(rf"{_PREFIX}/invocation/(?P<request_id>[^/]+)/(?P<kind>response|error)")


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


@dataclass
class Mailbox:
    """The two queues between a sandbox and the process in it."""

    deliveries: queue.SimpleQueue[Delivery | None] = field(default_factory=queue.SimpleQueue)
    reports: queue.SimpleQueue[Report] = field(default_factory=queue.SimpleQueue)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without this the kernel holds every second small packet back for 40 ms.
    disable_nagle_algorithm: ClassVar[bool] = True
    wbufsize = -1
    server: "RuntimeApi"

    def do_GET(self) -> None:
        if self.path != f"{_PREFIX}/invocation/next":
            self._answer(404)
            return
        mailbox = self.server.mailbox
        mailbox.reports.put(Report(ReportKind.READY))
        delivery = mailbox.deliveries.get()
        if delivery is None:
            self.close_connection = True
            return
        self.send_response(200)
        for name, value in delivery.headers().items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(delivery.payload)

    def do_POST(self) -> None:
        body = self._body()
        result = _RESULT.fullmatch(self.path)
        if result:
            report = Report(ReportKind(result["kind"]), body, result["request_id"])
        elif self.path == f"{_PREFIX}/init/error":
            report = Report(ReportKind.INIT_ERROR, body)
        else:
            self._answer(404)
            return
        self.server.mailbox.reports.put(report)
        self._answer(202)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Stay silent: the invocations are logged where they are executed."""


class RuntimeApi(socketserver.ThreadingTCPServer):
    """Serves one process on a port of its own, because the client knows the API by host and port alone."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.mailbox = Mailbox()
        self._thread = threading.Thread(target=self.serve_forever, daemon=True, name="runtime-api")
        self._thread.start()

    @property
    def address(self) -> str:
        """What AWS_LAMBDA_RUNTIME_API has to say."""
        return f"{HOST}:{self.server_address[1]}"

    def handle_error(self, *_args: object) -> None:
        """Stay silent: a process that was killed breaks its connection, and its sandbox knows."""

    def close(self) -> None:
        """Release the port and the waiting process."""
        self.mailbox.deliveries.put(None)
        self.shutdown()
        self.server_close()
