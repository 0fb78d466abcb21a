"""The function of a workflow that begins with no Task."""

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs.function import UnumFunction
from unum_constructs.host import HANDLER, Host

MEMORY_MB = 512
"""An entry invokes all branches of a fan-out by itself; half as much takes twice as long and costs the same."""


def entry_host(scope: Construct, construct_id: str, architecture: lambda_.Architecture) -> Host:
    """A function without user code: everything it does is in the layer."""
    function = UnumFunction(
        scope,
        construct_id,
        code=lambda_.Code.from_inline('"""The runtime in the layer does everything."""\n'),
        handler=HANDLER,
        memory_size=MEMORY_MB,
        architecture=architecture,
        description="Starts executions of a workflow",
    )
    return Host(function, handler=None)
