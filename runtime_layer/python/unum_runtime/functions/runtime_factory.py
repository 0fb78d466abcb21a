"""Assemble the protocol's `Runtime` of a workflow from adapters for AWS and the user's handler."""

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from unum_runtime.aws.client_factory import botocore_client, client
from unum_runtime.aws.embedded_metrics import EmbeddedMetrics
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.coroutines import GRACE_S, Interruption, awaiting, cancel_running
from unum_runtime.errors import NotOurEvent, StatesError
from unum_runtime.functions.configuration import TRACES, Service, handler_paths, services
from unum_runtime.functions.definitions import definition_at
from unum_runtime.functions.delivery_facts import arrival_of
from unum_runtime.json_text import to_ascii
from unum_runtime.model.envelope import START
from unum_runtime.model.ir import Workflow
from unum_runtime.model.log_level import ROUTINE, LogLevel
from unum_runtime.model.states import ACTIVITY, SIGNAL, Json, Pattern
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.delivery.lease import maintain_by_default
from unum_runtime.protocol.runtime import Call, CallbackPending, Invoker, NoTimer, Runtime, Timer, not_paused
from unum_runtime.store.base import BUCKET, Index, Objects, Store
from unum_runtime.store.dynamodb import DynamoStore
from unum_runtime.store.large_items import LargeItems

if TYPE_CHECKING:
    from unum_runtime.features.bucket_state.s3 import S3Store
    from unum_runtime.features.status_events.status_events import StatusEvents
    from unum_runtime.model.take_over_request import TakeOver
    from unum_runtime.protocol.delivery.pause import Pause
    from unum_runtime.protocol.requests.answers import Links


# Time limit that interrupts user code.


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the block to `seconds`; None sets no limit. A coroutine is cancelled, other code interrupted.

    Code that catches the interruption runs on, and a later check refuses its result as too late.

    Raises:
        StatesError: ``States.Timeout``.
    """
    # Python runs signal handlers in the main thread alone. Lambda calls handlers there; local runs may not.
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    import signal  # noqa: PLC0415 - few Tasks have a limit

    previous = signal.signal(signal.SIGALRM, _interrupt)
    try:
        with _alarm(seconds):
            yield
    except Interruption:
        raise StatesError("States.Timeout", f"took longer than {seconds:g} s") from None
    finally:
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    import signal  # noqa: PLC0415 - see above

    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _interrupt(_signal: int, _frame: Any) -> None:
    if not cancel_running():
        raise Interruption
    # A coroutine that does not end in time is interrupted like any other code.
    import signal  # noqa: PLC0415 - see above

    signal.setitimer(signal.ITIMER_REAL, GRACE_S)


UserHandler: TypeAlias = Callable[[Json, Any], Any]

_CLOCK = SystemClock()


def runtime_here(workflow: str, context: Any, digest: str | None = None) -> Runtime:
    """Return the runtime of `workflow` for a delivery to this function version.

    Args:
        workflow: name of the workflow.
        context: Lambda's context object.
        digest: digest of the definition; None for the function's own. See `definition_at`, also for errors.
    """
    # The qualifier may be an alias. Events must name the version, because an alias moves with the next deployment.
    own_arn = ":".join([*context.invoked_function_arn.split(":")[:7], context.function_version])
    return _in_delivery(_of_version(workflow, own_arn, digest), services()[workflow], context)


def runtime_of_version(
    workflow: str, service: Service, own_arn: str, context: Any, digest: str | None = None
) -> Runtime:
    """Return the runtime of `workflow` for a delivery to the function version `own_arn` with `service`.

    `digest` is that of the definition; see `definition_at`, also for errors.
    """
    return _in_delivery(_fixed(workflow, service, own_arn, digest), service, context)


def index_of(workflow: str) -> Index:
    """Return the index of executions in the table of `workflow`."""
    return state_store(services()[workflow].table)


@cache
def user_handler(key: str | None = None) -> UserHandler:
    """Import the user's handler.

    Args:
        key: key of the handler in a function that has several.

    Raises:
        NotOurEvent: the function belongs to a workflow and has no such handler.
    """
    path = handler_paths().get(key)
    if path is None:
        raise NotOurEvent(_without_handler(key))
    module, _, attribute = path.rpartition(".")
    handler = awaiting(getattr(importlib.import_module(module.replace("/", ".")), attribute))
    return _traced(handler) if TRACES in os.environ else handler


def _traced(handler: UserHandler) -> UserHandler:
    from unum_runtime.features.traces.traced import traced  # noqa: PLC0415 - layers without traces leave it out

    return traced(handler)


def _without_handler(key: str | None) -> str:
    keys = [*handler_paths()]
    if not keys:
        return "this function has no user code; start its workflow through the start alias"
    if key is None:
        return f"this function has handlers for the Tasks of its workflows alone: {keys}; start a workflow instead"
    return f"handler: expected one of {keys}, got {key!r}"


@cache
def service_handler() -> Callable[[Call, Json, Clock, Mapping[str, str]], Any]:
    """Import the handler of service Tasks, which only the service function of a workflow needs."""
    from unum_runtime.features.services.service_function import handle  # noqa: PLC0415 - only one function of a workflow calls services

    return handle


@cache
def state_store(address: str) -> "DynamoStore | S3Store":
    """Return the store at `address`: the name of a DynamoDB table, or ``s3://`` and the name of a bucket."""
    if not address.startswith(BUCKET):
        return DynamoStore(client("dynamodb"), address)
    from unum_runtime.features.bucket_state.s3 import S3Store  # noqa: PLC0415 - loads botocore with the first request

    return S3Store(cache(lambda: botocore_client("s3")), address.removeprefix(BUCKET))


@cache
def invoker() -> Invoker:
    """Return the invoker of Lambda functions."""
    return LambdaInvoker(client("lambda"))


@cache
def status_events(bus: str, *, notes_first: bool = False) -> "StatusEvents":
    """Return the sender of status events to `bus`; see `StatusEvents`."""
    from unum_runtime.features.status_events.event_bus import EventBus  # noqa: PLC0415 - few workflows have events
    from unum_runtime.features.status_events.status_events import StatusEvents  # noqa: PLC0415 - as above

    return StatusEvents(put=EventBus(lambda: client("events"), bus).put, notes_first=notes_first)


@cache
def timer(queue_url: str | None) -> Timer:
    """Return the timer of the queue at `queue_url`."""
    if queue_url is None:
        return NoTimer()
    from unum_runtime.features.timers.sqs_timer import SqsTimer  # noqa: PLC0415 - many workflows delay no events

    return SqsTimer(client("sqs"), queue_url, _CLOCK)


def logger(context: Any, level: str = LogLevel.INFO, metrics: EmbeddedMetrics | None = None) -> Callable[..., None]:
    """Return a function that writes log lines as JSON, with embedded metrics if `metrics` counts their messages."""

    def log(message: str, /, **fields: Json) -> None:
        counted = metrics.members(message, fields) if metrics is not None else {}
        # A line with metrics is written at every level: CloudWatch extracts metrics from the log.
        if level == LogLevel.WARN and message in ROUTINE and not counted:
            return
        line = {"source": "unum", "message": message, "request_id": context.aws_request_id, **fields, **counted}
        # One write with the line break, because `print` writes both apart and threads could come between.
        sys.stdout.write(to_ascii(line) + "\n")

    return log


def logger_of(workflow: str, context: Any) -> Callable[..., None]:
    """Return a function that writes log lines of `workflow`, whatever its definition is."""
    service, unknown = services()[workflow], Workflow(name=workflow, start_at="", states={})
    return logger(context, service.log_level, EmbeddedMetrics(unknown, service.metrics, _CLOCK))


@cache
def _of_version(workflow: str, own_arn: str, digest: str | None) -> Runtime:
    """Return the part of this version's runtime that all its deliveries on one definition share."""
    return _fixed(workflow, services()[workflow], own_arn, digest)


def _fixed(workflow: str, service: Service, own_arn: str, digest: str | None) -> Runtime:
    """Return a runtime without user code, log and remaining time, which belong to a delivery."""
    store = _store(workflow, service)
    definition = definition_at(store, workflow, service, digest, own_arn)
    return Runtime(
        workflow=definition,
        store=store,
        invoker=invoker(),
        clock=_CLOCK,
        call=_refuse_call,
        hosts=frozenset(service.hosts),
        routes={**service.routes, **dict.fromkeys(service.hosts, own_arn), **_start_route(service, own_arn)},
        carried=service.carried,
        retention_s=service.retention_s,
        result_retention_s=service.result_retention_s,
        collection=definition.collection,
        code=own_arn,  # a new version for each change of code, layers, environment or configuration
        maintain_leases=maintain_by_default(),
        timer=timer(service.timer),
        own_address=own_arn,
        hand_over=lambda request: _hand_over(own_arn, request),
        statuses=None if service.events is None else status_events(service.events),
        read_pause=not_paused if service.start_alias is None else _pause_reader(store, workflow),
    )


def _pause_reader(store: Store, workflow: str) -> "Callable[[], Pause | None]":
    from unum_runtime.protocol.delivery.pause import PauseReader  # noqa: PLC0415 - only where executions start

    return PauseReader(store, workflow, _CLOCK).read


def _hand_over(own_arn: str, request: "TakeOver") -> None:
    from unum_runtime.functions.own_intake import send  # noqa: PLC0415 - after a deployment that removed an edge

    send(own_arn, request)


def _in_delivery(fixed: Runtime, service: Service, context: Any) -> Runtime:
    """Return `fixed` with user code, log and remaining time of the delivery with `context`."""
    remaining_ms = context.get_remaining_time_in_millis
    return fixed.in_delivery(
        arrival=arrival_of(context, _CLOCK),
        call=lambda call, value: _call(service, call, value, context),
        log=logger(context, service.log_level, EmbeddedMetrics(fixed.workflow, service.metrics, _CLOCK)),
        remaining_ms=remaining_ms,
        fuses=Fusion(fixed.own_address, remaining_ms, remaining_ms()) if service.fusion else None,
    )


def _refuse_call(call: Call, _value: Json) -> NoReturn:
    raise AssertionError(f"{call.invocation}: expected a delivery to run user code, got none")


def _start_route(service: Service, own_arn: str) -> Mapping[str, str]:
    """Return the route of the start alias, if executions start in this function."""
    return {START: f"{own_arn.rpartition(':')[0]}:{service.start_alias}"} if service.start_alias else {}


def _call(service: Service, call: Call, value: Json, context: Any) -> Any:
    """Run user code or a service request within its time limit."""
    if call.timeout_s is None:
        return _run(service, call, value, context)
    with time_limit(call.timeout_s):
        return _run(service, call, value, context)


def _run(service: Service, call: Call, value: Json, context: Any) -> Any:
    if call.resource is None:
        returned = user_handler(call.handler)(value, _context_of(context, call))
        # User code that passes a task token on may return anything: the result is what the responder hands in.
        return CallbackPending() if call.pattern is Pattern.CALLBACK else returned
    if call.resource.startswith(SIGNAL):
        return CallbackPending()
    if call.resource.startswith(ACTIVITY):
        return _offer(service, call, value)
    return service_handler()(call, value, _CLOCK, service.called)


def _context_of(context: Any, call: Call) -> Any:
    """Copy `context` for one call."""
    # A fused delivery runs several Tasks. Attributes that user code sets must not leak into the next one's context.
    own = object.__new__(type(context))
    vars(own).update(vars(context), unum=call)
    return own


def _offer(service: Service, call: Call, value: Json) -> CallbackPending:
    """Send a Task to the queue of its activity, where workers poll."""
    from unum_runtime.features.activities import Activities  # noqa: PLC0415 - few functions offer Tasks to workers

    Activities(client("sqs"), service.activities).offer(str(call.resource).removeprefix(ACTIVITY), call.token, value)
    return CallbackPending()


def _store(workflow: str, service: Service) -> Store:
    items = state_store(service.table)
    return items if service.payload_bucket is None else LargeItems(items, _objects(service.payload_bucket), workflow)


def links(service: Service) -> "Links | None":
    """Return the maker of links to large values; None without a payload bucket."""
    if service.payload_bucket is None:
        return None
    from unum_runtime.aws.object_bucket import S3Links  # noqa: PLC0415 - only for answers and inputs above 6 MB

    return S3Links(cache(lambda: botocore_client("s3", signature="s3v4")), service.payload_bucket)


@cache
def _objects(bucket: str) -> Objects:
    from unum_runtime.aws.object_bucket import S3Objects  # noqa: PLC0415 - many workflows have no large values

    # The client is made with the first large value: most executions of a workflow with a bucket have none.
    return S3Objects(cache(lambda: botocore_client("s3")), bucket)
