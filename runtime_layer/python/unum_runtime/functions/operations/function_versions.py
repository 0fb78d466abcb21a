"""Configuration and failure destinations of function versions, as Lambda reports them."""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from unum_runtime.aws.client_factory import botocore_client
from unum_runtime.errors import InvokeError, RouteGone
from unum_runtime.functions.configuration import Service, services_in
from unum_runtime.functions.operations.caller import LONGEST_CALL_S
from unum_runtime.model.checkpoint import Began
from unum_runtime.model.envelope import START
from unum_runtime.model.naming import START_INTAKE
from unum_runtime.wire.call_errors import call_errors, invoke_error

DIRECTORY = "UNUM_DIRECTORY"
"""Environment variable with the kind of this function's aliases whose descriptions are the start aliases of workflows.

Unset for those that take failed starts."""


def look_up(address: str) -> tuple[str, Mapping[str, Service]]:
    """Return version and configured services at `address`.

    Raises:
        InvokeError: Lambda did not answer.
        RouteGone: the version does not exist, or no longer belongs to the workflow.
    """
    try:
        found = lambda_client().get_function_configuration(FunctionName=address)
    except call_errors() as error:
        raise invoke_error(address, error) from error
    environment = found.get("Environment", {})
    if "Error" in environment:
        raise InvokeError(f"{address}: its environment cannot be read: {environment['Error']}")
    return f"{function_of(address)}:{found['Version']}", services_in(environment.get("Variables", {}))


configured = cache(look_up)
"""`look_up` with a cache, for versions, which never change."""


def directory_of(function_arn: str, workflow: str) -> str:
    """Return the ARN of the alias of the own function `function_arn` that tells the start alias of `workflow`."""
    return f"{function_of(function_arn)}:{os.environ.get(DIRECTORY) or START_INTAKE}-{workflow}"


def start_alias(directory: str) -> str:
    """Return the ARN of a workflow's start alias, which is the description of the alias `directory`.

    No environment of the workflow's own functions must contain it: the start alias may refer to them, and
    CloudFormation allows no circular references.

    Raises:
        InvokeError: Lambda did not answer.
    """
    try:
        found = lambda_client().get_alias(FunctionName=function_of(directory), Name=directory.rpartition(":")[2])
    except call_errors() as error:
        raise InvokeError(f"{directory}: {error}") from error
    return str(found["Description"])


def begun_at(workflow: str, start_alias: str) -> Began:
    """Return the versions of an execution of `workflow` that starts now."""
    address, service = entry_at(workflow, start_alias)
    # A function that leads back to the entry function needs its address, which no configuration of it can contain.
    routes = {**service.routes, **dict.fromkeys(service.hosts, address), START: start_alias}
    return Began(address, {key: routes[key] for key in service.carried})


def entry_at(workflow: str, start_alias: str) -> tuple[str, Service]:
    """Return the version behind `start_alias`, and its settings for `workflow`."""
    address, table = look_up(start_alias)
    return address, table[workflow]


def addresses(workflow: str, began: Began) -> dict[str, str]:
    """Return all reachable functions' versions by key.

    Raises:
        InvokeError: Lambda did not answer.
    """
    found: dict[str, str] = {}
    # The routes form a graph: the list grows while the loop runs, by each version that was not listed before.
    ahead = [began.address, *_functions(began.routes).values()]
    for address in ahead:
        try:
            service = configured(address)[1][workflow]
        except RouteGone:  # the function has left the workflow; others lead to the rest
            continue
        routes = _functions(service.routes)
        found |= {**routes, **dict.fromkeys(service.hosts, address)}
        ahead += [route for route in routes.values() if route not in ahead]
    return found


def _functions(routes: Mapping[str, str]) -> dict[str, str]:
    """Return `routes` without start aliases, which may belong to other workflows."""
    return {key: address for key, address in routes.items() if not key.startswith(START)}


def function_of(address: str) -> str:
    """Return the function's unqualified ARN."""
    return ":".join(address.split(":")[:7])


@cache
def lambda_client() -> Any:
    """Return a Lambda client with many retries.

    Lambda takes 15 such requests a second in an account. Source: AWS Lambda Developer Guide, "Lambda quotas".
    """
    return botocore_client("lambda", retries=10, timeout_s=LONGEST_CALL_S)


DEAD_LETTER_S = 60
"""Timeout for a dead letter that is tried again, so that a sweep has time for others."""


@cache
def dead_letter_client() -> Any:
    """Return a Lambda client without retries: a call that takes too long must not begin again."""
    return botocore_client("lambda", retries=0, timeout_s=DEAD_LETTER_S)


@cache
def queue_client() -> Any:
    """Return an SQS client."""
    return botocore_client("sqs")
