"""Versions of functions, looked up: what they are configured with, and where their failed events go."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from unum_runtime.aws.caller import LONGEST_CALL_S
from unum_runtime.aws.client_factory import botocore_client
from unum_runtime.errors import InvokeError
from unum_runtime.functions.configuration import Service, services_in
from unum_runtime.model.checkpoint import Began
from unum_runtime.model.envelope import START
from unum_runtime.wire.call_errors import call_errors


def look_up(address: str) -> tuple[str, Mapping[str, Service]]:
    """The version that `address` leads to, and what its environment says.

    Raises:
        InvokeError: Lambda does not say.
    """
    try:
        found = lambda_client().get_function_configuration(FunctionName=address)
    except call_errors() as error:
        raise InvokeError(f"{address}: {error}") from error
    environment = found.get("Environment", {})
    if "Error" in environment:
        raise InvokeError(f"{address}: its environment cannot be read: {environment['Error']}")
    return f"{function_of(address)}:{found['Version']}", services_in(environment.get("Variables", {}))


configured = cache(look_up)
"""Of versions, which do not change."""


def start_alias(control_alias: str) -> str:
    """The start alias of the workflow that `control_alias` is of, whose description it is.

    The handler of failures itself must not refer to where executions start, for that may refer to the handler.

    Raises:
        InvokeError: Lambda does not say.
    """
    try:
        found = lambda_client().get_alias(
            FunctionName=function_of(control_alias), Name=control_alias.rpartition(":")[2]
        )
    except call_errors() as error:
        raise InvokeError(f"{control_alias}: {error}") from error
    return str(found["Description"])


def begun_at(workflow: str, start_alias: str) -> Began:
    """The versions that an execution of `workflow` would begin with now."""
    address, table = look_up(start_alias)
    service = table[workflow]
    return Began(address, {key: start_alias if key == START else service.routes[key] for key in service.carried})


def addresses(workflow: str, began: Began) -> dict[str, str]:
    """The versions of all functions that an execution may come to, by their keys.

    Raises:
        InvokeError: Lambda does not say.
    """
    found: dict[str, str] = {}
    ahead = [began.address, *_functions(began.routes).values()]
    for address in ahead:
        service = configured(address)[1][workflow]
        routes = _functions(service.routes)
        found |= {**routes, **dict.fromkeys(service.hosts, address)}
        ahead += [route for route in routes.values() if route not in ahead]
    return found


def _functions(routes: Mapping[str, str]) -> dict[str, str]:
    """The functions among `routes`, beside which there may be start aliases: doors, of other workflows too."""
    return {key: address for key, address in routes.items() if not key.startswith(START)}


def on_failure(address: str) -> str | None:
    """Where failed events of the version at `address` go; None for nowhere.

    Raises:
        InvokeError: Lambda does not say.
    """
    try:
        found = lambda_client().get_function_event_invoke_config(FunctionName=address)
    except call_errors() as error:
        raise InvokeError(f"{address}: {error}") from error
    destination: str | None = found.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
    return destination


def function_of(address: str) -> str:
    """The ARN of the function, without a qualifier."""
    return ":".join(address.split(":")[:7])


@cache
def lambda_client() -> Any:
    """A Lambda client that is patient: of all requests for configurations, Lambda takes 15 a second in an account.

    Source: AWS Lambda Developer Guide, "Lambda quotas".
    """
    return botocore_client("lambda", retries=10, timeout_s=LONGEST_CALL_S)
