"""What goes on from events that Lambda has given up, and does what people ask for; every workflow has it.

It costs nothing as long as there is nothing to do.

It is the on-failure destination of the workflow's functions, as a version, because a running execution stays on the
definition that it began with. It refers to no function, and no function to it: destinations are resources of their own,
which hang on versions. So it makes no circle, whatever the workflow is like.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import Operation
from unum_compiler.lambda_settings import FAILURE_HANDLER_TIMEOUT_S
from unum_constructs.cdk.nag import ALARM, acknowledge
from unum_constructs.errors import ConstructError
from unum_constructs.hosting import environment
from unum_constructs.hosting.host import FailureDestination, async_configuration
from unum_constructs.hosting.version_ids import retain_with, version_arn
from unum_constructs.layer.workflow_layer import WorkflowLayer
from unum_constructs.resources import permissions
from unum_constructs.resources.own_functions import Provision

HANDLER = "unum_runtime.failure_handler.handle"

OTHERS = "UNUM_OTHERS"
"""The variable that names the handlers of other workflows."""


class FailureHandler(Construct):
    """A function that commits what the invocations of such events came to, and plans from it.

    Args:
        scope: the workflow.
        construct_id: its id.
        workflow_name: the workflow's name.
        service: what `unum_runtime.functions.task_function.Service` says, but for what each function has of its own.
        layer: runtime and definition.
        provision: how the function is made.
        dead_letters: where records end that it could not work on.

    Attributes:
        function: the function.
        version: its version in this deployment.
        version_arn: a token of the version's qualified ARN.
        alarm: goes off when there are dead letters; it has no actions but those that are added to it.
    """

    def __init__(  # noqa: PLR0913 - what it is made of, by name
        self,
        scope: Construct,
        construct_id: str,
        *,
        workflow_name: str,
        service: Mapping[str, Any],
        layer: WorkflowLayer,
        provision: Provision,
        dead_letters: sqs.Queue,
    ) -> None:
        super().__init__(scope, construct_id)
        self._dead_letters = dead_letters
        self._others: dict[str, str] = {}
        self.function = provision.function(
            self,
            "Handler",
            handler=HANDLER,
            layers=[layer],
            timeout=Duration.seconds(FAILURE_HANDLER_TIMEOUT_S),
            recursive_loop=lambda_.RecursiveLoop.ALLOW,  # the same execution may come here in each round of a loop
            description="Goes on from the events of a workflow that Lambda has given up",
        )
        self.function.add_environment("UNUM_WORKFLOWS", self.function.stack.to_json_string({workflow_name: service}))
        layer.taken_by(self.function)
        # A layer keeps its logical id when its content changes, so the CDK would see the same function.
        self.function.invalidate_version_based_on(layer.digest)
        self.version = self.function.current_version
        self.version_arn = version_arn(self.version)
        self.alarm = self._alarm()

    def allow(self, hosts: Collection[permissions.HasEnvironment], statements: Iterable[iam.PolicyStatement]) -> None:
        """Let it take the place of `hosts`, for which it needs `statements` too; what it cannot do is reported."""
        policy = permissions.attach_for_all(
            self,
            "Permissions",
            self.function,
            [*hosts],
            actions=permissions.STANDING_IN,
            statements=[
                *permissions.standing_in(hosts),
                *statements,
                *permissions.sending([self._dead_letters]),
            ],
        )
        configuration = async_configuration(
            self.version,
            function_name=self.function.function_name,
            qualifier=self.version.version,
            destination=self._dead_letters.queue_arn,
        )
        configuration.node.add_dependency(policy)  # Lambda refuses a queue that the function's role may not send to
        retain_with(self.version, configuration, suffix="OnFailure")
        # Waits come back to it, and executions of another version have another version of it.
        own = [*permissions.invoking([self]), permissions.reading_aliases(self)]
        permissions.attach(self, "Control", self.function, own)

    def hand_on(self, workflow_name: str, other: FailureDestination) -> None:
        """Have `other` do what is for another workflow, one that has functions of this workflow.

        Raises:
            ConstructError: Lambda would refuse an environment with that many workflows.
        """
        if workflow_name not in self._others:
            self._others[workflow_name] = other.version_arn
            self._check_environment()
            self.function.add_environment(OTHERS, self.function.stack.to_json_string(self._others))
            permissions.attach(self, workflow_name, self.function, permissions.invoking([other]))

    def _check_environment(self) -> None:
        longest = json.dumps(dict.fromkeys(self._others, "x" * environment.MOST_ARN_BYTES))
        size = environment.least_bytes({OTHERS: longest})
        if size > environment.MOST_BYTES:
            raise ConstructError(
                self,
                f"expected an environment of at most {environment.MOST_BYTES} bytes, got {size} for "
                f"{len(self._others)} workflows that share functions with this one; give some of them functions of "
                "their own",
            )

    def _alarm(self) -> cloudwatch.Alarm:
        alarm = cloudwatch.Alarm(
            self,
            "Alarm",
            metric=self._dead_letters.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description="Events of a workflow that need somebody: executions may stand still",
        )
        acknowledge(alarm, ALARM)
        return alarm


def operations(of_functions: Iterable[frozenset[Operation]]) -> frozenset[Operation]:
    """What it does in the table: what any of the functions does, and for people it looks how far executions are."""
    return frozenset({Operation.CREATE, Operation.READ, Operation.LIST}).union(*of_functions)
