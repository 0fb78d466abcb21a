"""Spans of user code, by the OpenTelemetry SDK, in the trace that ``unum trace`` builds from the table.

Each attempt has the span that the table tells of, with the same identifier, below the Task's span. Spans of libraries
become its children. Nothing travels in events: identifiers follow from the name of the invocation.

They are exported as OTLP over HTTP, as JSON, by the standard library: the SDK's own exporter needs Protobuf, which is
compiled for one processor, and takes longer to import than all else.

Source: OpenTelemetry Specification, "OpenTelemetry Protocol Exporter".
"""

import logging
import os
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any, TypeAlias
from urllib.parse import unquote

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.features.traces.opentelemetry import otlp_json, span_ids
from unum_runtime.functions.configuration import services
from unum_runtime.json_text import to_ascii
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json
from unum_runtime.protocol.runtime import Call

DEFAULT_URL = "http://localhost:4318"
"""Place of a collector in an extension of the function."""

DEFAULT_TIMEOUT_S = 2.0
"""Longest time for an answer, in seconds, shorter than the specification's 10: a function pays for it."""

_PREFIX = "OTEL_EXPORTER_OTLP_"

Handler: TypeAlias = Callable[[Any, Any], Any]

MARGIN_MS = 500
"""Time of a delivery that sending spans leaves, in milliseconds: Lambda would count a timeout as a failure."""

_LOG = logging.getLogger("unum_runtime")


class JsonExporter(SpanExporter):
    """Exporter to one collector.

    Args:
        url: address that spans are sent to.
        headers: headers of its requests.
        timeout_s: longest time for an answer, in seconds.

    Attributes:
        limit_s: longest time that the delivery leaves, in seconds.
    """

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float) -> None:
        self._url, self._headers, self._timeout_s = url, headers, timeout_s
        self.limit_s = timeout_s

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "JsonExporter":
        """Return the exporter that the variables of OpenTelemetry describe; those for traces alone come first."""

        def read(name: str) -> str:
            return environment.get(f"{_PREFIX}TRACES_{name}") or environment.get(_PREFIX + name, "")

        general = (environment.get(f"{_PREFIX}ENDPOINT") or DEFAULT_URL).rstrip("/")
        url = environment.get(f"{_PREFIX}TRACES_ENDPOINT") or f"{general}/v1/traces"
        timeout = read("TIMEOUT")
        timeout_s = int(timeout) / 1000 if timeout.isdecimal() else DEFAULT_TIMEOUT_S
        return cls(url, dict(_headers(read("HEADERS"))), timeout_s)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send `spans`; log failures, raise none."""
        content = to_ascii({"resourceSpans": [_resource_spans(spans)]}).encode()
        headers = {**self._headers, "Content-Type": "application/json"}
        request = urllib.request.Request(self._url, content, headers)  # noqa: S310 - the deployment's own setting
        try:
            with urllib.request.urlopen(request, timeout=min(self._timeout_s, self.limit_s)):  # noqa: S310 - as above
                return SpanExportResult.SUCCESS
        except (OSError, ValueError, HTTPException) as error:
            _LOG.warning("%d spans were not sent to %s: %s", len(spans), self._url, error)
            return SpanExportResult.FAILURE


def _headers(text: str) -> list[tuple[str, str]]:
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return [(name.strip(), unquote(value.strip())) for name, _, value in pairs]


def _resource_spans(spans: Sequence[ReadableSpan]) -> Json:
    scopes: dict[Any, list[Json]] = {}
    for span in spans:
        scopes.setdefault(span.instrumentation_scope, []).append(_span(span))
    return otlp_json.resource_spans(
        spans[0].resource.attributes, ((_scope(scope), of_scope) for scope, of_scope in scopes.items())
    )


def _scope(scope: Any) -> Json:
    return {} if scope is None else {"name": scope.name, **({"version": scope.version} if scope.version else {})}


def _span(span: ReadableSpan) -> Json:
    return otlp_json.span(
        _ids(span.get_span_context()),
        span.name,
        span.kind.value + 1,  # the SDK counts from 0, the protocol from 1
        (span.start_time or 0, span.end_time or 0),
        parentSpanId="" if span.parent is None else f"{span.parent.span_id:016x}",
        attributes=otlp_json.attributes(span.attributes or {}),
        events=[otlp_json.event(each.name, each.timestamp, each.attributes or {}) for each in span.events],
        links=[
            {**_ids(each.context), "attributes": otlp_json.attributes(each.attributes or {})} for each in span.links
        ],
        droppedAttributesCount=span.dropped_attributes,
        droppedEventsCount=span.dropped_events,
        droppedLinksCount=span.dropped_links,
        status={"code": span.status.status_code.value, "message": span.status.description or ""},
    )


def _link(link: Any) -> Json:
    return {**_ids(link.context), "attributes": otlp_json.attributes(link.attributes or {})}


def _ids(context: Any) -> dict[str, Json]:
    state = context.trace_state.to_header() if context.trace_state else ""
    return otlp_json.ids_of(f"{context.trace_id:032x}", f"{context.span_id:016x}", state)


class Place(NamedTuple):
    """Identifiers around one attempt.

    Attributes:
        workflow: name of the workflow.
        trace_id: trace of the execution, as a number.
        task_id: span of the Task.
        attempt_id: span of the attempt.
    """

    workflow: str
    trace_id: int
    task_id: int
    attempt_id: int

    @classmethod
    def of(cls, call: Call) -> "Place":
        """Return the place of the attempt `call`."""
        workflow, _, invocation = call.idempotency_key.partition("/")
        scope, _, step = invocation.partition("#")
        # A Task whose outcome a later Task commits is named after it as well.
        name = f"{scope}#{step.partition(' ')[0]}"
        started = scope.partition("/")[0].partition(":")[2]
        execution = Execution(call.execution, int(started, 16))
        return cls(
            workflow,
            int(span_ids.trace_id(workflow, execution), 16),
            int(span_ids.step_span(workflow, name), 16),
            int(span_ids.attempt_span(workflow, invocation, call.attempt + 1), 16),
        )


class _Chosen(RandomIdGenerator):
    """Generator of span ids with one chosen value: attempts have computed ids."""

    def __init__(self) -> None:
        self.next_id: int | None = None

    def generate_span_id(self) -> int:
        """Return the chosen identifier once."""
        chosen, self.next_id = self.next_id, None
        return super().generate_span_id() if chosen is None else chosen


def in_spans(handler: Handler) -> Handler:
    """Return `handler` with one span per attempt, by user code's or a layer's provider, else by a default one."""

    def traced(event: Any, context: Any) -> Any:
        call = getattr(context, "unum", None)
        if call is None:  # a call of the function beside its workflows
            return handler(event, context)
        with _attempt(call, context):
            return handler(event, context)

    _provider()
    return traced


def sending_spans(handle: Handler) -> Handler:
    """Return `handle` so that it sends all spans before it returns: Lambda freezes the sandbox afterwards."""

    def sending(event: Any, context: Any) -> Any:
        try:
            return handle(event, context)
        finally:
            _send(context.get_remaining_time_in_millis() - MARGIN_MS)

    return sending


def _send(left_ms: int) -> None:
    provider = trace.get_tracer_provider()
    if left_ms <= 0 or not isinstance(provider, TracerProvider):
        return
    _EXPORTER.limit_s = left_ms / 1000
    try:
        provider.force_flush(left_ms)
    except Exception:  # noqa: BLE001 - no exporter may fail a delivery
        _LOG.warning("spans were not sent", exc_info=True)


@contextmanager
def _attempt(call: Call, context: Any) -> Iterator[None]:
    """Open the span of `call` as current span; end it after the block."""
    place = Place.of(call)
    tracer = _tracer()
    if tracer is None:  # the SDK is disabled
        yield
        return
    flags = TraceFlags(TraceFlags.SAMPLED)
    task = NonRecordingSpan(SpanContext(place.trace_id, place.task_id, is_remote=True, trace_flags=flags))
    tracer.id_generator, _IDS.next_id = _IDS, place.attempt_id
    facts = _facts(place, call, context)
    span = tracer.start_span("user code", trace.set_span_in_context(task), SpanKind.SERVER, facts)
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield
        except BaseException as error:
            _fail(span, error)
            raise


def _fail(span: Span, error: BaseException) -> None:
    # The name alone: messages may hold data, and a collector may have other readers than the table.
    name = type(error).__name__
    span.set_attribute("error.type", name)
    span.set_status(Status(StatusCode.ERROR, name))


def _facts(place: Place, call: Call, context: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "unum.workflow": place.workflow,
        "unum.execution": call.execution,
        "unum.state": call.state,
        "unum.invocation": call.invocation,
        "unum.attempt": call.attempt + 1,
        "faas.invocation_id": context.aws_request_id,
    }
    stream = getattr(context, "log_stream_name", None)
    return {**found, "aws.log.stream.names": [stream]} if stream else found


def _tracer() -> Tracer | None:
    tracer = _provider().get_tracer("unum")
    return tracer if isinstance(tracer, Tracer) else None


def _provider() -> TracerProvider:
    """Return the SDK's global provider; set ours if there is none."""
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider(resource=_resource())
        provider.add_span_processor(BatchSpanProcessor(_EXPORTER))
        trace.set_tracer_provider(provider)
    return provider


def _resource() -> Resource:
    function = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")
    # The service of `unum trace` is the workflow; a function of several workflows is a service of its own.
    own = [*services()]
    facts = {SERVICE_NAME: own[0] if len(own) == 1 else function, "cloud.provider": "aws", "faas.name": function}
    detected = Resource.create()
    named = os.environ.get("OTEL_SERVICE_NAME") or SERVICE_NAME in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource(facts).merge(detected) if named else detected.merge(Resource(facts))


_IDS = _Chosen()
_EXPORTER = JsonExporter.from_environment(os.environ)
