"""Deployment guard of a workflow: a custom resource with the parts that executions depend on.

CloudFormation asks the control function before it changes anything that depends on the resource, the start alias above
all; so a refused deployment has started no execution of the new definition. The permissions of control function and
failure handler change after the resource: the guard reads the versions of functions that leave the workflow, and the
intake continues on them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from aws_cdk import Annotations, Aws, CustomResource, Duration
from aws_cdk import aws_iam as iam
from constructs import Construct

from unum_constructs.cdk.storage import Storage
from unum_constructs.errors import ConstructError
from unum_constructs.resources.control_function import ControlAliases
from unum_constructs.resources.upgrades import OnRemoved

RESOURCE_TYPE = "Custom::UnumDeploymentGuard"

SERVICE_TIMEOUT_S = 900
"""Time after which CloudFormation no longer waits for an answer: two deliveries to the control function and the minute
between them. Source: AWS CloudFormation Template Reference, AWS::CloudFormation::CustomResource, ServiceTimeout."""

NO_GUARD = (
    "Deployments are not checked for running executions that need what they remove, because {reason}. "
    'Give `upgrades=Upgrades(on_removed="refuse")` to check them{condition}, or "fail-executions" to acknowledge this.'
)


def is_guarded(workflow: Construct, storage: Storage, on_removed: OnRemoved | None, *, is_in_vpc: bool) -> bool:
    """Return True if deployments of `workflow` are checked; say so at synth if the default cannot check them.

    Raises:
        ConstructError: the guard could not find executions, because the table does not list them.
    """
    if on_removed is None and not storage.lists(if_imported=False):
        reason = "the table lists no executions as far as this app knows"
        text = NO_GUARD.format(reason=reason, condition=" if it has the index `executions` (see `Store.dynamodb`)")
        Annotations.of(workflow).add_info_v2("unum:NoGuard", text)
        return False
    if on_removed is None and is_in_vpc:
        reason = "the control function is in a VPC, from which it may not reach CloudFormation and its bucket in S3"
        text = NO_GUARD.format(reason=reason, condition=" if it reaches both")
        Annotations.of(workflow).add_info_v2("unum:NoGuard", text)
        return False
    if on_removed is OnRemoved.REFUSE and not storage.lists():
        remedy = "give `store=Store.dynamodb(list_executions=True)`, or the table such an index"
        raise ConstructError(
            workflow,
            f'upgrades.on_removed: "refuse" expects a table that lists executions, got one that does not; {remedy}',
        )
    return on_removed is not OnRemoved.FAIL_EXECUTIONS


class DeploymentGuard(Construct):
    """Custom resource that refuses deployments which would strand running executions.

    Args:
        scope: the workflow.
        construct_id: id below `scope`.
        control: control function, which answers.
        properties: places of the workflow's parts, see `unum_runtime.protocol.control.deletions.removal`.
        listing: permission to list executions; empty if the function has it anyway. A role's inline policies have
            10,240 characters for all statements.

    Attributes:
        resource: the custom resource.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        control: ControlAliases,
        properties: Mapping[str, Any],
        listing: Sequence[iam.PolicyStatement],
    ) -> None:
        super().__init__(scope, construct_id)
        self.resource = CustomResource(
            self,
            "Resource",
            # Without a qualifier: CloudFormation does not allow another address later, and every update changes the
            # version. Operators may invoke aliases only, and functions of the workflow nothing of it.
            service_token=control.function.function_arn,
            service_timeout=Duration.seconds(SERVICE_TIMEOUT_S),
            resource_type=RESOURCE_TYPE,
            properties=properties,
        )
        # To recognize a rollback, which must not be refused.
        status = iam.PolicyStatement(actions=["cloudformation:DescribeStacks"], resources=[Aws.STACK_ID])
        control.policy.add_statements(status, *listing)

    def precede(self, policies: Iterable[iam.Policy | iam.ManagedPolicy]) -> None:
        """Let CloudFormation change `policies` after the guard has accepted the deployment."""
        for policy in policies:
            policy.node.add_dependency(self.resource)


def policies_of(*scopes: Construct) -> Iterator[iam.Policy | iam.ManagedPolicy]:
    """Yield the policies directly in `scopes`."""
    for scope in scopes:
        yield from (each for each in scope.node.children if isinstance(each, iam.Policy | iam.ManagedPolicy))
