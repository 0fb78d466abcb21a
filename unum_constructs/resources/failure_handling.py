"""Failure handler of a workflow, its intake: takes over events that Lambda gave up, and what functions hand over.

It is the on-failure destination of the workflow's functions, as a version, because running executions stay on their
definition. On-failure destinations are resources of their own, attached to versions: no function refers to the handler
and it refers to no function, so no workflow makes the references circular.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Aws, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct, IDependable

from unum_constructs.cdk.lookup import path_of, resource_of, role_of, stack_of
from unum_constructs.cdk.nag import ALARM, acknowledge
from unum_constructs.cdk.threshold_alarm import new_alarm
from unum_constructs.errors import ConstructError
from unum_constructs.hosting import environment
from unum_constructs.hosting.host import FailureDestination, async_configuration
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources import permissions
from unum_constructs.resources.control_function import ControlFunction, alias_arns
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.permissions import UNPUBLISHED
from unum_constructs.resources.planning_function import PlanningFunction
from unum_runtime.json_text import to_ascii
from unum_runtime.model.naming import start_intake_alias
from unum_runtime.protocol.control.control_aliases import ControlAlias

# Remote intake: fixed address of a workflow's failure handler, for failure handlers of earlier stacks.

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


OTHERS = "UNUM_OTHERS"
"""Environment variable with the handlers of other workflows."""


class FailureHandler(PlanningFunction):
    """Function that commits failed invocations and continues the execution.

    Args:
        scope: the workflow.
        construct_id: id below `scope`.
        workflow_name: workflow name.
        service: shared fields of `unum_runtime.functions.configuration.Service`.
        layers: runtime and definition.
        provision: options of the function.
        dead_letters: queue for events that the handler could not process.
        control: control function, which nudges executions for the handler.

    Attributes:
        alarm: alarm on dead letters, without actions of its own.
    """

    HANDLER = "unum_runtime.failure_handler.handle"
    ID = "Handler"
    DESCRIPTION = "Goes on from the events of a workflow that Lambda has given up"

    def __init__(  # noqa: PLR0913 - one keyword for each part
        self,
        scope: Construct,
        construct_id: str,
        *,
        workflow_name: str,
        service: Mapping[str, Any],
        layers: WorkflowLayers,
        provision: Provision,
        dead_letters: sqs.Queue,
        control: ControlFunction,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            workflow_name=workflow_name,
            service=service,
            layers=layers,
            provision=provision,
            dead_letters=dead_letters,
            environment={"UNUM_CONTROL": control.function.function_arn},
        )
        self._others: dict[str, str] = {}
        self._forwarding: list[iam.PolicyStatement] = []
        self._forwarding_elsewhere: iam.PolicyStatement | None = None
        self._remote: RemoteIntake | None = None
        self._layers, self._provision, self._control = layers, provision, control
        self.alarm = self._alarm()

    def allow_own(self) -> None:
        """Let the handler forward to its other versions, and nudge executions through the control function."""
        nudge = alias_arns(self._control.function.function_arn, self.workflow_name)[ControlAlias.NUDGE]
        own = [
            *permissions.invoke_statements([self]),
            permissions.read_aliases_statement(self),
            permissions.invoke_exactly_statement([nudge]),
        ]
        self.policy.add_statements(*own)

    def addresses(self, *, reports_starts: bool) -> Sequence[str]:  # noqa: ARG002 - of a handler with several workflows
        """Return no aliases: functions invoke versions, to which their executions stay."""
        return ()

    @property
    def ready(self) -> tuple[IDependable, ...]:
        """Constructs required before the handler's first event."""
        return (self.policy, self.failures, *([self._remote] if self._remote else ()))

    def address_for(self, other: Construct) -> str:
        """Return this handler's ARN for handler `other`: a version within one stack, or the remote intake."""
        return self.version_arn if _share_stack(self, other) else self._remote_intake().arn

    def _remote_intake(self) -> RemoteIntake:
        if self._remote is None:
            self._remote = RemoteIntake(
                self,
                workflow_name=self.workflow_name,
                layers=self._layers,
                provision=self._provision,
                dead_letters=self._dead_letters,
            )
            self._control.retry_letters_of(self._remote.arn)
        return self._remote

    def open(self, start_alias: lambda_.Alias, scope: Construct) -> lambda_.Alias:
        """Make the alias that receives failed start events, in `scope`."""
        # The handler reads the start alias in the description (GetAlias): as a variable, it would be a circular
        # reference. By this reference the alias depends on all that the start alias depends on.
        start_intake = lambda_.Alias(
            scope,
            "StartIntake",
            alias_name=start_intake_alias(self.workflow_name),
            version=self.version,
            description=start_alias.function_arn,
        )
        # Lambda applies no other qualifier's configuration: without its own, a failed start that the handler cannot
        # process would vanish.
        failures = async_configuration(
            start_intake,
            function_name=self.function.function_name,
            qualifier=start_intake.alias_name,
            destination=self._dead_letters.queue_arn,
        )
        # The configuration names the alias by text, which CloudFormation takes for no dependency.
        failures.node.add_dependency(resource_of(start_intake, lambda_.CfnAlias), self.policy)
        return start_intake

    def forward_failures(self, workflow_name: str, other: FailureDestination) -> None:
        """Forward failures of a workflow with shared functions to its own handler, `other`.

        Raises:
            ConstructError: the environment would be too large.
        """
        # Each shared function calls this; environment and policy change once.
        if workflow_name not in self._others:
            self._others[workflow_name] = other.address_for(self)
            self._check_environment()
            others = {self.workflow_name: self._others}
            self.function.add_environment(OTHERS, self.function.stack.to_json_string(others))
            self._allow_other(workflow_name, other)

    def _allow_other(self, workflow_name: str, other: FailureDestination) -> None:
        """Let the handler invoke another one, by one policy for all: IAM limits the characters of a role's policies."""
        if not _share_stack(self, other.function):
            self._allow_elsewhere(other.address_for(self))
            return
        statements = [*permissions.invoke_statements((), [other])]
        if other.addresses(reports_starts=False):
            self.policy.add_statements(*statements)
            return
        if not self._forwarding:
            self._forwarding = statements
            permissions.attach(self, workflow_name, self.function, statements)
            return
        for statement, more in zip(self._forwarding, statements, strict=True):
            statement.add_resources(*more.resources)

    def _allow_elsewhere(self, arn: str) -> None:
        if self._forwarding_elsewhere is None:
            self._forwarding_elsewhere = permissions.invoke_exactly_statement([arn])
            self.policy.add_statements(self._forwarding_elsewhere)
        else:
            self._forwarding_elsewhere.add_resources(arn)

    def _check_environment(self) -> None:
        # ARNs are tokens at synth: assume the longest, so that the deployment cannot fail.
        longest = to_ascii({self.workflow_name: dict.fromkeys(self._others, "x" * environment.MAX_ARN_BYTES)})
        size = environment.min_bytes({OTHERS: longest})
        if size > environment.MAX_BYTES:
            raise ConstructError(
                self,
                f"expected an environment of at most {environment.MAX_BYTES} bytes, got {size} for "
                f"{len(self._others)} workflows that share functions with this one; give some of them functions of "
                "their own",
            )

    def _alarm(self) -> cloudwatch.Alarm:
        metric = self._dead_letters.metric_approximate_number_of_messages_visible(
            period=Duration.minutes(1), statistic="Maximum"
        )
        what = "Events of a workflow that need somebody: executions may stand still"
        alarm = new_alarm(self, "Alarm", metric, 1, what)
        acknowledge(alarm, ALARM)
        return alarm


def _share_stack(one: Construct, other: IConstruct) -> bool:
    return path_of(stack_of(one)) == path_of(stack_of(other))
