"""A collector in this process, which reads what it gets with OpenTelemetry's own definition of the messages."""

import base64
import gzip
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from google.protobuf import json_format  # type: ignore[import-untyped]
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2

_IDENTIFIERS = ("traceId", "spanId", "parentSpanId")


def decoded(document: Any) -> Any:
    """Return a request in JSON as the message of Protobuf; raise for fields and types that it does not have."""
    return json_format.ParseDict(_in_base64(document), ExportTraceServiceRequest())


def _in_base64(value: Any) -> Any:
    """Return `value` with identifiers as Protobuf's JSON has bytes; OTLP's JSON has them in hexadecimal."""
    if isinstance(value, list):
        return [_in_base64(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64encode(bytes.fromhex(each)).decode() if name in _IDENTIFIERS else _in_base64(each)
        for name, each in value.items()
    }


def spans_of(*requests: Any) -> list[Any]:
    """Return the spans of messages."""
    return [
        span
        for request in requests
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def facts(message: Any) -> dict[str, Any]:
    """Return the attributes of a message."""
    return {each.key: _value(each.value) for each in message.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, kind)


def lines(spans: Sequence[Any]) -> list[str]:
    """Return a line for each span: depth, name, begin and duration in milliseconds, status, events and links."""
    names, depths = {span.span_id: span.name for span in spans}, dict[bytes, int]()
    return [_line(span, names, depths, spans[0].start_time_unix_nano) for span in spans]


def _line(span: Any, names: dict[bytes, str], depths: dict[bytes, int], from_ns: int) -> str:
    depth = depths[span.span_id] = depths.get(span.parent_span_id, -1) + 1
    begun_ms, lasted_ms = (
        ns // 1_000_000
        for ns in (span.start_time_unix_nano - from_ns, span.end_time_unix_nano - span.start_time_unix_nano)
    )
    own, words = facts(span), [f"{begun_ms}+{lasted_ms}"]
    words += [str(own["unum.status"]).lower()] if "unum.status" in own else []
    words += ["unfinished"] if own.get("unum.unfinished") else []
    words += ["cold"] if own.get("faas.coldstart") else []
    words += [f"ERROR {span.status.message}"] if span.status.code == trace_pb2.Status.STATUS_CODE_ERROR else []
    words += [_event(event, span) for event in span.events]
    words += [f"{facts(link)['unum.link']}<-{names.get(link.span_id, 'elsewhere')}" for link in span.links]
    return f"{'  ' * depth}{span.name}: {' '.join(words)}"


def _event(event: Any, span: Any) -> str:
    own = facts(event)
    at_ms = (event.time_unix_nano - span.start_time_unix_nano) // 1_000_000
    return f"{event.name}({own.get('exception.type', own.get('error.type'))} at {at_ms})"


@dataclass
class Collector:
    """Collector that keeps received spans and gives set answers.

    Attributes:
        answers: status, headers and content of the next answers; 200 after them.
        requests: the requests that it has accepted.
        headers: the headers of all requests.
        paths: the paths of all requests.
    """

    url: str = ""
    answers: list[tuple[int, dict[str, str], str]] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def spans(self) -> list[Any]:
        return spans_of(*self.requests)


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector on a free port of this machine."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            collector.paths.append(self.path)
            if self.headers.get("Content-Encoding") == "gzip":
                content = gzip.decompress(content)
            status, headers, answer = collector.answers.pop(0) if collector.answers else (200, {}, "{}")
            if status == 200:
                collector.requests.append(decoded(json.loads(content)))
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join(10)
