"""What Lambda calls instead of the user's handler.

The function's environment says which workflows it serves (`UNUM_WORKFLOWS`, see `Service`) and which handler is the
user's (`UNUM_HANDLER`); with ``UNUM_MAINTAIN_LEASES=0`` leases are not renewed, and `UNUM_CLIENT` chooses a client
of AWS (`unum_runtime.aws.client_factory`). Four kinds of events arrive:

* through a start alias: from outsiders. The event begins an execution, or is a request by somebody who has a task
  token; it is never read as an envelope;
* through a response alias: HTTP requests by those who have a task token, from a function URL;
* at a version, marked as an envelope: from a function of the workflow;
* everything else: for the user's handler, as if we were not here.
"""

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn, TypeAlias

from unum_runtime.asl.languages import load
from unum_runtime.aws.client_factory import botocore_client, client, start_connecting
from unum_runtime.aws.embedded_metrics import EmbeddedMetrics
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.clock import Clock, SystemClock
from unum_runtime.cold_start.records import dataclass, field, replace
from unum_runtime.errors import InvokeError, LeaseHeldError, NoRoute, NotOurEvent, RefusedDelivery, StoreError
from unum_runtime.functions.time_limit import time_limit
from unum_runtime.model.envelope import START, Envelope, is_envelope, named_start, start_writer
from unum_runtime.model.identity import started_by
from unum_runtime.model.ir import ACTIVITY, Home, Json, Pattern, Workflow
from unum_runtime.model.log_level import ROUTINE, LogLevel
from unum_runtime.model.metrics import Metrics
from unum_runtime.model.naming import WORKFLOWS_FOLDER, response_alias
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.fusion import Fusion
from unum_runtime.protocol.delivery.lease import maintain_by_default
from unum_runtime.protocol.delivery.start import resume, start
from unum_runtime.protocol.requests import start_alias
from unum_runtime.protocol.runtime import Call, CallbackPending, Invoker, NoTimer, Runtime, Timer
from unum_runtime.store.base import Index, Store
from unum_runtime.store.dynamodb import DynamoStore
from unum_runtime.store.large_items import LargeItems
from unum_runtime.store.objects import Objects

LONGEST_INIT_WAIT_S = 2.0
"""How long the init phase, for which Lambda allows 10 seconds, waits for connections that do not come about."""

UserHandler: TypeAlias = Callable[[Json, Any], Any]

_CLOCK = SystemClock()


@dataclass(frozen=True, kw_only=True)
class Service:
    """What the environment says of one workflow that this function serves.

    Attributes:
        table: DynamoDB table of the workflow.
        hosts: keys of the workflow's functions that this function is.
        routes: version ARNs of functions by key, and ARNs of other workflows' start aliases.
        carried: keys of the functions, and of start aliases, whose ARNs travel with an execution that starts here.
        start_alias: name of the alias that outsiders start the workflow through; None where it starts elsewhere.
        retention_s: how long items are kept, in seconds.
        result_retention_s: how long those of an execution's result are kept, in seconds; None for as long as the rest.
        timer: URL of the queue that keeps events which have to wait; None where this function sends none.
        activities: URLs of the activities' queues by name.
        values: texts by the name of the placeholder in the IR that they take the place of.
        log_level: which lines the runtime logs.
        definition: where the IR is, as ``s3://bucket/key``, for functions that have no layer; None for the layer.
        metrics: how much is counted.
        fusion: whether a delivery may go on with what follows in the same function itself.
        payload_bucket: name of the bucket that values go to which are too large for the table; None for none.
    """

    table: str
    hosts: tuple[str, ...]
    routes: Mapping[str, str]
    retention_s: int
    result_retention_s: int | None = None
    carried: tuple[str, ...] = ()
    start_alias: str | None = None
    timer: str | None = None
    activities: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    log_level: str = LogLevel.INFO
    definition: str | None = None
    metrics: str = Metrics.WORKFLOW
    fusion: bool = True
    payload_bucket: str | None = None


def handle(event: Json, context: Any) -> Json:
    """One delivery by Lambda.

    Args:
        event: any JSON.
        context: Lambda's context object.

    Returns:
        To whoever starts a workflow synchronously, the execution's name; to whoever has a task token, what became of
        the request; to everybody else what user code returns.
    """
    *_, qualifier = context.invoked_function_arn.split(":")
    doors = _doors()
    try:
        if qualifier in doors:
            workflow, enter = doors[qualifier]
            return enter(workflow, event, context)
        if qualifier.isdecimal() and is_envelope(event):
            return _step(event, context)
    except RefusedDelivery as refused:
        # Returned, not raised: Lambda would deliver it again, and nothing could come of it.
        _logger(context)("refused", reason=str(refused))
        return None
    return user_handler()(event, context)


@cache
def _doors() -> Mapping[str, tuple[str, Callable[[str, Json, Any], Json]]]:
    """The aliases that are not for envelopes: each with its workflow, and what comes through it."""
    starts = {service.start_alias: name for name, service in services().items() if service.start_alias is not None}
    responds = {response_alias(name): (name, _respond) for name in starts.values()}
    return {**responds, **{alias: (name, _start) for alias, name in starts.items()}}


def _start(workflow: str, event: Json, context: Any) -> Json:
    runtime = _runtime(workflow, context)
    if start_alias.is_request(event):
        return start_alias.answer(runtime, event)
    name = named_start(event)
    if name is None:
        # Lambda's request id is the same on every delivery of one asynchronous event, but not of one message.
        given, value = started_by(event)
        name = given or context.aws_request_id
        _telling(start, runtime, name, value)
    else:
        _telling(resume, runtime, name, start_writer(event))
    return {"workflow": workflow, "execution": name}


def _respond(workflow: str, event: Json, context: Any) -> Json:
    from unum_runtime.protocol.requests.function_url import respond  # noqa: PLC0415 - few workflows have a function URL

    return respond(_runtime(workflow, context), event)


def _step(event: Json, context: Any) -> None:
    envelope = Envelope.from_json(event)
    if envelope.workflow not in services():
        raise NotOurEvent(f"event.workflow: expected one of {sorted(services())}, got {envelope.workflow!r}")
    runtime = _runtime(envelope.workflow, context)
    _telling(step, runtime, envelope)


def _telling(work: Callable[..., None], runtime: Runtime, *given: Any) -> None:
    """Do `work`; tell if Lambda has to repeat it, because something does not answer or somebody is at work on it."""
    try:
        work(runtime, *given)
    except NoRoute:
        raise
    except (StoreError, InvokeError, LeaseHeldError) as error:
        runtime.log("put off", error=type(error).__name__, reason=str(error))
        raise


def _runtime(workflow: str, context: Any) -> Runtime:
    own_arn = ":".join([*context.invoked_function_arn.split(":")[:7], context.function_version])
    return _in_delivery(_of_version(workflow, own_arn), services()[workflow], context)


def runtime_of(workflow: str, service: Service, own_arn: str, context: Any) -> Runtime:
    """The runtime of `workflow` in the function version `own_arn`, of which the environment says `service`."""
    return _in_delivery(_fixed(workflow, service, own_arn), service, context)


@cache
def _of_version(workflow: str, own_arn: str) -> Runtime:
    """What all deliveries of `workflow` to the version `own_arn`, which this is, have in common."""
    return _fixed(workflow, services()[workflow], own_arn)


def _in_delivery(fixed: Runtime, service: Service, context: Any) -> Runtime:
    remaining_ms = context.get_remaining_time_in_millis
    return fixed.in_delivery(
        call=lambda call, value: _call(service, call, value, context),
        log=_logger(context, service.log_level, EmbeddedMetrics(fixed.workflow, service.metrics, _CLOCK)),
        remaining_ms=remaining_ms,
        fuses=Fusion(fixed.own_address, remaining_ms, remaining_ms()) if service.fusion else None,
    )


def _fixed(workflow: str, service: Service, own_arn: str) -> Runtime:
    """The runtime, but for what is known of a delivery alone."""
    return Runtime(
        workflow=_at_home(workflow, own_arn),
        store=_store(workflow, service),
        invoker=_invoker(),
        clock=_CLOCK,
        call=_no_delivery,
        hosts=frozenset(service.hosts),
        routes={**service.routes, **dict.fromkeys(service.hosts, own_arn), **_own_start(service, own_arn)},
        carried=service.carried,
        retention_s=service.retention_s,
        result_retention_s=service.result_retention_s,
        collection=load_workflow(workflow).collection,
        code=own_arn,  # a new version for each change of code, layers, environment or configuration
        maintain_leases=maintain_by_default(),
        timer=_timer(service.timer),
        own_address=own_arn,
    )


def _no_delivery(call: Call, _value: Json) -> NoReturn:
    raise AssertionError(f"{call.invocation}: user code runs in a delivery")


def _own_start(service: Service, own_arn: str) -> Mapping[str, str]:
    """The address of the start alias, where executions start in this function."""
    return {START: f"{own_arn.rpartition(':')[0]}:{service.start_alias}"} if service.start_alias else {}


def _call(service: Service, call: Call, value: Json, context: Any) -> Any:
    if call.timeout_s is None:
        return _work(service, call, value, context)
    with time_limit(call.timeout_s):
        return _work(service, call, value, context)


def _work(service: Service, call: Call, value: Json, context: Any) -> Any:
    if call.resource is None:
        returned = user_handler()(value, _own(context, call))
        return CallbackPending() if call.pattern is Pattern.CALLBACK else returned
    if call.resource.startswith(ACTIVITY):
        return _offer(service, call, value)
    return _service_handler()(call, value, _CLOCK)


def _own(context: Any, call: Call) -> Any:
    """`context` for one call: a delivery may go on with the next Task, which does not see what user code sets there."""
    own = object.__new__(type(context))
    vars(own).update(vars(context), unum=call)
    return own


def _offer(service: Service, call: Call, value: Json) -> CallbackPending:
    from unum_runtime.aws.activities import Activities  # noqa: PLC0415 - few functions offer Tasks to workers

    Activities(client("sqs"), service.activities).offer(str(call.resource).removeprefix(ACTIVITY), call.token, value)
    return CallbackPending()


def _logger(context: Any, level: str = LogLevel.INFO, metrics: EmbeddedMetrics | None = None) -> Callable[..., None]:
    def log(message: str, /, **fields: Json) -> None:
        counted = metrics.members(message, fields) if metrics is not None else {}
        if level == LogLevel.WARN and message in ROUTINE and not counted:
            return
        line = {"source": "unum", "message": message, "request_id": context.aws_request_id, **fields, **counted}
        sys.stdout.write(json.dumps(line) + "\n")

    return log


@cache
def services() -> Mapping[str, Service]:
    """The workflows that this function serves, by name."""
    return services_in(os.environ)


def services_in(environment: Mapping[str, str]) -> Mapping[str, Service]:
    """The workflows that a function with `environment` serves, by name."""
    table = json.loads(environment.get("UNUM_WORKFLOWS", "{}"))
    return {
        name: Service(**service | {field: tuple(service.get(field, ())) for field in ("hosts", "carried")})
        for name, service in table.items()
    }


@cache
def load_workflow(name: str) -> Workflow:
    """The IR of workflow `name`, from the layer, or from where the environment says.

    Raises:
        FileNotFoundError: no folder on the path has it.
    """
    uri = services()[name].definition if name in services() else None
    if uri is not None:
        from unum_runtime.aws.definition_object import read_definition  # noqa: PLC0415 - only container images need it

        return Workflow.from_json(_with_values(name, read_definition(uri)))
    for folder in sys.path:
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            open(f"{folder}/{WORKFLOWS_FOLDER}/{name}.json", encoding="utf-8") as file,  # noqa: PTH123 - 6 ms of import
        ):
            return Workflow.from_json(_with_values(name, file.read()))
    file_name = f"{WORKFLOWS_FOLDER}/{name}.json"
    raise FileNotFoundError(f"{file_name} is in none of {sys.path}; is the workflow's layer attached?")


@cache
def _at_home(name: str, function_arn: str) -> Workflow:
    """The workflow `name`, which knows where it runs; that is where this function is."""
    _, partition, _, region, account, *_ = function_arn.split(":")
    return replace(load_workflow(name), home=Home(partition=partition, region=region, account=account))


def _with_values(name: str, ir: str) -> str:
    """The IR with what is known since the deployment; `Service.values`."""
    values = services()[name].values if name in services() else {}
    for placeholder, value in values.items():
        ir = ir.replace(f"${{{placeholder}}}", json.dumps(value)[1:-1])
    return ir


@cache
def user_handler() -> UserHandler:
    """The handler that the user gave the function.

    Raises:
        NotOurEvent: the function is one of a workflow's own and has no user code.
    """
    path = os.environ.get("UNUM_HANDLER")
    if path is None:
        raise NotOurEvent("this function has no code but a workflow's: start that by its start alias")
    module, _, attribute = path.rpartition(".")
    handler: UserHandler = getattr(importlib.import_module(module.replace("/", ".")), attribute)
    return handler


@cache
def _service_handler() -> Callable[[Call, Json, Clock], Any]:
    from unum_runtime.functions.service_function import handle  # noqa: PLC0415 - only one function of a workflow calls services

    return handle


def index_of(workflow: str) -> Index:
    """What lists the executions of `workflow`, if its table has an index for that."""
    return _table(services()[workflow].table)


def _store(workflow: str, service: Service) -> Store:
    table = _table(service.table)
    return table if service.payload_bucket is None else LargeItems(table, _objects(service.payload_bucket), workflow)


@cache
def _table(name: str) -> DynamoStore:
    return DynamoStore(client("dynamodb"), name)


@cache
def _objects(bucket: str) -> Objects:
    from unum_runtime.aws.object_bucket import S3Objects  # noqa: PLC0415 - many workflows have no large values

    return S3Objects(cache(lambda: botocore_client("s3")), bucket)  # most executions of the others have none either


@cache
def _invoker() -> Invoker:
    return LambdaInvoker(client("lambda"))


@cache
def _timer(queue_url: str | None) -> Timer:
    if queue_url is None:
        return NoTimer()
    from unum_runtime.aws.timer import SqsTimer  # noqa: PLC0415 - many workflows have no events that wait

    return SqsTimer(client("sqs"), queue_url, _CLOCK)


def _initialize() -> None:
    """Do during Lambda's init phase what would delay the first delivery, and fail there if it cannot be done."""
    opened = start_connecting(*_called())  # while the user's code is imported
    if "UNUM_HANDLER" in os.environ:
        user_handler()
    for name, service in services().items():
        workflow = load_workflow(name)
        for language in {state.language for state in workflow.states.values()}:
            load(language)
        own = [task for task in workflow.tasks if task.function in service.hosts]
        called = [task.resource for task in own if task.resource is not None]
        if not all(resource.startswith(ACTIVITY) for resource in called):
            _service_handler()
        _table(service.table)
        _timer(service.timer)
    _invoker()
    opened.join(LONGEST_INIT_WAIT_S)


def _called() -> Iterator[str]:
    """The services that every step calls, or many."""
    yield from ("dynamodb", "lambda")
    if any(service.timer for service in services().values()):
        yield "sqs"


if "UNUM_WORKFLOWS" in os.environ:
    _initialize()
