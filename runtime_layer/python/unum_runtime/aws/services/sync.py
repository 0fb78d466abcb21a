"""``.sync``: a job is started, and looked at until it is over."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.services import nested_executions
from unum_runtime.aws.services.adjust import field, parsed
from unum_runtime.aws.services.api_request import request
from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.jobs import JOBS, Job
from unum_runtime.aws.services.operation import Resource, parse
from unum_runtime.aws.services.service_call import call
from unum_runtime.errors import StatesError
from unum_runtime.model.ir import Json

GROWTH = 1.5
LONGEST_MS = 60_000


@dataclass(frozen=True, slots=True)
class Running:
    """The job is not over yet.

    Attributes:
        status: what the service says of it; empty if it does not know it yet.
    """

    status: str


def begin(resource: str, parameters: Json, *, clients: Clients, token: str) -> Json:
    """Start the job.

    Args:
        resource: a key of `JOBS`, with ``:2`` at its end for ``.sync:2``.
        parameters: a JSON object.
        clients: clients of the services.
        token: see `call`.

    Returns:
        A JSON object by which `poll` finds the job.

    Raises:
        StatesError: it could not be started.
    """
    called = parse(resource)
    response = call(called.name, parameters, clients=clients, token=token)
    if called.name == "ecs:runTask" and not response.get("Tasks"):
        raise StatesError("States.TaskFailed", dumps(response))
    templates = JOBS[called.name].handle
    handle = {name: _filled(template, (response, parameters)) for name, template in templates.items()}
    alias = nested_executions.start_alias(called, parameters)
    return handle | {nested_executions.ALIAS: alias} if alias else handle


def poll(resource: str, handle: Json, *, clients: Clients) -> Running | Json:
    """The job's result, or `Running`.

    Raises:
        StatesError: ``States.TaskFailed`` with the job's description as cause, if it failed; else the error that
            looking at it gave.
    """
    called = parse(resource)
    job = JOBS[called.name]
    plain = _description(called, job, handle, clients)
    status = _at(plain, job.status)
    if status not in (*job.succeeded, *job.failed):
        return Running(status or "")
    result = _result(called, job, plain, handle)
    if status in job.failed or job.is_broken(result):
        raise StatesError("States.TaskFailed", dumps(result))
    return result


def stop(resource: str, handle: Json, *, clients: Clients) -> None:
    """Stop the job, if its service can: nobody waits for it any more.

    Raises:
        StatesError: the service refused; the job may have ended meanwhile.
    """
    called = parse(resource)
    job = JOBS[called.name]
    if job.stop and nested_executions.ALIAS not in handle:  # what a workflow has started goes on
        parameters = {name: _filled(template, (handle,)) for name, template in job.stopped.items()}
        request(replace(called, operation=job.stop), parameters, clients)


def delay_ms(resource: str, polls: int) -> int:
    """How long to wait before the next look at a job that has been looked at `polls` times."""
    return min(LONGEST_MS, int(JOBS[parse(resource).name].first_ms * GROWTH ** min(polls, 20)))


def _description(called: Resource, job: Job, handle: Mapping[str, Json], clients: Clients) -> dict[str, Json]:
    """How the job is, without what an integration says of the HTTP response."""
    if nested_executions.ALIAS in handle:
        return nested_executions.describe(handle, clients)
    description = request(replace(called, operation=job.describe), handle, clients)
    return {name: value for name, value in description.items() if not name.startswith("Sdk")}


def _result(called: Resource, job: Job, description: Json, handle: Mapping[str, Json]) -> Json:
    found = _at(description, job.result) if job.result else description
    if job.wrapped:
        return {job.wrapped: found}
    if called.parses:
        return found | {name: parsed(found[name]) for name in ("Input", "Output") if name in found}
    return found | {"JobName": handle["JobName"]} if called.name == "glue:startJobRun" else found


def _filled(template: Json, sources: tuple[Json, ...]) -> Json:
    if isinstance(template, list):
        return [_filled(item, sources) for item in template]
    return next((value for source in sources if (value := _at(source, template)) is not None), None)


def _at(value: Json, path: str) -> Json:
    """What lies in `value` at `path`, such as ``Tasks.0.TaskArn``; None if there is nothing."""
    for step in path.split("."):
        match value:
            case dict():
                value = field(value, step)
            case list() if int(step) < len(value):
                value = value[int(step)]
            case _:
                return None
    return value
