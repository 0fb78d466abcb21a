"""Executions of our own workflows, started by Tasks: a start alias stands in for the API of Step Functions.

It is known by its name. A Task does what a client does: it has a start record written, here by the function behind the
alias, and sends a start request, which begins the execution once, however often it comes.
"""

import json
import re
from collections.abc import Mapping

from unum_runtime.asl.serialize import dumps
from unum_runtime.aws.services.adjust import field
from unum_runtime.aws.services.api_request import request
from unum_runtime.aws.services.boto_clients import Clients
from unum_runtime.aws.services.operation import Resource, parse
from unum_runtime.aws.services.spelling import folded
from unum_runtime.errors import StatesError
from unum_runtime.model.envelope import describe_request, register_request, start_request
from unum_runtime.model.ir import Json

START = "states:startExecution"
ALIAS = "StartAlias"
"""Field of a job's handle: where its execution is asked for."""

_START_ALIAS = re.compile(r"arn:[^:]+:lambda:[^:]*:[^:]*:function:[^:]+:start-[A-Za-z0-9_-]+")
_UNKNOWN = "StepFunctions.AWSStepFunctionsException"
_FAILURES = {
    "Lambda.ResourceNotFoundException": "StepFunctions.StateMachineDoesNotExistException",
    "Lambda.TooManyRequestsException": "StepFunctions.ThrottlingException",
}


class Unanswered(StatesError):
    """The workflow could not answer just now."""


def is_start_alias(arn: Json) -> bool:
    """Whether `arn` is that of a workflow's start alias."""
    return isinstance(arn, str) and _START_ALIAS.fullmatch(arn) is not None


def addressed(resource: str, parameters: Json, start_aliases: Mapping[str, str]) -> Json:
    """`parameters` with the start alias of the workflow that is to be started, if it is one of ours.

    Args:
        resource: what is called.
        parameters: of the call.
        start_aliases: ARNs by what may stand for them.
    """
    if not start_aliases or parse(resource).name != START or not isinstance(parameters, dict):
        return parameters
    names = (name for name in parameters if folded(name) == "statemachinearn")
    return parameters | {name: start_aliases.get(str(parameters[name]), parameters[name]) for name in names}


def start_alias(called: Resource, parameters: Mapping[str, Json]) -> str | None:
    """The start alias that `called` is to start an execution through; None if Step Functions is to start one."""
    arn = field(parameters, "StateMachineArn") if called.name == START else None
    return str(arn) if is_start_alias(arn) else None


def start(alias: str, parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Start the execution that `parameters` name, or find it.

    Args:
        alias: ARN of the workflow's start alias.
        parameters: of ``StartExecution``, with a name and the input as JSON text.
        clients: clients of the services.

    Returns:
        What ``StartExecution`` does, without what is told of the HTTP response.

    Raises:
        StatesError: it could not be started; named as of Step Functions.
    """
    name = str(field(parameters, "Name"))
    started = _asked(alias, register_request(name, field(parameters, "Input")), clients)
    _invoke(alias, start_request(name), clients, InvocationType="Event")
    return started


def describe(handle: Mapping[str, Json], clients: Clients) -> dict[str, Json]:
    """What ``DescribeExecution`` tells of the execution; no status where the workflow could not answer just now.

    Args:
        handle: with the execution's ARN and, as `ALIAS`, that of the start alias.
        clients: clients of the services.

    Raises:
        StatesError: there is no such execution, or no such workflow, any more.
    """
    name = handle["ExecutionArn"].rpartition(":")[2]
    try:
        return _asked(handle[ALIAS], describe_request(name), clients)
    except Unanswered:
        return {}


def _asked(alias: str, event: Json, clients: Clients) -> dict[str, Json]:
    """The answer to a request.

    Raises:
        StatesError: it was refused.
        Unanswered: there was none.
    """
    response = _invoke(alias, event, clients)
    if "FunctionError" in response:
        raise Unanswered(_UNKNOWN, response["Payload"])
    answer: dict[str, Json] = json.loads(response["Payload"])
    if "error" in answer:
        raise StatesError(f"StepFunctions.{answer['error']}Exception", answer["message"])
    return answer


def _invoke(alias: str, event: Json, clients: Clients, **options: Json) -> dict[str, Json]:
    parameters = {"FunctionName": alias, "Payload": dumps(event), **options}
    try:
        response: dict[str, Json] = request(parse("lambda:invoke"), parameters, clients)
    except StatesError as failed:
        kind = Unanswered if failed.error == "Lambda.TooManyRequestsException" else StatesError
        raise kind(_FAILURES.get(failed.error, _UNKNOWN), f"{alias}: {failed.cause}") from failed
    return response
