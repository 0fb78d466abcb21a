"""Requests of services and of jobs of ``.sync`` Tasks, with JSON parameters and results: start, polling, stop."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.features.services import nested_executions
from unum_runtime.features.services.adjust import (
    adjust_parameters,
    adjust_result,
    field,
    parse_if_json,
    recover_response,
)
from unum_runtime.features.services.api_request import send_request
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.http import invoke_api, invoke_endpoint
from unum_runtime.features.services.jobs import JOBS, Job
from unum_runtime.features.services.operation import Resource, parse
from unum_runtime.features.services.shapes import BadParameter
from unum_runtime.model.states import Json

GROWTH = 1.5
"""Factor between the delays of consecutive polls; Step Functions documents no rule."""
LONGEST_MS = 60_000


def call(resource: str, parameters: Json, *, clients: Clients, token: str | None = None) -> Json:
    """Call a service and return its response as the Task result.

    Args:
        resource: resource such as ``dynamodb:putItem`` or ``aws-sdk:s3:getObject``.
        parameters: JSON object.
        clients: clients of AWS services.
        token: idempotency token of at most 64 characters, equal for all calls that shall have one effect; used if the
            API has a field for it and the parameters leave it empty.

    Raises:
        StatesError: the call failed; named as in Step Functions.
    """
    fields = {} if parameters is None else parameters
    if not isinstance(fields, dict):
        raise BadParameter("$", "expected an object")
    match resource:
        case "apigateway:invoke":
            return invoke_api(fields, clients)
        case "http:invoke":
            return invoke_endpoint(fields, clients)
        case "eks:call":
            from unum_runtime.features.kubernetes import call_cluster  # noqa: PLC0415 - few workflows call clusters

            return call_cluster(fields, clients)
        case "eks:runJob":
            from unum_runtime.features.kubernetes import create_job  # noqa: PLC0415 - likewise

            return create_job(fields, clients, token)
    called = parse(resource)
    adjusted = adjust_parameters(called, fields, clients, token)
    if alias := nested_executions.start_alias(called, adjusted):
        return nested_executions.start(alias, adjusted, clients)
    try:
        response = send_request(called, adjusted, clients, token)
    except StatesError as failed:
        response = recover_response(called, adjusted, token, failed)
    return adjust_result(called, fields, response, clients)


@dataclass(frozen=True, slots=True)
class Running:
    """Unfinished job.

    Attributes:
        status: service's status; empty if not available yet.
    """

    status: str


def begin(resource: str, parameters: Json, *, clients: Clients, token: str) -> Json:
    """Start the job.

    Args:
        resource: key of `JOBS`, with ``:2`` at its end for ``.sync:2``.
        parameters: JSON object.
        clients: clients of AWS services.
        token: see `call`.

    Returns:
        Handle for `poll`, a JSON object.

    Raises:
        StatesError: the start failed.
    """
    called = parse(resource)
    alias = nested_executions.start_alias(called, parameters) if isinstance(parameters, dict) else None
    if alias is not None:
        return nested_executions.begin(alias, adjust_parameters(called, parameters, clients, token), clients)
    response = call(called.name, parameters, clients=clients, token=token)
    # RunTask answers 200 even if ECS placed no task (ECS API Reference, RunTask, failures).
    if called.name == "ecs:runTask" and not response.get("Tasks"):
        raise StatesError("States.TaskFailed", dumps(response))
    templates = JOBS[called.name].handle
    return {name: _fill(template, (response, parameters)) for name, template in templates.items()}


def poll(resource: str, handle: Json, *, clients: Clients) -> Running | Json:
    """Return the job's result, or `Running`.

    Raises:
        StatesError: ``States.TaskFailed`` with the job's description as cause, if the job failed; else the request's
            error.
    """
    called = parse(resource)
    job = JOBS[called.name]
    try:
        plain = _description(called, job, handle, clients)
    except StatesError as error:
        if job.gone and error.error.endswith(f".{job.gone}"):
            return {}
        raise
    status = _value_at(plain, job.status)
    if status not in (*job.succeeded, *job.failed):
        return Running(status or "")
    result = _result(called, job, plain, handle)
    if status in job.failed or job.is_broken(result):
        raise StatesError("States.TaskFailed", dumps(result))
    return result


def stop(resource: str, handle: Json, *, clients: Clients) -> None:
    """Stop the job, which no Task waits for any more; skip services without a stop operation.

    Raises:
        StatesError: the service refused; the job may have ended meanwhile.
    """
    called = parse(resource)
    job = JOBS[called.name]
    # A nested Unum execution continues: the Task may not stop it.
    if job.stop and nested_executions.ALIAS not in handle:
        templates = job.stop_parameters
        parameters = {name: _fill(template, (handle,)) for name, template in templates.items()} or handle
        _request(called, job.stop, parameters, clients)


def delay_ms(resource: str, polls: int) -> int:
    """Return the delay before the next poll, after `polls` polls."""
    # The bound of the exponent prevents an overflow for jobs that run for days.
    return min(LONGEST_MS, int(JOBS[parse(resource).name].first_ms * GROWTH ** min(polls, 20)))


def _description(called: Resource, job: Job, handle: Mapping[str, Json], clients: Clients) -> dict[str, Json]:
    """Return the job's description without an integration's HTTP metadata."""
    if nested_executions.ALIAS in handle:
        return nested_executions.describe(handle, clients)
    description = _request(called, job.describe, handle, clients)
    return {name: value for name, value in description.items() if not name.startswith("Sdk")}


def _request(called: Resource, operation: str, parameters: Json, clients: Clients) -> Json:
    if called.name == "eks:runJob":
        from unum_runtime.features.kubernetes import REQUESTS  # noqa: PLC0415 - few workflows call clusters

        return REQUESTS[operation](parameters, clients)
    return send_request(replace(called, operation=operation), parameters, clients)


def _result(called: Resource, job: Job, description: Json, handle: Mapping[str, Json]) -> Json:
    result = _value_at(description, job.result) if job.result else description
    if job.wrapped:
        return {job.wrapped: result}
    if called.parses:
        return result | {name: parse_if_json(result[name]) for name in ("Input", "Output") if name in result}
    return result | {name: handle[name] for name in job.adds}


def _fill(template: Json, sources: tuple[Json, ...]) -> Json:
    if isinstance(template, list):
        return [_fill(item, sources) for item in template]
    return next((value for source in sources if (value := _value_at(source, template)) is not None), None)


def _value_at(value: Json, path: str) -> Json:
    """Read the value at `path`, such as ``Tasks.0.TaskArn``; None if absent."""
    for step in path.split("."):
        match value:
            case dict():
                value = field(value, step)
            case list() if int(step) < len(value):
                value = value[int(step)]
            case _:
                return None
    return value
