"""Lambda function with good defaults for workflows."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from aws_cdk import Duration, RemovalPolicy, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from unum_compiler.lambda_settings import ALLOWED_MB, ALLOWED_S, FUNCTION_MB, FUNCTION_TIMEOUT_S
from unum_compiler.memoization import Memoization
from unum_compiler.options import FunctionOptions
from unum_constructs.cdk.argument_checks import check_key
from unum_constructs.cdk.encryption import allow_logs
from unum_constructs.cdk.lambda_runtimes import DEFAULT_PYTHON
from unum_constructs.cdk.lookup import package_type_of, remember, remember_role, runtime_of, stack_of
from unum_constructs.cdk.nag import (
    DEFAULT_RUNTIME,
    LOG_GROUP,
    NETWORK,
    NO_RESERVATION,
    NO_TRACES,
    NO_VPC,
    ROLE,
    Reasons,
    acknowledge,
)
from unum_constructs.cdk.policies import new_policy
from unum_constructs.errors import ConstructError
from unum_runtime.model.states import Guard

WRITING_LOGS = ("logs:CreateLogStream", "logs:PutLogEvents")
"""Source: AWS CDK, `LogGroup.grantWrite`."""

IN_VPC = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
"""Permissions of a function in a VPC, on all resources. Source: AWS Lambda Developer Guide, "Giving Lambda functions
access to resources in an Amazon VPC"."""


class UnumFunction(lambda_.Function):
    """Python function for workflow nodes.

    It takes all arguments of `aws_lambda.Function`, and adds:

    * a log group with a retention, made without a custom resource;
    * a role that may write to this log group, manage network interfaces in a VPC, and nothing else, without managed
      policies;
    * retained versions: running executions stay on the versions that they started with.

    Args:
        scope: parent construct.
        construct_id: id below `scope`. Log group and role are siblings, ``<id>Logs`` and ``<id>Role``.
        code: user code.
        handler: ``module.function`` in it, for all Tasks of this function.
        handlers: in place of `handler`, a handler for each key that Tasks name, as ``{"Split": "orders.split"}``. The
            Tasks share code, memory, permissions and sandboxes; one that follows another runs without an invocation.
            Only workflows call such a function: give it as `functions`, or `by_key` among others.
        runtime: Python 3.11 or newer. Default: 3.13. Cold starts are shortest with a Python that synth finds on its
            machine.
        memory_size: memory in MB, 128 to 10,240.
        timeout: timeout of one delivery, runtime included: 1 s to 900 s, whole seconds. Default: 30 s.
        log_retention: retention of the log group, unless `log_group` is given.
        log_group: log group of your own.
        encryption_key: customer managed KMS key for the log group, and for the environment unless
            `environment_encryption` names another key. Its policy lets CloudWatch Logs use it. Default: keys of AWS.
        role: role of your own; it must allow writing logs.
        guard: protection against running user code again for a duplicate event. Default: the workflow's guard.
        checkpoint: True commits the outcome of every Task that runs in this function.
        memoize: True shares results among executions of a workflow, by input; a `Memoization` says by what.
        options: all other arguments of `aws_lambda.Function`.

    Raises:
        ConstructError: `guard`, `checkpoint` or `memoize` is invalid, or two of them exclude each other; Lambda does
            not allow `memory_size` or `timeout`; `log_group` or `encryption_key` has another type; both or none of
            `handler` and `handlers` are given, or one of `handlers` is no ``module.function``.

    Attributes:
        function_options: `guard`, `checkpoint` and `memoize`, as `FunctionOptions`.
        handlers: handlers by key; empty for a function with `handler`.
    """

    def __init__(  # noqa: PLR0913 - the arguments of lambda_.Function
        self,
        scope: Construct,
        construct_id: str,
        *,
        code: lambda_.Code,
        handler: str | None = None,
        handlers: Mapping[str, str] | None = None,
        runtime: lambda_.Runtime | None = None,
        memory_size: int = FUNCTION_MB,
        timeout: Duration | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        log_group: logs.ILogGroup | None = None,
        encryption_key: kms.IKey | None = None,
        role: iam.IRole | None = None,
        guard: Guard | None = None,
        checkpoint: bool = True,
        memoize: bool | Memoization = False,
        **options: Any,
    ) -> None:
        try:
            # Checked before resources exist: a failed construct would leave its siblings behind.
            function_options = FunctionOptions(guard=guard, checkpoint=checkpoint, memoize=memoize)
            _check(memory_size, timeout, log_group)
            self.handlers = _checked_handlers(handler, handlers)
        except ValueError as error:
            raise ConstructError(scope, str(error), child=construct_id) from error
        check_key(scope, "encryption_key", encryption_key, child=construct_id)
        group = log_group or _log_group(scope, f"{construct_id}Logs", log_retention, encryption_key)
        if encryption_key is not None:
            options.setdefault("environment_encryption", encryption_key)
        if role is None:
            role = _role(scope, f"{construct_id}Role", group, in_vpc=options.get("vpc") is not None)
        runtime_name: str | None = DEFAULT_PYTHON if runtime is None else _name_of(runtime)
        super().__init__(
            scope,
            construct_id,
            code=code,
            handler=handler or next(iter(self.handlers.values())),
            runtime=runtime or python_runtime(DEFAULT_PYTHON),
            memory_size=memory_size,
            timeout=timeout or _default_timeout(),
            log_group=group,
            role=role,
            **options,
        )
        self.function_options = function_options
        remember_role(self, role)
        remember(stack_of, self, stack_of(scope))
        remember(runtime_of, self, runtime_name)
        if runtime_name != _FROM_IMAGE:
            remember(package_type_of, self, None)
        # A version has no options of its own unless the user gives some: it need not be asked for them.
        self._versions_have_options = options.get("current_version_options") is not None
        acknowledge(self, _reasons(runtime, options))

    @property
    def by_key(self) -> dict[str, "UnumFunction"]:
        """This function by the key of each handler, for `UnumWorkflow(functions={**orders.by_key, "Ship": ship})`."""
        return dict.fromkeys(self.handlers, self)


def _reasons(runtime: lambda_.Runtime | None, options: Mapping[str, Any]) -> Reasons:
    """Return cdk-nag's rules that the defaults break, for options that are not given."""
    defaults = {"vpc": NO_VPC, "reserved_concurrent_executions": NO_RESERVATION, "tracing": NO_TRACES}
    found = dict(DEFAULT_RUNTIME) if runtime is None else {}
    for name, reasons in defaults.items():
        found |= {} if options.get(name) is not None else reasons
    return found


# Cached: each of these values costs a request to the CDK's process, and functions can share them.
@cache
def python_runtime(name: str) -> lambda_.Runtime:
    """Return the runtime `name`, such as ``python3.13``."""
    known = "PYTHON_" + name.removeprefix("python").replace(".", "_")
    return getattr(lambda_.Runtime, known, None) or lambda_.Runtime(
        name, lambda_.RuntimeFamily.PYTHON, supports_inline_code=True
    )


_FROM_IMAGE = "FROM_IMAGE"
"""Name of the runtime of container images."""


def _name_of(runtime: lambda_.Runtime) -> str:
    # By its identity in the CDK's process: each read of a runtime makes a new object in Python.
    identity = str(runtime.__jsii_ref__.ref)  # type: ignore[attr-defined]  # of each object of the CDK's process
    if identity not in _names:
        _names[identity] = runtime.name
    return _names[identity]


_names: dict[str, str] = {}
"""Names of runtimes by identity; the CDK's process never forgets an object."""


@cache
def _default_timeout() -> Duration:
    return Duration.seconds(FUNCTION_TIMEOUT_S)


@cache
def _lambda() -> iam.ServicePrincipal:
    return iam.ServicePrincipal("lambda.amazonaws.com")


def _check(memory_size: object, timeout: object, log_group: object) -> None:
    """Raise on values outside Lambda's quotas; the CDK rejects other types.

    Raises:
        ValueError: names the argument and the allowed values.
    """
    if isinstance(memory_size, int) and memory_size not in ALLOWED_MB and not Token.is_unresolved(memory_size):
        raise ValueError(f"memory_size: expected {ALLOWED_MB[0]} to {ALLOWED_MB[-1]} MB, got {memory_size}")
    if isinstance(timeout, Duration) and not timeout.is_unresolved():
        # `to_seconds` raises an error of the CDK's process for fractions.
        seconds = timeout.to_milliseconds() / 1000
        if seconds not in ALLOWED_S:
            expected = f"expected whole seconds, {ALLOWED_S[0]} to {ALLOWED_S[-1]}"
            raise ValueError(f"timeout: {expected}, got {seconds:g} s; use a Task with a task token for longer work")
    if log_group is not None and not hasattr(log_group, "grant_write"):
        raise ValueError(f"log_group: expected an aws_logs.ILogGroup, got {log_group!r}")


def _checked_handlers(handler: object, handlers: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return `handlers`; empty for a function with `handler`.

    Raises:
        ValueError: names the argument and what is allowed.
    """
    if (handler is None) == (handlers is None):
        found = "none" if handler is None else "both"
        raise ValueError(f"handler, handlers: expected one of the two, got {found}")
    if handlers is None:
        return MappingProxyType({})
    if not isinstance(handlers, Mapping) or not handlers:
        raise ValueError(f'handlers: expected at least one as {{"Key": "module.function"}}, got {handlers!r}')
    for key, path in handlers.items():
        if not isinstance(key, str) or not key:
            raise ValueError(f"handlers: expected texts as keys, got {key!r}")
        if not isinstance(path, str) or "." not in path or Token.is_unresolved(path):
            raise ValueError(f'handlers[{key!r}]: expected a handler "module.function", got {path!r}')
    return MappingProxyType(dict(handlers))


def _log_group(
    scope: Construct, construct_id: str, retention: logs.RetentionDays, key: kms.IKey | None
) -> logs.LogGroup:
    group = logs.LogGroup(
        scope, construct_id, retention=retention, removal_policy=RemovalPolicy.DESTROY, encryption_key=key
    )
    remember(stack_of, group, stack_of(scope))
    if key is None:
        acknowledge(group, LOG_GROUP)
    else:
        allow_logs(key, scope)
    return group


def _role(scope: Construct, construct_id: str, group: logs.ILogGroup, *, in_vpc: bool) -> iam.Role:
    # Instead of the managed policy AWSLambdaBasicExecutionRole, which allows all log groups; and in the role itself,
    # because a policy of its own would be one more resource for each function.
    writes = {"Effect": "Allow", "Action": [*WRITING_LOGS], "Resource": group.log_group_arn}
    document = iam.PolicyDocument.from_json({"Version": "2012-10-17", "Statement": [writes]})
    role = iam.Role(scope, construct_id, assumed_by=_lambda(), inline_policies={"Logs": document})
    remember(stack_of, role, stack_of(scope))
    acknowledge(role, ROLE)
    if in_vpc:
        statement = iam.PolicyStatement(actions=[*IN_VPC], resources=["*"])
        acknowledge(new_policy(role, "Network", roles=[role], statements=[statement]), NETWORK)
    return role
