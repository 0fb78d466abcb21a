"""Remote intake: fixed address of a workflow's failure handler, for failure handlers of earlier stacks."""

import hashlib

from aws_cdk import Aws, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.lookup import role_of
from unum_constructs.hosting.host import async_configuration
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.permissions import UNPUBLISHED
from unum_constructs.resources.planning_function import PlanningFunction

HANDLER = "unum_runtime.functions.operations.remote_intake.handle"

_LONGEST_PREFIX = 40
"""Characters of the name before its digest; Lambda allows 64 in all."""


class RemoteIntake(Construct):
    """Function with a fixed name that forwards events to the deployed failure handler.

    Handlers of other stacks cannot refer to this workflow's, because its stack is deployed after theirs, and a function
    with versions must not get another name: it would be another function. This one has no state and no versions.

    Args:
        handler: the workflow's failure handler, whose role and logs the function shares.
        workflow_name: workflow name.
        layers: layers with its code.
        provision: options of the function.
        dead_letters: queue for what it could not hand on.

    Attributes:
        arn: ARN of the function, without references.
    """

    def __init__(
        self,
        handler: PlanningFunction,
        *,
        workflow_name: str,
        layers: WorkflowLayers,
        provision: Provision,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(handler, "Remote")
        name = self._fixed_name(workflow_name)
        self.arn = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:{Aws.ACCOUNT_ID}:function:{name}"
        self.function = provision.new_function(
            self,
            "Intake",
            handler=HANDLER,
            layers=layers,
            function_name=name,
            role=role_of(handler.function),
            log_group=handler.function.log_group,
            environment={"UNUM_INTAKE": handler.version_arn},
            # Failures in a loop come here in each of its rounds.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
            description="Takes failed events that other stacks forward to a workflow",
        )
        self.failures = async_configuration(
            self,
            function_name=self.function.function_name,
            qualifier=UNPUBLISHED,
            destination=dead_letters.queue_arn,
        )
        # PutFunctionEventInvokeConfig fails unless the role may already send to the queue.
        self.failures.node.add_dependency(handler.policy)

    def _fixed_name(self, workflow_name: str) -> str:
        """Return a function name unique in the account, for each deployment of the app."""
        place = f"{Stack.of(self).stack_name}/{self.node.path}"
        digest = hashlib.sha256(place.encode()).hexdigest()[:16]
        return f"{workflow_name[:_LONGEST_PREFIX]}-intake-{digest}"
