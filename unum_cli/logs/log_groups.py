"""Log groups of a workflow's functions, found by the routes in their configuration."""

from collections.abc import Mapping
from typing import Any

from unum_runtime.functions.configuration import services_in

FUNCTION = ":function:"
"""Part of every ARN of a Lambda function."""


def log_groups(functions: Any, start: str, workflow: str) -> Mapping[str, str]:
    """Return the names of the log groups by key of the function, for one version of a workflow.

    Each function's environment has the version ARNs of those that come after it, so the execution's first function
    leads to all others of the same version, in whichever stacks and accounts they are.

    Args:
        functions: boto3 client of AWS Lambda.
        start: ARN of the version or alias in which executions start.
        workflow: name of the workflow.

    Raises:
        ClientError: AWS Lambda refused to describe a function; a function that is gone is left out.
    """
    groups: dict[str, str] = {}
    waiting, seen = [start], {start}
    while waiting:
        found = _configuration(functions, waiting.pop())
        service = services_in(found.get("Environment", {}).get("Variables", {})).get(workflow)
        if service is None:
            continue
        groups |= dict.fromkeys(service.hosts, _group(found))
        following = {arn for arn in service.routes.values() if FUNCTION in arn} - seen
        waiting += following
        seen |= following
    return groups


def _configuration(functions: Any, arn: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = functions.get_function_configuration(FunctionName=arn)
    except functions.exceptions.ResourceNotFoundException:
        return {}
    return found


def _group(configuration: Mapping[str, Any]) -> str:
    """Return the log group: the configured one, or that which Lambda creates.

    Source: AWS Lambda Developer Guide, "Configuring CloudWatch log groups".
    """
    configured: str | None = configuration.get("LoggingConfig", {}).get("LogGroup")
    return configured or f"/aws/lambda/{configuration['FunctionName']}"
