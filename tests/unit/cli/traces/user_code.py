"""Executions whose user code has spans of its own, by the OpenTelemetry SDK with an exporter in this process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from types import SimpleNamespace
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.unit.cli.traces.collector import decoded, spans_of
from tests.unit.protocol.platform import Platform
from unum_runtime.features.traces.opentelemetry import otel_spans
from unum_runtime.model.delivery_record import Arrival
from unum_runtime.model.envelope import Envelope
from unum_runtime.protocol.runtime import Call

QUEUED_MS = 10


@cache
def exporter() -> InMemorySpanExporter:
    """Set the provider of this process, which can be set once, and return what its spans go to."""
    found = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(found))
    trace.set_tracer_provider(provider)
    return found


def sent() -> list[Any]:
    """Return the spans that functions have sent since the last call, as a collector reads them."""
    spans = exporter().get_finished_spans()
    exporter().clear()
    return spans_of(decoded({"resourceSpans": [otel_spans._resource_spans(spans)]})) if spans else []


def query(name: str) -> None:
    """Do what a traced library does."""
    with trace.get_tracer("library").start_as_current_span(name, attributes={"rows": 2, "ok": True, "share": 0.5}):
        pass


def call_in_span(platform: Platform, call: Call, event: Any) -> Any:
    """Run user code as a function with the option `opentelemetry` does."""
    exporter()
    inner: Callable[[Any], Any] = platform.functions[call.function]
    context = SimpleNamespace(unum=call, aws_request_id="request", log_stream_name="stream")
    return otel_spans.in_spans(lambda value, _: inner(value))(event, context)


@dataclass
class Traced(Platform):
    """A platform whose functions have the option `opentelemetry`; a clock that passes while events wait."""

    requests: Any = field(default_factory=count)

    def _call(self, call: Call, event: Any) -> Any:
        return super()._call(call, event) if call.resource is not None else call_in_span(self, call, event)

    def deliver(self, event: Envelope) -> None:
        self.clock.ms += QUEUED_MS
        self.options["arrival"] = Arrival(self.clock.ms, f"request-{next(self.requests)}", "stream", None)
        super().deliver(event)

    def go_on(self) -> None:
        """Deliver all that is sent or becomes due."""
        self.deliver_all()
        while self.waiting:
            self.deliver(self.pass_to_next())
            self.deliver_all()


def tree(spans: Sequence[Any]) -> list[str]:
    """Return a line for each span below its parent: name, error, and links; spans without a parent here come last."""
    known = {span.span_id: span for span in spans}
    assert len(known) == len(spans), "two spans have one identifier"
    found: list[str] = []

    def add(parent: bytes, depth: int) -> None:
        for span in spans:
            if (span.parent_span_id if span.parent_span_id in known else b"") == parent:
                words = [span.name, *([f"ERROR {span.status.message}"] if span.status.code == 2 else [])]
                words += [event.name for event in span.events]
                words += [f"<-{known[link.span_id].name}" for link in span.links if link.span_id in known]
                found.append("  " * depth + " ".join(words))
                add(span.span_id, depth + 1)

    add(b"", 0)
    return found
