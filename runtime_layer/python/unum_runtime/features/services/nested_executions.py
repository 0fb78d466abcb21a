"""Executions of Unum workflows started by Tasks: a start alias replaces the API of Step Functions.

Start aliases are recognized by name. The Task acts like a client: the run alias of the same function answers what
became of the start, and names the describe alias. Repeated requests begin an execution only once.
"""

import re
from collections.abc import Mapping

from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.features.services.adjust import field
from unum_runtime.features.services.api_request import send_request
from unum_runtime.features.services.boto_clients import Clients
from unum_runtime.features.services.operation import Resource, parse
from unum_runtime.features.services.spelling import fold_name
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.envelope import with_alias
from unum_runtime.model.naming import run_alias
from unum_runtime.model.naming import start_alias as start_alias_name
from unum_runtime.model.requests import INPUT, describe_request, run_request
from unum_runtime.model.states import Json

START = "states:startExecution"
ALIAS = "DescribeAlias"
"""Field of a job's handle: alias that answers ``DescribeExecution``."""

_PREFIX = start_alias_name("")
_START_ALIAS = re.compile(rf"arn:[^:]+:lambda:[^:]*:[^:]*:function:[^:]+:{_PREFIX}[A-Za-z0-9_-]+")
_OURS = frozenset(("ForkedFrom", "Attributes"))
"""Fields of a description that ``DescribeExecution`` lacks."""

_UNKNOWN = "StepFunctions.AWSStepFunctionsException"
_FAILURES = {
    "Lambda.ResourceNotFoundException": "StepFunctions.StateMachineDoesNotExistException",
    "Lambda.TooManyRequestsException": "StepFunctions.ThrottlingException",
}


class Unanswered(StatesError):
    """Temporary failure: the workflow did not answer."""


def is_start_alias(arn: Json) -> bool:
    """Return True if `arn` is a workflow's start alias."""
    return isinstance(arn, str) and _START_ALIAS.fullmatch(arn) is not None


def with_start_alias(resource: str, parameters: Json, start_aliases: Mapping[str, str]) -> Json:
    """Replace the state machine of a start by the target workflow's start alias, if it has one.

    Args:
        resource: resource of the call.
        parameters: parameters of the call.
        start_aliases: start alias ARNs by their placeholders.
    """
    if not start_aliases or parse(resource).name != START or not isinstance(parameters, dict):
        return parameters
    names = (name for name in parameters if fold_name(name) == "statemachinearn")
    return parameters | {name: start_aliases.get(str(parameters[name]), parameters[name]) for name in names}


def start_alias(called: Resource, parameters: Mapping[str, Json]) -> str | None:
    """Return the start alias in the parameters of `called`; None if the target is Step Functions."""
    arn = field(parameters, "StateMachineArn") if called.name == START else None
    return str(arn) if is_start_alias(arn) else None


def start(alias: str, parameters: Mapping[str, Json], clients: Clients) -> Json:
    """Start the execution of `parameters`, or find it.

    Args:
        alias: ARN of the workflow's start alias.
        parameters: parameters of ``StartExecution``, with a name and the input as JSON text.
        clients: clients of AWS services.

    Returns:
        Response of ``StartExecution`` without HTTP metadata.

    Raises:
        StatesError: the start failed; named as a Step Functions error.
    """
    answer = _start(alias, parameters, clients)
    return {name: answer[name] for name in ("ExecutionArn", "StartDate")}


def begin(alias: str, parameters: Mapping[str, Json], clients: Clients) -> dict[str, Json]:
    """Start the execution as `start` does, and return the handle of the job that waits for it.

    Raises:
        StatesError: the start failed; named as a Step Functions error.
    """
    answer = _start(alias, parameters, clients)
    return {name: answer[name] for name in ("ExecutionArn", ALIAS)}


def describe(handle: Mapping[str, Json], clients: Clients) -> dict[str, Json]:
    """Return the response of ``DescribeExecution``; no status if the workflow is unreachable.

    Args:
        handle: handle with the execution's ARN and, as `ALIAS`, the describe alias.
        clients: clients of AWS services.

    Raises:
        StatesError: the execution or the workflow no longer exists.
    """
    name = handle["ExecutionArn"].rpartition(":")[2]
    try:
        # The status alone at first: each poll would carry the input otherwise.
        status = _ask(handle[ALIAS], describe_request(name, status_only=True), clients)
        return status if status["Status"] == "RUNNING" else _ended(handle[ALIAS], name, clients)
    except Unanswered:  # an empty status keeps the Task polling
        return {}


def _ended(alias: str, name: str, clients: Clients) -> dict[str, Json]:
    answer = _ask(alias, describe_request(name), clients)
    if "url" in answer:
        raise StatesError("States.DataLimitExceeded", f"execution {name!r}: its description exceeds 6 MB")
    return {field: value for field, value in answer.items() if field not in _OURS}


def _start(alias: str, parameters: Mapping[str, Json], clients: Clients) -> dict[str, Json]:
    workflow = alias.rpartition(":")[2].removeprefix(_PREFIX)
    content = {INPUT: _parsed(field(parameters, "Input"))}
    return _ask(with_alias(alias, run_alias(workflow)), run_request(str(field(parameters, "Name")), content), clients)


def _parsed(text: Json) -> Json:
    try:
        return parse_foreign(text)
    except (TypeError, ValueError, RecursionError) as error:
        kind = "StepFunctions.InvalidExecutionInputException"
        raise StatesError(kind, f"input: expected JSON text: {error}") from error


def _ask(alias: str, event: Json, clients: Clients) -> dict[str, Json]:
    """Return the response to a request.

    Raises:
        StatesError: the workflow refused the request.
        Unanswered: no answer.
    """
    response = _invoke(alias, event, clients)
    if "FunctionError" in response:
        raise Unanswered(_UNKNOWN, response["Payload"])
    answer: dict[str, Json] = parse_foreign(response["Payload"])
    if "error" in answer:
        raise StatesError(f"StepFunctions.{answer['error']}Exception", answer["message"])
    return answer


def _invoke(alias: str, event: Json, clients: Clients) -> dict[str, Json]:
    parameters = {"FunctionName": alias, "Payload": dumps(event)}
    try:
        response: dict[str, Json] = send_request(parse("lambda:invoke"), parameters, clients)
    except StatesError as failed:
        kind = Unanswered if failed.error == "Lambda.TooManyRequestsException" else StatesError
        raise kind(_FAILURES.get(failed.error, _UNKNOWN), f"{alias}: {failed.cause}") from failed
    return response
