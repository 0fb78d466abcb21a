"""Looking for executions that stand still, from time to time: in workflows that want it."""

from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import Aws, Duration, Token
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.lambda_settings import DEFAULT_TIMEOUT_S
from unum_constructs.cdk.argument_checks import check_kinds, seconds
from unum_constructs.cdk.lookup import resource_of
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host, async_configuration
from unum_constructs.resources import permissions
from unum_constructs.resources.failure_handler import FailureHandler
from unum_constructs.store import may_list
from unum_runtime.protocol.control.sweep import Sweep as Request

MINUTE_S = 60

SILENT_FOR_S = 3600
"""A function that is killed after 15 minutes, as often as Lambda delivers an event, takes less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """How often, and for what, a workflow looks through its executions; made by `Sweep.every`.

    Attributes:
        interval: between two sweeps.
        silent_for: for how long nothing must have happened that should have.
        nudge: whether what was lost is sent once more, or only reported.
    """

    interval: Duration
    silent_for: Duration
    nudge: bool

    @classmethod
    def every(cls, interval: Duration, *, nudge: bool = True, silent_for: Duration | None = None) -> "Sweep":
        """A sweep every `interval`, which finds executions that wait for an event that was lost.

        Each of them is a line in the log and counts as `WorkflowMetric.SILENT`. Waits, events that are not due and the
        intervals of retriers are no silence. Nor are Tasks that wait for an answer or a job, as long as the execution
        has time.

        Args:
            interval: one minute or more, in whole minutes.
            nudge: whether what an execution waits for is sent once more, which is as safe as a late delivery.
            silent_for: longer than a Task takes with all of its tries, and than any function's timeout; one hour where
                it is not given. What was not lost, and takes longer, is found as well.
        """
        return cls(interval=interval, silent_for=silent_for or Duration.seconds(SILENT_FOR_S), nudge=nudge)

    def check(self, workflow: Construct, table: dynamodb.ITable, hosts: Iterable[Host]) -> None:
        """Stop where it would find nothing, or what is at work.

        Raises:
            ConstructError: the table does not list executions, a time is too short, or something is of another kind.
        """
        if not may_list(table):
            remedy = "give `store=Store.dynamodb(list_executions=True)`, or the table such an index"
            raise ConstructError(workflow, f"sweep: expected a table that lists executions, got none; {remedy}")
        interval_s = seconds(workflow, "sweep: every", self.interval)
        if interval_s < MINUTE_S or interval_s % MINUTE_S:
            raise ConstructError(workflow, f"sweep: every: expected whole minutes, at least one, got {interval_s:g} s")
        check_kinds(workflow, bool, {"sweep: nudge": self.nudge})
        silent_s, (timeout_s, path) = seconds(workflow, "sweep: silent_for", self.silent_for), max(map(_timeout, hosts))
        if silent_s <= timeout_s:
            raise ConstructError(
                workflow,
                f"sweep: silent_for: expected more than {timeout_s:g} s, the timeout of the function {path}, "
                f"got {silent_s:g} s",
            )

    @property
    def request(self) -> Request:
        """What is asked for each time."""
        return Request(silent_ms=round(self.silent_for.to_milliseconds()), nudges=self.nudge)


class WorkflowSweep(Construct):
    """A schedule that has the failure handler look through the executions.

    Args:
        scope: the workflow.
        construct_id: its id.
        options: how often, and for what.
        index_arn: of what lists the executions.
        partitions: what names the workflow's own partitions of it begin with.
        handler: looks at them.
        control_alias: where it is asked to.
        dead_letters: what is told of sweeps that failed.

    Attributes:
        schedule: asks it.
    """

    def __init__(  # noqa: PLR0913 - what it is made of, by name
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: Sweep,
        index_arn: str,
        partitions: str,
        handler: FailureHandler,
        control_alias: lambda_.Alias,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        listing = iam.PolicyStatement(
            actions=["dynamodb:Query"],
            resources=[index_arn],
            conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{partitions}*"]}},
        )
        policy = permissions.attach(self, "Permissions", handler.function, [listing])
        configuration = async_configuration(
            self,
            function_name=handler.function.function_name,
            qualifier=control_alias.alias_name,
            destination=dead_letters.queue_arn,
        )
        configuration.node.add_dependency(resource_of(control_alias, lambda_.CfnAlias))  # which its name does not say
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.PrincipalWithConditions(
                iam.ServicePrincipal("scheduler.amazonaws.com"), {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
            ),
        )
        self.schedule = scheduler.Schedule(
            self,
            "Schedule",
            schedule=scheduler.ScheduleExpression.rate(options.interval),
            target=targets.LambdaInvoke(
                control_alias,
                input=scheduler.ScheduleTargetInput.from_object(options.request.to_json()),
                retry_attempts=0,  # the next sweep finds what this one would have found
                role=role,
            ),
            description="Looks for executions of a workflow that stand still",
        )
        self.schedule.node.add_dependency(policy)


def _timeout(host: Host) -> tuple[float, str]:
    """How long the function may take, in seconds, as far as synth knows, and its path."""
    timeout_s = host.resource.timeout
    known = 0 if Token.is_unresolved(timeout_s) else timeout_s
    return (DEFAULT_TIMEOUT_S if known is None else known), host.function.node.path
