"""Control requests to the failure handler through its alias: stop, nudge, redrive, fork, sweep, deployed definition.

Nudges use the function versions that the execution began with; redrives and forks use those deployed now. An execution
of another IR has a handler of its own, to which requests are forwarded.
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from unum_runtime.aws.caller import LambdaCaller
from unum_runtime.aws.failure_queue import FailureQueue
from unum_runtime.aws.invoker import PARALLEL_CALLS
from unum_runtime.aws.senders import parse_senders
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ClientError, DefinitionNotStored, ExecutionNotRedrivable, NotOurEvent
from unum_runtime.functions import function_versions, refused_places
from unum_runtime.functions.configuration import services
from unum_runtime.functions.dead_letters import Postman
from unum_runtime.functions.definitions import keep_definition
from unum_runtime.functions.function_versions import addresses, begun_at, function_of, on_failure, start_alias
from unum_runtime.functions.runtime_factory import index_of, runtime_of
from unum_runtime.model.checkpoint import Began, to_text
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Json, Workflow
from unum_runtime.model.naming import Execution, control_alias
from unum_runtime.protocol.control import definition_request, operator_requests, versions
from unum_runtime.protocol.control.fork import ForkRequest
from unum_runtime.protocol.control.operator_requests import Control, On, Request
from unum_runtime.protocol.control.redrive import under_way
from unum_runtime.protocol.control.sweep import Sweep, is_sweep, sweep
from unum_runtime.protocol.control.versions import pinned
from unum_runtime.protocol.delivery.deliver import step
from unum_runtime.protocol.history.definition_records import read_definition
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.requests.start_alias import refusal
from unum_runtime.protocol.runtime import Runtime


def answer(event: Json, context: Any) -> Json:
    """Carry out the request in `event`.

    Returns:
        The answer; or ``error``, with boto3's name for it, and ``message``.

    Raises:
        UnumError: the result is unknown; the caller must repeat the request.
    """
    try:
        if is_sweep(event):
            return _sweep_executions(Sweep.from_json(event), context)
        if definition_request.is_request(event):
            return definition_request.answer(_runtime(None, context))
        return _run_request(operator_requests.parse(event), event, context)
    except ClientError as error:
        return refusal(type(error).__name__, str(error))


def deliver(event: Mapping[str, Json], context: Any) -> None:
    """Run one step for an envelope of a state without user code, which a control request led to.

    Raises:
        NotOurEvent: the envelope belongs to another workflow.
    """
    (workflow,) = services()
    envelope = Envelope.from_json(event)
    if envelope.workflow != workflow:
        raise NotOurEvent(f"event.workflow: expected {workflow!r}, got {envelope.workflow!r}")
    here = _runtime(None, context)
    found = versions.runs_on(here.store, workflow, envelope.name.execution.name)
    step(_runtime(found.began or _newest_versions(context), context), envelope)


def _sweep_executions(asked: Sweep, context: Any) -> Json:
    """Sweep the executions, and send the rest of the sweep to another delivery when time runs out."""
    here = _runtime(None, context)
    index, retention_s = index_of(here.workflow.name), partial(_retention_s, here)
    found = sweep(here, index, asked, partial(answer, context=context), retention_s)
    here.log("swept", looked_at=found.looked_at, silent=found.silent, is_done=found.rest is None)
    if found.rest is not None:
        here.invoker.invoke([(context.invoked_function_arn, to_text(found.rest.to_json()).encode())])
    elif asked.letters:
        # After the executions, so that a letter that takes too long keeps no execution from being found.
        Postman(
            here,
            index,
            FailureQueue(function_versions.queue_client(), asked.letters),
            LambdaCaller(function_versions.letter_client()).call,
            retention_s,
            parse_senders(os.environ["UNUM_SENDERS"]),
            refused_places.send,
        ).try_all()
    return {"looked_at": found.looked_at, "silent": found.silent, "is_done": found.rest is None}


def _retention_s(here: Runtime, execution: Execution) -> int:
    """Return the retention of the version that `execution` began with; that of this version before its first step."""
    began = versions.runs_on(here.store, here.workflow.name, execution.name).began
    if began is None:
        return here.retention_s
    return function_versions.configured(began.address)[1][here.workflow.name].retention_s


def _run_request(request: Request, event: Mapping[str, Json], context: Any) -> Json:
    here = _runtime(None, context)
    if request.control is Control.STOP:  # a stop writes to the store alone, so any version can do it
        return operator_requests.answer(here, request, None)
    if request.fork is not None:
        return _fork(here, request, request.fork, event, context)
    if request.control is Control.REDRIVE:
        return _redrive(here, request, event, context)
    found = versions.runs_on(here.store, here.workflow.name, request.execution)
    if found.digest not in (None, here.workflow.digest):
        return _forward(here, found, request, event)
    began = found.began or _newest_versions(context)
    return _perform(_runtime_from(found, began, context), request, began, event, context)


def _redrive(here: Runtime, request: Request, event: Mapping[str, Json], context: Any) -> Json:
    """Redrive an execution on the requested versions; by default on the current versions if these can continue it.

    Returns:
        The answer, with the chosen versions as ``on``, and the ``reason``.
    """
    steps = from_start(here.store, here.workflow.name, request.execution)
    found, begun = versions.runs_on_after(steps), pinned(here.store, here.workflow.name, steps[-1].name.following)
    if begun is not None:
        on = On.ORIGINAL if begun.digest == found.digest != here.workflow.digest else On.CURRENT
        if request.on not in (None, on):
            raise ExecutionNotRedrivable(
                f"execution {request.execution!r}: a redrive on {on} has begun and is not finished; redrive on that"
            )
        done = _redrive_on(here, found, begun, request, event, context)
        return _say(done, on, "an unfinished redrive continues on the versions that it began with")
    if found.digest in (None, here.workflow.digest):
        on = On.ORIGINAL if request.handed_on else request.on or On.CURRENT
        began = found.began if on is On.ORIGINAL and found.began else _newest_versions(context)
        rt = _runtime_from(found, began, context)
        return _say(_perform(rt, request, began, event, context), on, "both have the same definition")
    if request.on is On.ORIGINAL or under_way(steps) is not None:
        reason = "it was asked for" if request.on else "an earlier redrive runs on them"
        return _say(_forward(here, found, request, event), On.ORIGINAL, reason)
    try:
        newest = versions.RunsOn(here.workflow.digest, _newest_versions(context))
        done = _redrive_on(here, found, newest, request, event, context)
    except (ExecutionNotRedrivable, DefinitionNotStored) as refused:
        if request.on is On.CURRENT:
            raise
        return _say(_forward(here, found, request, event), On.ORIGINAL, f"not on the current ones: {refused}")
    return _say(done, On.CURRENT, "they can continue from what is committed")


def _redrive_on(
    here: Runtime,
    found: versions.RunsOn,
    chosen: versions.RunsOn,
    request: Request,
    event: Mapping[str, Json],
    context: Any,
) -> Json:
    """Redrive an execution that runs on version `found` so far on the version `chosen`."""
    if chosen.digest != here.workflow.digest:
        return _forward(here, chosen, request, event)
    began, old = chosen.began or _newest_versions(context), None
    if found.digest not in (None, chosen.digest):
        old = read_definition(here.store, here.workflow.name, found.digest)
    return _perform(_runtime_from(chosen, began, context), request, began, event, context, old)


def _say(done: Json, on: On, reason: str) -> Json:
    """Return the answer `done` with the chosen versions; a refusal stays as it is."""
    return done if "error" in done else {**done, "on": on, "reason": reason}


def _runtime_from(found: versions.RunsOn, began: Began, context: Any) -> Runtime:
    rt = _runtime(began, context)
    # No delivery has begun it, so it starts at the function of the start alias.
    return replace(rt, own_address=began.address) if found.digest is None else rt


def _fork(here: Runtime, request: Request, asked: ForkRequest, event: Mapping[str, Json], context: Any) -> Json:
    """Begin a fork on the versions deployed now, or continue one on those that it began with."""
    begun = operator_requests.fork_runs_on(here.store, here.workflow.name, asked)
    if begun is not None and begun.digest != here.workflow.digest:
        return _forward(here, begun, request, event)
    began = (begun and begun.began) or _newest_versions(context)
    return _perform(_runtime(began, context), request, began, event, context)


def _perform(
    rt: Runtime,
    request: Request,
    began: Began,
    event: Mapping[str, Json],
    context: Any,
    old: Workflow | None = None,
) -> Json:
    """Perform a request, and send its rest to another delivery when time runs out."""
    if request.control is not Control.WHY:  # the others continue or begin an execution on this version
        keep_definition(rt)
    found = operator_requests.answer(replace(rt, concurrently=_at_once), request, began, old)
    if found.get(operator_requests.IS_DONE) is False:
        rt.log("left to another delivery", control=request.control, execution=request.execution)
        # At this version, which the copies are of: the alias may have moved on.
        rt.invoker.invoke([(_own_version(context), to_text(event).encode())])
    return found


def _at_once(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Return the results of `work` for each of `items`, with several calls at once."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for copies of wide fan-outs

    with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
        return [*pool.map(work, items)]


def _forward(here: Runtime, found: versions.RunsOn, request: Request, event: Mapping[str, Json]) -> Json:
    """Forward a request to the failure handler of the execution's version.

    Raises:
        VersionGone: that handler is unknown, or the request was forwarded before.
    """
    # Forward once: two handlers that each take the other for the right one would send the request back and forth.
    if found.began is not None and not request.handed_on:
        own = function_of(here.own_address)
        for address in addresses(here.workflow.name, found.began).values():
            handler = on_failure(address)
            if handler is not None and function_of(handler) == own:
                handed_on = {**event, operator_requests.HANDED_ON: True}
                return LambdaCaller(function_versions.lambda_client()).call(handler, json.dumps(handed_on).encode())
    raise operator_requests.VersionGone(
        f"execution {request.execution!r} runs on IR {found.digest}, this is IR {here.workflow.digest}, and no handler "
        "of the other is known; fork it with an input"
    )


def _newest_versions(context: Any) -> Began:
    """Return the deployed versions, through the description of the control alias."""
    (workflow,) = services()
    own = f"{function_of(context.invoked_function_arn)}:{control_alias(workflow)}"
    return begun_at(workflow, start_alias(own))


def _runtime(began: Began | None, context: Any) -> Runtime:
    """Return a runtime without user code, with the routes to the versions of `began`."""
    ((workflow, service),) = services().items()
    if began is not None:
        routes = {**began.routes, **addresses(workflow, began)}
        service = replace(service, routes=routes, carried=tuple(began.routes))
    return replace(runtime_of(workflow, service, _own_version(context), context), hosts=frozenset())


def _own_version(context: Any) -> str:
    return f"{function_of(context.invoked_function_arn)}:{context.function_version}"
