"""Requests to the control function: stop, nudge, redrive, fork, delete, pause, sweep, memoized results, and others.

Nudges use the function versions that the execution began with; redrives and forks use those deployed now. An execution
of another IR is planned by the definition that the store keeps.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from unum_runtime.aws.invoker import PARALLEL_CALLS
from unum_runtime.aws.senders import parse_senders
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ClientError, DefinitionNotStored, ExecutionNotRedrivable
from unum_runtime.functions import own_intake
from unum_runtime.functions.configuration import services
from unum_runtime.functions.definitions import keep_definition
from unum_runtime.functions.operations import function_versions
from unum_runtime.functions.operations.caller import LambdaCaller
from unum_runtime.functions.operations.dead_letters import DAY_MS, FailureQueue, Postman, try_all
from unum_runtime.functions.operations.execution_versions import (
    deployed_runtime,
    newest_versions,
    own_runtime,
    recent_versions,
    runtime_on,
)
from unum_runtime.functions.operations.runtime_in_place import deployed_places
from unum_runtime.functions.operations.served_workflow import WorkflowContext, to_own_version, workflow_of
from unum_runtime.functions.runtime_factory import index_of, invoker
from unum_runtime.json_text import parse_json
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Json
from unum_runtime.model.variants import called, variant_like, why_not_called
from unum_runtime.protocol.control import control_aliases, operator_requests, pausing, versions
from unum_runtime.protocol.control.control_aliases import CALL, OF_RESULTS, SIGNAL
from unum_runtime.protocol.control.forks.fork import ForkRequest
from unum_runtime.protocol.control.operator_requests import Control, On, Request, is_request
from unum_runtime.protocol.control.redrives.redrive import under_way
from unum_runtime.protocol.control.sweep import Sweep, Swept, is_sweep, sweep
from unum_runtime.protocol.control.versions import pinned
from unum_runtime.protocol.history.start_records import last_step, start_record
from unum_runtime.protocol.history.timeline import from_start
from unum_runtime.protocol.requests.answers import refusal
from unum_runtime.protocol.requests.definition_records import read_definition
from unum_runtime.protocol.runtime import Runtime

REMOTE = "UNUM_REMOTE_INTAKE"
"""Environment variable with the ARNs of remote intakes by workflow, of those with functions of other stacks."""

_KEPT = {
    "queues": "its failed or delayed events in queues, with their inputs",
    "logs": "log lines of the workflow's own functions; those of others as long as their log groups keep them",
    "backups": "its items in backups of the table",
}
"""What remains elsewhere, by the names that the environment variable `UNUM_KEPT` has for each workflow."""


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
        if (asked := _of_workflow(event)) is not None:
            return asked(event, context)
        if is_request(event) and event["control"] == CALL:
            return _call(event, context)
        return _run_request(operator_requests.parse(event), event, context)
    except ClientError as error:
        return refusal(type(error).__name__, str(error))
    except ModuleNotFoundError as missing:  # layers leave out what their own definition does not use
        return refusal(
            operator_requests.VersionGone.__name__,
            f"the definition of this execution needs {missing.name}, which the functions of the deployed one lack; "
            "deploy a definition that uses the same query language, or fork the execution with an input",
        )


def _of_workflow(event: Json) -> Callable[[Json, Any], Json] | None:
    """Return what answers a request about the deployed workflow; None for requests about one execution, and others."""
    if control_aliases.asks_for_definition(event):
        return lambda _, context: control_aliases.store_definition(deployed_runtime(context))
    if pausing.is_request(event):
        return lambda event, context: pausing.answer(own_runtime(context), event)
    if is_request(event) and event["control"] in OF_RESULTS:
        return _answer_about_results
    if is_request(event) and event["control"] == SIGNAL:
        return _answer_signal
    return None


def _answer_about_results(event: Json, context: Any) -> Json:
    here = deployed_runtime(context, recently=True)
    _check_sharing(here)
    from unum_runtime.features.memo import remembered  # noqa: PLC0415 - few workflows share results

    return remembered.answer(here, event)


def _answer_signal(event: Json, context: Any) -> Json:
    """Send a signal to one execution, or all that wait for its key, and leave the rest to another delivery."""
    from unum_runtime.features.signals import signal, signal_by_key  # noqa: PLC0415 - few workflows wait for signals

    here = deployed_runtime(context, recently=True)
    if "execution" in event:
        return signal.answer(here, event)
    found = signal_by_key.send(replace(here, concurrently=_at_once), event)
    if found.rest is not None:
        here.log("left to another delivery", control=SIGNAL, signal=event["signal"], key=event["key"])
        here.invoker.invoke([to_own_version(found.rest, context)])
    return found.to_json()


def _check_sharing(here: Runtime) -> None:
    """Raise ValidationException if no Task shares results: the layer leaves out the modules for these requests."""
    if not any(task.memoize for task in here.workflow.tasks):
        raise operator_requests.ValidationException(
            f"workflow {here.workflow.name!r}: expected a Task with memoize, found none"
        )


def _call(event: Mapping[str, Json], context: Any) -> Json:
    """Call one Task, or tell what became of the call."""
    here = deployed_runtime(context, recently=True)
    _check_sharing(here)
    from unum_runtime.features.memo import calling  # noqa: PLC0415 - few workflows share results

    asked = calling.parse(event)
    if asked.run is not None:
        return calling.follow(here, asked)
    refused = why_not_called(here.workflow, asked.state)
    if refused is not None:
        raise operator_requests.ValidationException(refused)
    rt = runtime_on(None, recent_versions(context), context)
    task = rt.workflow.task(asked.state)
    rt = replace(rt, workflow=called(rt.workflow, asked.state), code=rt.address(task.function, {}))
    keep_definition(rt)  # functions have no other source of it
    return calling.call(rt, asked)


def _sweep_executions(asked: Sweep, context: Any) -> Json:
    """Sweep the executions, and send the rest of the sweep to another delivery when time runs out."""
    here = own_runtime(context)
    index, retention_s = index_of(here.workflow.name), partial(_retention_s, here)
    found = sweep(here, index, asked, partial(answer, context=context), retention_s)
    here.log("swept", looked_at=found.looked_at, silent=found.silent, is_done=found.rest is None)
    if found.rest is not None:
        # To where this request came: the alias of sweeps has its own destination for failures.
        payload = to_own_version(found.rest.to_json(), context)[1]
        here.invoker.invoke([(context.invoked_function_arn, payload)])
        return _as_json(found)
    if here.statuses is not None:
        from unum_runtime.features.status_events.announcements import (  # noqa: PLC0415 - only workflows with events have it
            announce_noted,
        )

        announce_noted(here, here.statuses)
    if asked.letters:
        # After the executions, so that a dead letter that takes too long keeps no execution from being found.
        _try_letters(asked.letters, [context])
    return _as_json(found)


def sweep_all(event: Mapping[str, Json], context: Any) -> Json:
    """Send the sweep `event` for each workflow to another delivery, and try the dead letters of all again.

    Returns:
        The number of workflows as ``workflows``; or ``error`` and ``message``.

    Raises:
        UnumError: some workflows may not be swept, or dead letters not tried; the next sweep does it.
    """
    try:
        asked = Sweep.from_json(event)
    except ClientError as error:
        return refusal(type(error).__name__, str(error))
    contexts = [WorkflowContext(context, workflow) for workflow in services()]
    for_each = replace(asked, letters="").to_json()
    invoker().invoke([to_own_version(for_each, each) for each in contexts])
    if asked.letters and contexts:
        _try_letters(asked.letters, contexts)
    return {"workflows": len(contexts)}


def _try_letters(queue_url: str, contexts: Sequence[Any]) -> None:
    """Try the dead letters of the workflows of `contexts`, which are in one queue, again."""
    postmen = {workflow_of(each): _postman(each) for each in contexts}
    try_all(postmen, FailureQueue(function_versions.queue_client(), queue_url))


def _postman(context: Any) -> Postman:
    here = own_runtime(context)
    return Postman(
        here,
        index_of(here.workflow.name),
        LambdaCaller(function_versions.dead_letter_client()).call,
        partial(_retention_s, here),
        parse_senders(os.environ["UNUM_SENDERS"]),
        own_intake.send,
        parse_json(os.environ.get(REMOTE, "{}")).get(here.workflow.name, ""),
        bool if len(services()) == 1 else partial(_is_own, context),
    )


def _is_own(context: Any, sender: str) -> bool:
    """Return True if `sender`, a role with a function's name, is a deployed function of the workflow."""
    places = deployed_places(workflow_of(context), context.invoked_function_arn)
    return sender.partition(":")[2] in {place.rpartition(":")[2] for place in places}


def _as_json(found: Swept) -> Json:
    return {"looked_at": found.looked_at, "silent": found.silent, "is_done": found.rest is None}


def _retention_s(here: Runtime, execution: Execution) -> int:
    """Return the retention of the version that `execution` began with; that of this version before its first step."""
    began = versions.runs_on(here.store, here.workflow.name, execution.name).began
    if began is None:
        return here.retention_s
    return function_versions.configured(began.address)[1][here.workflow.name].retention_s


def _run_request(request: Request, event: Mapping[str, Json], context: Any) -> Json:
    here = own_runtime(context)
    if request.control is Control.STOP:  # a stop writes to the store alone, so any version can do it
        return operator_requests.answer(_on_own_definition(here, request, context), request, None)
    if request.control is Control.DELETE:
        found = operator_requests.answer(deployed_runtime(context), request, None)
        _leave_rest(here, found, event, context)
        return {**found, "remains": [*found["remains"], *_kept_elsewhere(here)]}
    if request.fork is not None:
        return _fork(here, request, request.fork, event, context)
    if request.control is Control.REDRIVE:
        return _redrive(deployed_runtime(context), request, event, context)
    found = versions.runs_on(here.store, here.workflow.name, request.execution)
    return _perform(found, request, event, context)


def _on_own_definition(here: Runtime, request: Request, context: Any) -> Runtime:
    """Return `here` with the definition of the execution, which knows what a stop collects; `here` without one."""
    execution = start_record(here.store, here.workflow.name, request.execution).name.execution
    last = last_step(here.store, here.workflow.name, execution)
    try:
        return here if last is None or not last.digest else own_runtime(context, last.digest)
    except DefinitionNotStored:
        return here


def _redrive(here: Runtime, request: Request, event: Mapping[str, Json], context: Any) -> Json:
    """Redrive an execution on the requested versions; by default on the current versions if these can continue it.

    Returns:
        The answer, with the chosen versions as ``on``, and the ``reason``.
    """
    steps = from_start(here.store, here.workflow.name, request.execution)
    found, pin = versions.runs_on_after(steps), pinned(here.store, here.workflow.name, steps[-1].name.following)
    here = _of_same_kind(here, found)
    if pin is not None:
        on = On.ORIGINAL if pin.digest == found.digest != here.workflow.digest else On.CURRENT
        if request.on not in (None, on):
            raise ExecutionNotRedrivable(
                f"execution {request.execution!r}: a redrive on {on} has begun and is not finished; redrive on that"
            )
        done = _redrive_on(here, found, pin, request, event, context)
        return _say(done, on, "an unfinished redrive continues on the versions that it began with")
    if found.digest in (None, here.workflow.digest):
        on = request.on or On.CURRENT
        began = found.began if on is On.ORIGINAL and found.began else newest_versions(context)
        return _say(_perform(found._replace(began=began), request, event, context), on, "both have the same definition")
    if request.on is On.ORIGINAL or under_way(steps) is not None:
        reason = "it was asked for" if request.on else "an earlier redrive runs on them"
        return _say(_perform(found, request, event, context), On.ORIGINAL, reason)
    try:
        newest = versions.RunsOn(here.workflow.digest, newest_versions(context))
        done = _redrive_on(here, found, newest, request, event, context)
    except (ExecutionNotRedrivable, DefinitionNotStored) as refused:
        if request.on is On.CURRENT:
            raise
        return _say(_perform(found, request, event, context), On.ORIGINAL, f"not on the current ones: {refused}")
    return _say(done, On.CURRENT, "they can continue from what is committed")


def _of_same_kind(here: Runtime, found: versions.RunsOn) -> Runtime:
    """Return `here` with a variant of the deployed definition, if an execution on version `found` runs on one."""
    if found.digest in (None, here.workflow.digest):
        return here
    try:
        own = variant_like(read_definition(here.store, here.workflow.name, found.digest), here.workflow)
    except DefinitionNotStored:
        return here
    if own is not here.workflow:
        here = replace(here, workflow=own)
        keep_definition(here)  # functions have no other source of it
    return here


def _redrive_on(
    here: Runtime,
    found: versions.RunsOn,
    chosen: versions.RunsOn,
    request: Request,
    event: Mapping[str, Json],
    context: Any,
) -> Json:
    """Redrive an execution that runs on version `found` so far on the version `chosen`."""
    old = None
    if found.digest not in (None, chosen.digest):
        old = read_definition(here.store, here.workflow.name, found.digest)
    return _perform(chosen, request, event, context, old)


def _say(done: Json, on: On, reason: str) -> Json:
    """Return the answer `done` with the chosen versions; a refusal stays as it is."""
    return done if "error" in done else {**done, "on": on, "reason": reason}


def _fork(here: Runtime, request: Request, asked: ForkRequest, event: Mapping[str, Json], context: Any) -> Json:
    """Begin a fork on the versions deployed now, or continue one on those that it began with."""
    runs_on = operator_requests.fork_runs_on(here.store, here.workflow.name, asked)
    return _perform(runs_on or versions.RunsOn(None, None), request, event, context)


def _perform(
    chosen: versions.RunsOn,
    request: Request,
    event: Mapping[str, Json],
    context: Any,
    old: Workflow | None = None,
) -> Json:
    """Perform a request on the version `chosen`, and send its rest to another delivery when time runs out."""
    began = chosen.began or newest_versions(context)
    try:
        rt = runtime_on(chosen.digest, began, context)
    except DefinitionNotStored as unknown:
        raise operator_requests.VersionGone(
            f"execution {request.execution!r} runs on IR {chosen.digest}, which is not stored; fork it with an input"
        ) from unknown
    if request.control is not Control.WHY:  # the others continue or begin an execution on this version
        keep_definition(rt)
    found = operator_requests.answer(replace(rt, concurrently=_at_once), request, began, old)
    if request.control is not Control.WHY:
        _leave_rest(rt, found, event, context)
    return found


def _leave_rest(rt: Runtime, found: Json, event: Mapping[str, Json], context: Any) -> None:
    """Send the rest of a request to another delivery, if the answer `found` says that a part is left."""
    if found.get(operator_requests.IS_DONE) is False:
        rt.log("left to another delivery", control=event["control"], execution=event["execution"])
        rt.invoker.invoke([to_own_version(event, context)])


def _kept_elsewhere(here: Runtime) -> list[Json]:
    """Return where AWS keeps data of executions that no deletion reaches, as the deployment knows it."""
    kept: Mapping[str, int | None] = parse_json(os.environ.get("UNUM_KEPT", "{}")).get(here.workflow.name, {})
    now_ms = here.clock.now_ms()
    ends = {place: None if days is None else now_ms + days * DAY_MS for place, days in kept.items()}
    return [{"what": _KEPT[place], "until_ms": end_ms} for place, end_ms in ends.items() if place in _KEPT]


def _at_once(work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Return the results of `work` for each of `items`, with several calls at once."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only for copies of wide fan-outs

    with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
        return [*pool.map(work, items)]
