"""Lambda handler in place of the user's handler.

Five kinds of events arrive:

* through a start alias: events of event sources. Whatever arrives is the input of an execution;
* through a run alias: requests to start an execution by name;
* through a response alias: answers with a task token, as requests or, from a function URL, over HTTP;
* at a version, marked as an envelope: events from functions of the workflow;
* all other events: calls of the user's handler, as if the function had no layer.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from unum_runtime.asl.languages import load
from unum_runtime.aws.client_factory import start_connecting
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import (
    ClientError,
    DefinitionNotStored,
    ExecutionAlreadyExists,
    ExecutionDeleted,
    ExecutionDoesNotExist,
    InvokeError,
    LeaseHeldError,
    NoRoute,
    NotOurEvent,
    OtherDefinition,
    RefusedDelivery,
    StartRefused,
    StartsPaused,
    StoreError,
)
from unum_runtime.functions import runtime_factory
from unum_runtime.functions.configuration import SERVICE_CALLS, TRACES, Service, handler_paths, queues, services
from unum_runtime.functions.definitions import has_own_definition, keep_definition, load_workflow
from unum_runtime.functions.delivery_facts import end_init
from unum_runtime.functions.runtime_factory import runtime_here, user_handler
from unum_runtime.model.envelope import Envelope, is_answered, is_envelope
from unum_runtime.model.naming import response_alias, run_alias, start_alias
from unum_runtime.model.states import ACTIVITY, SIGNAL, Json, Language
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.requests.entry_aliases import run, start_by_event
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import BUCKET

MAX_INIT_WAIT_S = 2.0
"""Longest wait of the init phase for connections, in seconds; Lambda allows the init phase 10 seconds.

Source: AWS Lambda Developer Guide, "Understanding the Lambda execution environment lifecycle".
"""


def handle(event: Json, context: Any) -> Json:
    """Handle one delivery by Lambda.

    Args:
        event: any JSON.
        context: Lambda's context object.

    Returns:
        Through a start or run alias, workflow and name of the execution; for a request that asks for an answer, that;
        otherwise the result of user code.

    Raises:
        ClientError: through an alias that takes starts, a request or start that is refused: Lambda reports it to a
            caller that waits as a function error, and gives an event to the intake after its last attempt.
        UnumError: a service did not answer; Lambda delivers the event again.
    """
    *_, qualifier = context.invoked_function_arn.split(":")
    entries = _entries()
    try:
        if qualifier in entries:
            workflow, enter = entries[qualifier]
            return enter(workflow, event, context)
        # Permission to invoke an alias is not permission to forge envelopes: these count at versions alone.
        if qualifier.isdecimal() and is_envelope(event):
            return _deliver(event, context)
    except RefusedDelivery as refused:
        # Return instead of raise: Lambda would deliver the event again, to be refused again.
        runtime_factory.logger(context)("refused", reason=str(refused))
        if isinstance(
            refused, StartRefused
        ):  # its caller learns that nothing began; the intake drops what nobody waits for
            raise
        return None
    return user_handler()(event, context)


@cache
def _entries() -> Mapping[str, tuple[str, Callable[[str, Json, Any], Json]]]:
    """Return workflow and function for each alias that takes no envelopes."""
    entrances = ((start_alias, _start), (run_alias, _run), (response_alias, _respond))
    names = [name for name, service in services().items() if service.start_alias is not None]
    return {alias(name): (name, enter) for name in names for alias, enter in entrances}


def _start(workflow: str, event: Json, context: Any) -> Json:
    """Start an execution with `event` as input."""
    return _log_transient(partial(_start_now, workflow, event), workflow, context)


def _start_now(workflow: str, event: Json, context: Any) -> Json:
    runtime = runtime_here(workflow, context)
    keep_definition(runtime)
    # Lambda's request id is the same on every delivery of one asynchronous event, but not of one message.
    return start_by_event(
        runtime,
        event,
        context.aws_request_id,
        queues=queues().get(workflow, {}),
    )


def _run(workflow: str, event: Json, context: Any) -> Json:
    """Start an execution by name, or answer what became of the start."""
    if not is_answered(event):
        return _log_transient(partial(_run_now, workflow, event), workflow, context)
    runtime, service = runtime_here(workflow, context), services()[workflow]
    if event.get("force") is True:
        from unum_runtime.model.variants import forced  # noqa: PLC0415 - few executions compute everything anew

        runtime = replace(runtime, workflow=forced(runtime.workflow))
        keep_definition(runtime)
    answer = run(runtime, event, context.aws_request_id, runtime_factory.links(service))
    # The caller knows no other way to the function that describes what it has started.
    return answer if service.describe_alias is None else {**answer, "DescribeAlias": service.describe_alias}


def _run_now(workflow: str, event: Json, context: Any) -> Json:
    runtime = runtime_here(workflow, context)
    keep_definition(runtime)
    # A caller that waits learns of a refusal by an error alone. Lambda does not tell whether one waits; an event that
    # nobody waits for is refused at each attempt, and the intake drops it or makes it a dead letter, by its kind.
    try:
        try:
            return run(runtime, event, context.aws_request_id)
        except OtherDefinition as other:
            runtime = runtime_here(workflow, context, other.digest)
            return run(runtime, event, context.aws_request_id)
    except ExecutionDeleted as deleted:
        raise _logged(runtime, ExecutionAlreadyExists(str(deleted))) from deleted
    except StartRefused as refused:
        raise _logged(runtime, ExecutionDoesNotExist(str(refused))) from refused
    except StartsPaused:
        raise
    except ClientError as error:
        _logged(runtime, error)
        raise


def _logged(runtime: Runtime, error: ClientError) -> ClientError:
    """Log the refusal `error`, and return it."""
    runtime.log("refused", reason=str(error), error=type(error).__name__)
    return error


def _respond(workflow: str, event: Json, context: Any) -> Json:
    """Answer a request with a task token, which may come over HTTP."""
    from unum_runtime.protocol.requests import function_url, respond  # noqa: PLC0415 - few workflows wait for answers

    runtime = runtime_here(workflow, context)
    return respond.answer(runtime, event) if respond.is_request(event) else function_url.respond(runtime, event)


def _deliver(event: Json, context: Any) -> None:
    """Run one protocol step for an envelope."""
    envelope = Envelope.from_json(event)
    if envelope.workflow not in services():
        raise NotOurEvent(f"event.workflow: expected one of {sorted(services())}, got {envelope.workflow!r}")
    _log_transient(partial(_step, envelope), envelope.workflow, context)


def _step(envelope: Envelope, context: Any) -> None:
    """Run one protocol step on the definition that the envelope names: the execution stays on it."""
    try:
        runtime = runtime_here(envelope.workflow, context, envelope.digest)
    except DefinitionNotStored as unknown:
        raise NotOurEvent(f"{envelope.name}: {unknown}") from unknown
    step(runtime, envelope)


def _log_transient(work: Callable[[Any], Json], workflow: str, context: Any) -> Json:
    """Run `work` in the delivery with `context`; log errors after which Lambda delivers again, and raise them."""
    try:
        return work(context)
    except NoRoute:
        # An InvokeError that a later delivery cannot cure, so it does not count as throttling.
        raise
    except (StoreError, InvokeError, LeaseHeldError) as error:
        runtime_factory.logger_of(workflow, context)("put off", error=type(error).__name__, reason=str(error))
        raise


def _initialize() -> None:
    """Prepare the first delivery during Lambda's init phase, and fail there if the function cannot work."""
    # Connections open in threads while the user's code is imported: TLS handshakes and imports both take long.
    opened = start_connecting(*_services_called())
    for key in handler_paths():
        user_handler(key)
    for name, service in services().items():
        runtime_factory.state_store(service.table)
        runtime_factory.timer(service.timer)
        if not has_own_definition(name):  # the first event names the definition to read
            _load_for_any_definition(service)
            continue
        workflow = load_workflow(name)
        for language in {state.language for state in workflow.states.values()}:
            load(language)
        own = [task for task in workflow.tasks if task.function in service.hosts]
        called = [task.resource for task in own if task.resource is not None]
        if not all(resource.startswith((ACTIVITY, SIGNAL)) for resource in called):
            runtime_factory.service_handler()
    runtime_factory.invoker()
    opened.join(MAX_INIT_WAIT_S)
    end_init()


def _load_for_any_definition(service: Service) -> None:
    """Load what the workflow's definitions need, without one of them."""
    for each in service.loads:
        if each == SERVICE_CALLS:
            runtime_factory.service_handler()
        else:
            load(Language(each))


def _services_called() -> Iterator[str]:
    """Yield the AWS services that all or many steps call."""
    if not all(service.table.startswith(BUCKET) for service in services().values()):
        yield "dynamodb"
    yield "lambda"
    if any(service.timer for service in services().values()):
        yield "sqs"


def _sending_spans() -> Callable[[Json, Any], Json]:
    """Return `handle`, sending all finished spans of user code before each return."""
    from unum_runtime.features.traces.traced import flushed  # noqa: PLC0415 - few workflows have traces of user code

    return flushed(handle)


if "UNUM_WORKFLOWS" in os.environ:
    _initialize()
if TRACES in os.environ:
    handle = _sending_spans()  # type: ignore[assignment]
