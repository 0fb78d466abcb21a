"""The functions that a workflow brings along: they have no user code, what they do is in the layer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from unum_compiler.lambda_settings import OWN_FUNCTION_MB, SERVICES_TIMEOUT_S
from unum_constructs.cdk.lambda_runtimes import DEFAULT_PYTHON, newest_python
from unum_constructs.cdk.nag import FAILURES_HANDLED, OWN_FUNCTION, SAME_RUNTIME, TRACES, acknowledge
from unum_constructs.cdk.resource_checks import check_key
from unum_constructs.errors import ConstructError
from unum_constructs.function import UnumFunction, python_runtime
from unum_constructs.hosting.host import HANDLER, Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """What such functions of one workflow have in common; each is an argument of `aws_lambda.Function`.

    Attributes:
        architecture: of all.
        log_retention: of their log groups.
        tracing: by X-Ray.
        encryption_key: the user's key for log groups and environments; AWS's own keys without.
        environment_encryption: another one for environments.
        vpc: where they run; outside of any VPC without.
        vpc_subnets: where in it.
        security_groups: in it.
        python: the runtime of all, such as ``python3.13``.
    """

    architecture: lambda_.Architecture
    log_retention: logs.RetentionDays
    tracing: lambda_.Tracing | None
    encryption_key: kms.IKey | None
    environment_encryption: kms.IKey | None
    vpc: ec2.IVpc | None
    vpc_subnets: ec2.SubnetSelection | None
    security_groups: Sequence[ec2.ISecurityGroup] | None
    python: str = DEFAULT_PYTHON

    def beside(self, functions: Iterable[lambda_.Function]) -> "Provision":
        """The same, with the newest Python that the user's `functions` have: so most workflows need one layer."""
        return replace(self, python=newest_python(functions))

    def check(self, workflow: Construct) -> None:
        """Stop if something is said of a VPC that there is not, or of a key that cannot be used.

        Raises:
            ConstructError: that is so.
        """
        check_key(workflow, "encryption_key", self.encryption_key)
        if self.vpc is None and (self.vpc_subnets is not None or self.security_groups is not None):
            raise ConstructError(workflow, "vpc: expected the VPC of `vpc_subnets` and `security_groups`, got None")

    def function(self, scope: Construct, construct_id: str, *, handler: str = HANDLER, **options: Any) -> UnumFunction:
        """A function without user code; `options` are those of `UnumFunction`."""
        function = UnumFunction(
            scope,
            construct_id,
            code=lambda_.Code.from_inline('"""The runtime in the layer does everything."""\n'),
            handler=handler,
            runtime=python_runtime(self.python),
            memory_size=OWN_FUNCTION_MB,
            architecture=self.architecture,
            log_retention=self.log_retention,
            **self._where_given(),
            **options,
        )
        acknowledge(function, {**SAME_RUNTIME, **OWN_FUNCTION, **FAILURES_HANDLED})
        if self.tracing not in (None, lambda_.Tracing.DISABLED) and function.role:
            acknowledge(function.role, TRACES)
        return function

    def entry(self, scope: Construct, construct_id: str) -> Host:
        """The function of a workflow that begins with no Task."""
        function = self.function(scope, construct_id, description="Starts executions of a workflow")
        return Host(function, handler=None)

    def services(self, scope: Construct, construct_id: str) -> Host:
        """The function of a workflow's Tasks that call services."""
        function = self.function(
            scope,
            construct_id,
            timeout=Duration.seconds(SERVICES_TIMEOUT_S),
            description="Calls services for the Tasks of a workflow",
        )
        return Host(function, handler=None)

    def _where_given(self) -> dict[str, Any]:
        """Arguments that a function does not get where nobody gave them: for it, a VPC that is None is one."""
        given = {
            "tracing": self.tracing,
            "encryption_key": self.encryption_key,
            "environment_encryption": self.environment_encryption,
            "vpc": self.vpc,
            "vpc_subnets": self.vpc_subnets,
            "security_groups": self.security_groups,
        }
        return {name: value for name, value in given.items() if value is not None}
