"""Periodic search for stalled executions."""

from collections.abc import Iterable
from dataclasses import dataclass

from aws_cdk import Annotations, Aws, Duration, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.lambda_settings import DEFAULT_TIMEOUT_S
from unum_constructs.cdk.argument_checks import check_types, seconds
from unum_constructs.cdk.lookup import resource_of
from unum_constructs.cdk.storage import Storage
from unum_constructs.errors import ConstructError
from unum_constructs.hosting.host import Host, async_configuration
from unum_constructs.resources import permissions
from unum_constructs.resources.schedule_group import new_scheduler_role
from unum_runtime.protocol.control.sweep import Sweep as Request
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS

MINUTE_S = 60
HOUR_S = 3600

SILENT_FOR_S = HOUR_S
"""Longer than the retries of a function that Lambda kills after 15 minutes in each attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Options of the search for stalled executions; made by `Sweep.every`.

    Attributes:
        interval: time between two sweeps; None for an hour.
        silent_for: time after which overdue progress counts as a stall; None for an hour.
        nudge: True resends lost events; False only reports them.
    """

    interval: Duration | None
    silent_for: Duration | None
    nudge: bool

    @classmethod
    def every(cls, interval: Duration, *, nudge: bool = True, silent_for: Duration | None = None) -> "Sweep":
        """Search every `interval` for executions whose next event was lost.

        Each stalled execution is a log line and counts in `WorkflowMetric.SILENT`. Waits, delayed events and retry
        intervals are no stalls; nor are Tasks that wait for a response or a job, within the execution's time limit.

        Args:
            interval: whole minutes, at least one.
            nudge: True resends what the execution waits for, as safely as any duplicate event.
            silent_for: time without overdue progress; must exceed every function's timeout, and should exceed the
                duration of a Task with all retries, because slower Tasks are reported, too. Default: 1 hour.

        Returns:
            The options, for `UnumWorkflow`; the workflow checks them.
        """
        return cls(interval=interval, silent_for=silent_for, nudge=nudge)

    def checked(self, workflow: Construct, storage: Storage, hosts: Iterable[Host]) -> "Sweep | None":
        """Return these options; None if they are the default, and the table lists no executions as far as is known.

        Raises:
            ConstructError: the sweep would never find stalled executions, or would report healthy ones, because the
                table does not list executions or a time is too short; or a value has another type.
        """
        if self is HOURLY and not storage.lists(if_imported=False):
            Annotations.of(workflow).add_info_v2("unum:NoSweep", NO_SWEEP)
            return None
        self.checked_interval(workflow).check_workflow(workflow, storage, hosts)
        return self

    def checked_interval(self, scope: Construct) -> "Sweep":
        """Return these options.

        Raises:
            ConstructError: the interval is no number of minutes, or a value has another type.
        """
        interval_s = HOUR_S if self.interval is None else seconds(scope, "sweep: every", self.interval)
        if interval_s < MINUTE_S or interval_s % MINUTE_S:
            raise ConstructError(scope, f"sweep: every: expected whole minutes, at least one, got {interval_s:g} s")
        check_types(scope, bool, {"sweep: nudge": self.nudge})
        return self

    def check_workflow(self, workflow: Construct, storage: Storage, hosts: Iterable[Host]) -> None:
        """Check that sweeps find what stands still in `workflow`, and nothing else.

        Raises:
            ConstructError: `storage` does not list executions, or a function of `hosts` may be silent for longer.
        """
        if not storage.lists():
            remedy = "give `store=Store.dynamodb(list_executions=True)`, or the table such an index"
            raise ConstructError(workflow, f"sweep: expected a table that lists executions, got none; {remedy}")
        silent_s = SILENT_FOR_S if self.silent_for is None else seconds(workflow, "sweep: silent_for", self.silent_for)
        # A function may be silent for its whole timeout without any loss. None has a longer one than Lambda's limit, so
        # the functions of most workflows need not be asked, which takes requests to the CDK's process.
        timeout_s, path = max(map(_known_timeout, hosts)) if silent_s * 1000 <= MAX_DELIVERY_MS else (0, "")
        if silent_s <= timeout_s:
            raise ConstructError(
                workflow,
                f"sweep: silent_for: expected more than {timeout_s:g} s, the timeout of the function {path}, "
                f"got {silent_s:g} s",
            )

    def request(self, failure_queue: sqs.IQueue) -> Request:
        """Return the control request of each sweep, which also tries the dead letters of `failure_queue` again."""
        silent_ms = SILENT_FOR_S * 1000 if self.silent_for is None else round(self.silent_for.to_milliseconds())
        return Request(silent_ms=silent_ms, nudges=self.nudge, letters=failure_queue.queue_url)


HOURLY = Sweep(interval=None, silent_for=None, nudge=True)
"""The default of workflows; an app need not ask for it. Durations are made at synth, because the CDK's process starts
with the first."""

NO_SWEEP = (
    "No sweep looks for stalled executions, and no dead letter of the failure queue is tried again, because the table "
    "lists no executions as far as this app knows. Give the table the index `executions` (see `Store.dynamodb`) and "
    "`sweep=Sweep.every(...)`, or `sweep=None` to leave the search out."
)


class WorkflowSweep(Construct):
    """Schedule that invokes the control function for each sweep; no other role may invoke its alias.

    Args:
        scope: the workflow.
        construct_id: id below `scope`.
        options: interval and limits.
        alias: alias of the control function that runs the sweep.
        policy: policy of that function.
        dead_letters: queue for failed sweeps, whose dead letters each sweep tries again.

    Attributes:
        schedule: EventBridge Scheduler schedule.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        options: Sweep,
        alias: lambda_.Alias,
        policy: iam.Policy | iam.ManagedPolicy,
        dead_letters: sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        policy.add_statements(*permissions.retry_statements(dead_letters))
        configuration = async_configuration(
            self,
            function_name=alias.lambda_.function_name,
            qualifier=alias.alias_name,
            destination=dead_letters.queue_arn,
        )
        # The configuration names the alias by text, which CloudFormation takes for no dependency.
        configuration.node.add_dependency(resource_of(alias, lambda_.CfnAlias))
        self.schedule = scheduler.Schedule(
            self,
            "Schedule",
            schedule=scheduler.ScheduleExpression.rate(options.interval or Duration.seconds(HOUR_S)),
            target=targets.LambdaInvoke(
                alias,
                input=scheduler.ScheduleTargetInput.from_object(options.request(dead_letters).to_json()),
                retry_attempts=0,  # the next sweep finds the same executions
                role=self._new_role(alias),
            ),
            description="Looks for executions of a workflow that stand still",
        )
        self.schedule.node.add_dependency(policy)

    def _new_role(self, alias: lambda_.Alias) -> iam.IRole:
        """Make the role of the schedule, which may invoke `alias` alone."""
        may = [permissions.invoke_exactly_statement([alias.function_arn])]
        source = {"aws:SourceAccount": Aws.ACCOUNT_ID}
        return new_scheduler_role(self, "Role", source, may).without_policy_updates()


def _known_timeout(host: Host) -> tuple[float, str]:
    """Return timeout in seconds (0 for tokens) and path of a function."""
    timeout_s = host.resource.timeout
    known = 0 if Token.is_unresolved(timeout_s) else timeout_s
    return (DEFAULT_TIMEOUT_S if known is None else known), host.function.node.path
