"""Functions without user code."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from unum_compiler.lambda_settings import OWN_FUNCTION_MB, SERVICES_TIMEOUT_S
from unum_constructs.cdk.argument_checks import check_key
from unum_constructs.cdk.lambda_runtimes import DEFAULT_PYTHON, newest_python
from unum_constructs.cdk.nag import FAILURES_HANDLED, SAME_RUNTIME, TRACES, acknowledge
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction, python_runtime
from unum_constructs.hosting.host import HANDLER, Host
from unum_constructs.layer.workflow_layer import OwnCode


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFunctions:
    """Functions that a workflow makes; none has user code.

    They are a failure handler; a control function; an entry function, if no Task's function can start executions; a
    service function, if Tasks call AWS services; a forwarder, if events wait in the timer queue.

    Attributes:
        architecture: instruction set. Default: ARM64.
        log_retention: retention of log groups.
        tracing: X-Ray tracing. Default: none.
        environment_encryption: KMS key of environments. Default: the workflow's `encryption_key`.
        vpc: VPC. It must reach DynamoDB and Lambda; SQS, if events wait; EventBridge Scheduler, if events wait for
            long; EventBridge, for status events. Default: no VPC.
        vpc_subnets: subnets in `vpc`. Default: its private subnets.
        security_groups: security groups in `vpc`. Default: one for each function.
    """

    architecture: lambda_.Architecture | None = None
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    tracing: lambda_.Tracing | None = None
    environment_encryption: kms.IKey | None = None
    vpc: ec2.IVpc | None = None
    vpc_subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] | None = None

    def provision(
        self, workflow: Construct, encryption_key: kms.IKey | None, tracing: lambda_.Tracing | None
    ) -> "Provision":
        """Return the arguments of `workflow`'s functions.

        Raises:
            ConstructError: VPC options lack a VPC, or a key cannot be used.
        """
        check_key(workflow, "encryption_key", encryption_key)
        if self.vpc is None and (self.vpc_subnets is not None or self.security_groups is not None):
            raise ConstructError(
                workflow, "own_functions.vpc: expected the VPC of `vpc_subnets` and `security_groups`, got None"
            )
        return Provision(
            architecture=self.architecture or lambda_.Architecture.ARM_64,
            log_retention=self.log_retention,
            tracing=tracing,
            encryption_key=encryption_key,
            environment_encryption=self.environment_encryption,
            vpc=self.vpc,
            vpc_subnets=self.vpc_subnets,
            security_groups=self.security_groups,
        )


OPTIONAL = (
    "tracing",
    "encryption_key",
    "environment_encryption",
    "vpc",
    "vpc_subnets",
    "security_groups",
    "log_group",
)
"""Options of `Provision` that may be left unset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """Common options of these functions, as arguments of `aws_lambda.Function`.

    Attributes:
        architecture: instruction set.
        log_retention: retention of log groups.
        tracing: X-Ray tracing.
        encryption_key: customer managed KMS key of log groups and environments; None for keys of AWS.
        environment_encryption: another key for environments.
        vpc: VPC; None for no VPC.
        vpc_subnets: subnets in `vpc`.
        security_groups: security groups in `vpc`.
        log_group: log group of all of them; None for one each.
        service_role: role of the service function; None for a role of its own.
        python: runtime, such as ``python3.13``.
    """

    architecture: lambda_.Architecture
    log_retention: logs.RetentionDays
    tracing: lambda_.Tracing | None
    encryption_key: kms.IKey | None
    environment_encryption: kms.IKey | None
    vpc: ec2.IVpc | None
    vpc_subnets: ec2.SubnetSelection | None
    security_groups: Sequence[ec2.ISecurityGroup] | None
    log_group: logs.ILogGroup | None = None
    service_role: iam.IRole | None = None
    python: str = DEFAULT_PYTHON

    def with_python_of(self, functions: Iterable[lambda_.Function]) -> "Provision":
        """Use the newest Python of the user's `functions`: most workflows then need a single layer."""
        return replace(self, python=newest_python(functions))

    def new_function(
        self,
        scope: Construct,
        construct_id: str,
        *,
        handler: str,
        layers: OwnCode,
        **options: Any,
    ) -> UnumFunction:
        """Make a function with a `handler` of the runtime; `options` are arguments of `UnumFunction`.

        Its code is what the handler can import, so it needs no layer.
        """
        function = self._new(scope, construct_id, handler=handler, code=layers.code_of(handler), **options)
        layers.watch(function, handler)
        return function

    def new_entry(self, scope: Construct, construct_id: str) -> Host:
        """Make the entry function of a workflow in which no Task's function can start executions."""
        return self._new_host(scope, construct_id, description="Starts executions of a workflow")

    def new_service_function(self, scope: Construct, construct_id: str, memory_mb: int) -> Host:
        """Make the service function."""
        role: dict[str, Any] = {} if self.service_role is None else {"role": self.service_role}
        host = self._new_host(
            scope,
            construct_id,
            timeout=Duration.seconds(SERVICES_TIMEOUT_S),
            memory_mb=memory_mb,
            description="Calls services for the Tasks of a workflow",
            **role,
        )
        if self.service_role is not None:
            _let_lambda_assume(self.service_role, host.function)
        return host

    def _new_host(self, scope: Construct, construct_id: str, **options: Any) -> Host:
        """Make a function that delivers events, as functions of Tasks do, and gets the layer as they do."""
        # Inline code needs no asset.
        code = lambda_.Code.from_inline('"""The runtime in the layer does everything."""\n')
        return Host(self._new(scope, construct_id, handler=HANDLER, code=code, **options), handler=None)

    def _new(
        self, scope: Construct, construct_id: str, *, memory_mb: int = OWN_FUNCTION_MB, **options: Any
    ) -> UnumFunction:
        function = UnumFunction(
            scope,
            construct_id,
            runtime=python_runtime(self.python),
            memory_size=memory_mb,
            architecture=self.architecture,
            log_retention=self.log_retention,
            **self._given_options(),
            **options,
        )
        acknowledge(function, {**SAME_RUNTIME, **FAILURES_HANDLED})
        if self.tracing not in (None, lambda_.Tracing.DISABLED) and function.role:
            acknowledge(function.role, TRACES)
        return function

    def _given_options(self) -> dict[str, Any]:
        """Return optional arguments, omitted when unset: `lambda_.Function` treats ``vpc=None`` as a value."""
        given = {name: getattr(self, name) for name in OPTIONAL}
        return {name: value for name, value in given.items() if value is not None}


def _let_lambda_assume(role: iam.IRole, function: lambda_.Function) -> None:
    """Let Lambda assume `role`, which was made for a state machine, and the role write the logs of `function`."""
    trust = getattr(role, "assume_role_policy", None)
    if trust is not None:
        principals = [iam.ServicePrincipal("lambda.amazonaws.com")]
        trust.add_statements(iam.PolicyStatement(actions=["sts:AssumeRole"], principals=principals))
    function.log_group.grant_write(role)
