"""Client of Step Functions that knows workflows too, for functions that start and read executions with boto3.

``workflow.grant_start(function)`` and the other grants give the function this package, in a layer, and the workflow's
addresses, in its environment. One line of the function's code changes::

    from unum_stepfunctions import boto3  # in place of `import boto3`

    boto3.client("stepfunctions").start_execution(stateMachineArn=arn, name="order-17", input='{"n": 1}')

``arn`` is what ``workflow.state_machine_arn`` gives. Requests about state machines, other operations and other services
go to boto3. With ``grant_task_response``, the client also answers task tokens of workflows. The package needs boto3
alone, which AWS has in its Python runtimes.
"""

from typing import Any

from botocore.config import Config

from unum_stepfunctions.addresses import Addresses
from unum_stepfunctions.client import LONGEST_CALL_S, StepFunctions

try:  # in the layer of functions that may answer
    from unum_task_responses import boto3 as _boto3
except ImportError:
    import boto3 as _boto3


class _Boto3:
    """The module boto3, whose clients of Step Functions know workflows too."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_boto3, name)

    def client(self, service_name: str, *args: Any, **options: Any) -> Any:
        """Return a client of `service_name`, as ``boto3.client`` does."""
        module: Any = _boto3
        found = module.client(service_name, *args, **options)
        if service_name != "stepfunctions":
            return found
        same = {key: value for key, value in options.items() if key.startswith("aws_")}  # credentials

        def create(service: str, region: str) -> Any:
            return module.client(service, **same, region_name=region, config=Config(read_timeout=LONGEST_CALL_S))

        return StepFunctions(found, create, Addresses.from_environment())


boto3: Any = _Boto3()
"""In place of the module boto3."""
