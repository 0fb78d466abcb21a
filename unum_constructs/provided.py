"""The functions that a workflow brings along: they have no user code, what they do is in the layer."""

from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.function import UnumFunction
from unum_constructs.host import HANDLER, Host

MEMORY_MB = 512
"""An entry invokes all branches of a fan-out by itself; half as much takes twice as long and costs the same."""

LONGEST_S = 900
"""A called service may take as long to answer as a Lambda function may. Source: AWS Lambda Developer Guide, "Lambda
quotas"."""


def entry_host(scope: Construct, construct_id: str, architecture: lambda_.Architecture) -> Host:
    """The function of a workflow that begins with no Task."""
    function = provided_function(
        scope, construct_id, architecture=architecture, description="Starts executions of a workflow"
    )
    return Host(function, handler=None)


def services_host(scope: Construct, construct_id: str, architecture: lambda_.Architecture) -> Host:
    """The function of a workflow's Tasks that call services."""
    function = provided_function(
        scope,
        construct_id,
        architecture=architecture,
        timeout=Duration.seconds(LONGEST_S),
        description="Calls services for the Tasks of a workflow",
    )
    return Host(function, handler=None)


def provided_function(
    scope: Construct, construct_id: str, *, architecture: lambda_.Architecture, handler: str = HANDLER, **options: Any
) -> UnumFunction:
    """A function without user code; `options` are those of `UnumFunction`."""
    return UnumFunction(
        scope,
        construct_id,
        code=lambda_.Code.from_inline('"""The runtime in the layer does everything."""\n'),
        handler=handler,
        memory_size=MEMORY_MB,
        architecture=architecture,
        **options,
    )
