"""Lambda handler in place of the user's handler.

Four kinds of events arrive:

* through a start alias: events from outside the workflow. An event starts an execution, or is a responder's request
  with a task token. It is never read as an envelope;
* through a response alias: HTTP requests of responders, from a function URL;
* at a version, marked as an envelope: events from functions of the workflow;
* all other events: calls of the user's handler, as if the function had no layer.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from unum_runtime.asl.languages import load
from unum_runtime.aws.client_factory import start_connecting
from unum_runtime.errors import InvokeError, LeaseHeldError, NoRoute, NotOurEvent, RefusedDelivery, StoreError
from unum_runtime.functions import runtime_factory
from unum_runtime.functions.configuration import handler_paths, services
from unum_runtime.functions.definitions import keep_definition, load_workflow
from unum_runtime.functions.runtime_factory import runtime_here, user_handler
from unum_runtime.model.envelope import Envelope, is_envelope, named_start, start_writer
from unum_runtime.model.identity import started_by
from unum_runtime.model.ir import ACTIVITY, Json
from unum_runtime.model.naming import response_alias
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.delivery.start import resume, start
from unum_runtime.protocol.requests import start_alias
from unum_runtime.protocol.runtime import Runtime

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
        Through a start alias, workflow and name of the execution; for a request with a task token, its answer;
        otherwise the result of user code.
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
        return None
    return user_handler()(event, context)


@cache
def _entries() -> Mapping[str, tuple[str, Callable[[str, Json, Any], Json]]]:
    """Return workflow and function for each alias that takes no envelopes."""
    starts = {service.start_alias: name for name, service in services().items() if service.start_alias is not None}
    responds = {response_alias(name): (name, _respond) for name in starts.values()}
    return {**responds, **{alias: (name, _start) for alias, name in starts.items()}}


def _start(workflow: str, event: Json, context: Any) -> Json:
    """Start an execution, or answer a request with a task token."""
    runtime = runtime_here(workflow, context)
    if start_alias.is_request(event):
        return start_alias.answer(runtime, event)
    keep_definition(runtime)
    name = named_start(event)
    if name is None:
        # Lambda's request id is the same on every delivery of one asynchronous event, but not of one message.
        given, value = started_by(event)
        name = given or context.aws_request_id
        _log_transient(start, runtime, name, value)
    else:
        _log_transient(resume, runtime, name, start_writer(event))
    return {"workflow": workflow, "execution": name}


def _respond(workflow: str, event: Json, context: Any) -> Json:
    """Answer an HTTP request with a task token."""
    from unum_runtime.protocol.requests.function_url import respond  # noqa: PLC0415 - few workflows have a function URL

    return respond(runtime_here(workflow, context), event)


def _deliver(event: Json, context: Any) -> None:
    """Run one protocol step for an envelope."""
    envelope = Envelope.from_json(event)
    if envelope.workflow not in services():
        raise NotOurEvent(f"event.workflow: expected one of {sorted(services())}, got {envelope.workflow!r}")
    _log_transient(step, runtime_here(envelope.workflow, context), envelope)


def _log_transient(work: Callable[..., None], runtime: Runtime, *arguments: Any) -> None:
    """Run `work`; log errors after which Lambda delivers the event again, and raise them."""
    try:
        work(runtime, *arguments)
    except NoRoute:
        # An InvokeError that a later delivery cannot cure, so it does not count as throttling.
        raise
    except (StoreError, InvokeError, LeaseHeldError) as error:
        runtime.log("put off", error=type(error).__name__, reason=str(error))
        raise


def _initialize() -> None:
    """Prepare the first delivery during Lambda's init phase, and fail there if the function cannot work."""
    # Connections open in threads while the user's code is imported: TLS handshakes and imports both take long.
    opened = start_connecting(*_services_called())
    for key in handler_paths():
        user_handler(key)
    for name, service in services().items():
        workflow = load_workflow(name)
        for language in {state.language for state in workflow.states.values()}:
            load(language)
        own = [task for task in workflow.tasks if task.function in service.hosts]
        called = [task.resource for task in own if task.resource is not None]
        if not all(resource.startswith(ACTIVITY) for resource in called):
            runtime_factory.service_handler()
        runtime_factory.table(service.table)
        runtime_factory.timer(service.timer)
    runtime_factory.invoker()
    opened.join(MAX_INIT_WAIT_S)


def _services_called() -> Iterator[str]:
    """Yield the AWS services that all or many steps call."""
    yield from ("dynamodb", "lambda")
    if any(service.timer for service in services().values()):
        yield "sqs"


if "UNUM_WORKFLOWS" in os.environ:
    _initialize()
