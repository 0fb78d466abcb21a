"""A Lambda function with the habits that a workflow's functions should have."""

from functools import cache
from typing import Any

from aws_cdk import Duration, RemovalPolicy, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from unum_compiler.lambda_settings import ALLOWED_MB, ALLOWED_S, FUNCTION_MB, FUNCTION_TIMEOUT_S
from unum_compiler.options import FunctionOptions
from unum_constructs.cdk.encryption import allow_logs
from unum_constructs.cdk.lambda_runtimes import DEFAULT_PYTHON
from unum_constructs.cdk.nag import DEFAULT_RUNTIME, LOG_GROUP, NETWORK, ROLE, acknowledge
from unum_constructs.cdk.resource_checks import check_key
from unum_constructs.errors import ConstructError
from unum_runtime.model.ir import Guard

IN_VPC = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
"""What a function's role needs in a VPC, in all of it. Source: AWS Lambda Developer Guide, "Giving Lambda functions
access to resources in an Amazon VPC"."""


class UnumFunction(lambda_.Function):
    """A Python function to become a node of workflows.

    It takes all arguments of `aws_lambda.Function`. What it does by itself:

    * a log group of its own with a retention, made without a custom resource;
    * a role of its own that may write to that log group, and in a VPC have network interfaces, and nothing else;
      without managed policies;
    * versions that are retained, because running executions stay on the version that they began with.

    Args:
        scope: the construct around it.
        construct_id: its id. Log group and role lie beside the function, as ``<id>Logs`` and ``<id>Role``.
        code: the user's code.
        handler: ``module.function`` in it.
        runtime: Python 3.11 or newer, 3.13 without; cold starts are shortest with one that synth finds.
        memory_size: in MB.
        timeout: of one delivery, our own work included.
        log_retention: of the log group that is made; without effect where `log_group` is given.
        log_group: your own log group, instead of one that is made.
        encryption_key: your own key for the log group that is made, and for the environment where
            `environment_encryption` names no other; AWS's own keys without. Its policy lets CloudWatch Logs use it.
        role: your own role, instead of one that is made; it has to allow writing logs.
        guard: what workflows do against running its code again on a duplicate of an event; None for what each says.
        checkpoint: whether workflows commit what it comes to.
        memoize: whether executions of a workflow share its results.
        options: every other argument of `aws_lambda.Function`.

    Raises:
        ConstructError: `guard`, `checkpoint` or `memoize` is none, or two of them exclude each other; Lambda allows no
            such `memory_size` or `timeout`; or `log_group` or `encryption_key` is none.

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
        memory_size: int = FUNCTION_MB,
        timeout: Duration | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        log_group: logs.ILogGroup | None = None,
        encryption_key: kms.IKey | None = None,
        role: iam.IRole | None = None,
        guard: Guard | None = None,
        checkpoint: bool = True,
        memoize: bool = False,
        **options: Any,
    ) -> None:
        try:
            function_options = FunctionOptions(guard=guard, checkpoint=checkpoint, memoize=memoize)
            _check(memory_size, timeout, log_group)
        except ValueError as error:
            raise ConstructError(scope, str(error), child=construct_id) from error
        check_key(scope, "encryption_key", encryption_key, child=construct_id)
        group = log_group or _log_group(scope, f"{construct_id}Logs", log_retention, encryption_key)
        if encryption_key is not None:
            options.setdefault("environment_encryption", encryption_key)
        if role is None:
            role = _role(scope, f"{construct_id}Role", group, in_vpc=options.get("vpc") is not None)
        super().__init__(
            scope,
            construct_id,
            code=code,
            handler=handler,
            runtime=runtime or python_runtime(DEFAULT_PYTHON),
            memory_size=memory_size,
            timeout=timeout or _default_timeout(),
            log_group=group,
            role=role,
            **options,
        )
        self.function_options = function_options
        if runtime is None:
            acknowledge(self, DEFAULT_RUNTIME)


# Values that all functions share: each would be a call to the CDK's process.
@cache
def python_runtime(name: str) -> lambda_.Runtime:
    """The runtime that is called `name`, such as ``python3.13``."""
    known = "PYTHON_" + name.removeprefix("python").replace(".", "_")
    return getattr(lambda_.Runtime, known, None) or lambda_.Runtime(name, lambda_.RuntimeFamily.PYTHON)


@cache
def _default_timeout() -> Duration:
    return Duration.seconds(FUNCTION_TIMEOUT_S)


@cache
def _lambda() -> iam.ServicePrincipal:
    return iam.ServicePrincipal("lambda.amazonaws.com")


def _check(memory_size: object, timeout: object, log_group: object) -> None:
    """Stop if that can be nobody's; what is of another type than the CDK takes is left to its own check.

    Raises:
        ValueError: says what is allowed.
    """
    if isinstance(memory_size, int) and memory_size not in ALLOWED_MB and not Token.is_unresolved(memory_size):
        raise ValueError(f"memory_size: expected {ALLOWED_MB[0]} to {ALLOWED_MB[-1]} MB, got {memory_size}")
    if isinstance(timeout, Duration) and not timeout.is_unresolved():
        seconds = timeout.to_milliseconds() / 1000
        if seconds not in ALLOWED_S:
            expected = f"expected whole seconds, {ALLOWED_S[0]} to {ALLOWED_S[-1]}"
            raise ValueError(f"timeout: {expected}, got {seconds:g} s; longer work is for a Task that waits")
    if log_group is not None and not hasattr(log_group, "grant_write"):
        raise ValueError(f"log_group: expected an aws_logs.ILogGroup, got {log_group!r}")


def _log_group(
    scope: Construct, construct_id: str, retention: logs.RetentionDays, key: kms.IKey | None
) -> logs.LogGroup:
    group = logs.LogGroup(
        scope, construct_id, retention=retention, removal_policy=RemovalPolicy.DESTROY, encryption_key=key
    )
    if key is None:
        acknowledge(group, LOG_GROUP)
    else:
        allow_logs(key, scope)
    return group


def _role(scope: Construct, construct_id: str, group: logs.ILogGroup, *, in_vpc: bool) -> iam.Role:
    role = iam.Role(scope, construct_id, assumed_by=_lambda())
    acknowledge(role, ROLE)
    group.grant_write(role)
    if in_vpc:
        statement = iam.PolicyStatement(actions=[*IN_VPC], resources=["*"])
        acknowledge(iam.Policy(role, "Network", roles=[role], statements=[statement]), NETWORK)
    return role
