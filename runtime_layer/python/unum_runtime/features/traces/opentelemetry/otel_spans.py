"""Spans of user code, by the OpenTelemetry SDK, in the trace that ``unum trace`` builds from the table.

Each attempt has the span that the table tells of, with the same identifier, below the Task's span. Spans of libraries
become its children. Nothing travels in events: identifiers follow from the name of the invocation.
"""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from unum_runtime.cold_start.records import NamedTuple
from unum_runtime.features.traces.opentelemetry import span_ids
from unum_runtime.features.traces.opentelemetry.otlp_exporter import JsonExporter
from unum_runtime.functions.configuration import services
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.runtime import Call

Handler: TypeAlias = Callable[[Any, Any], Any]

MARGIN_MS = 500
"""Time of a delivery that sending spans leaves, in milliseconds: Lambda would count a timeout as a failure."""

_LOG = logging.getLogger("unum_runtime")


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
    given = Resource.create()
    named = os.environ.get("OTEL_SERVICE_NAME") or SERVICE_NAME in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    return Resource(facts).merge(given) if named else given.merge(Resource(facts))


_IDS = _Chosen()
_EXPORTER = JsonExporter.from_environment(os.environ)
