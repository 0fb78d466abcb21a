"""A Lambda function with the habits that a workflow's functions should have."""

from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from unum_constructs.compiler.options import FunctionOptions
from unum_runtime.model.ir import Guard

MEMORY_MB = 256
"""Below it, Lambda's share of a CPU makes cold starts of Python take seconds."""

TIMEOUT_S = 30


class UnumFunction(lambda_.Function):
    """A Python function to become a node of workflows.

    It takes all arguments of `aws_lambda.Function`. What it does by itself:

    * a log group of its own with a retention, made without a custom resource;
    * a role of its own that may write to that log group and nothing else, without managed policies;
    * versions that are retained, because running executions stay on the version that they began with.

    Args:
        scope: the construct around it.
        construct_id: its id. Log group and role lie beside the function, as ``<id>Logs`` and ``<id>Role``.
        code: the user's code.
        handler: ``module.function`` in it.
        runtime: Python 3.11 or newer.
        memory_size: in MB.
        timeout: of one delivery, our own work included.
        log_retention: of the log group that is made; without effect where `log_group` is given.
        log_group: your own log group, instead of one that is made.
        role: your own role, instead of one that is made; it has to allow writing logs.
        guard: what workflows do against running its code again on a duplicate of an event; None for what each says.
        checkpoint: whether workflows commit what it comes to.
        memoize: whether executions of a workflow share its results.
        options: every other argument of `aws_lambda.Function`.

    Raises:
        ValueError: `guard` or `memoize` cannot be had without a checkpoint.

    Attributes:
        function_options: `guard`, `checkpoint` and `memoize`; what each means is said there.
    """

    def __init__(  # noqa: PLR0913 - the arguments of lambda_.Function
        self,
        scope: Construct,
        construct_id: str,
        *,
        code: lambda_.Code,
        handler: str,
        runtime: lambda_.Runtime | None = None,
        memory_size: int = MEMORY_MB,
        timeout: Duration | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        log_group: logs.ILogGroup | None = None,
        role: iam.IRole | None = None,
        guard: Guard | None = None,
        checkpoint: bool = True,
        memoize: bool = False,
        **options: Any,
    ) -> None:
        function_options = FunctionOptions(guard=guard, checkpoint=checkpoint, memoize=memoize)
        group = log_group or _log_group(scope, f"{construct_id}Logs", log_retention)
        if role is None and "vpc" not in options:  # in a VPC the CDK knows what a role needs
            role = _role(scope, f"{construct_id}Role", group)
        super().__init__(
            scope,
            construct_id,
            code=code,
            handler=handler,
            runtime=runtime or lambda_.Runtime.PYTHON_3_13,
            memory_size=memory_size,
            timeout=timeout or Duration.seconds(TIMEOUT_S),
            log_group=group,
            role=role,
            **options,
        )
        self.function_options = function_options


def _log_group(scope: Construct, construct_id: str, retention: logs.RetentionDays) -> logs.LogGroup:
    return logs.LogGroup(scope, construct_id, retention=retention, removal_policy=RemovalPolicy.DESTROY)


def _role(scope: Construct, construct_id: str, group: logs.ILogGroup) -> iam.Role:
    role = iam.Role(scope, construct_id, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    group.grant_write(role)
    return role
