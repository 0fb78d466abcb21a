"""Schedules for long delays of events.

The runtime makes the schedules; their group is deleted with the stack, and all schedules with it.
"""

from collections.abc import Iterable, Iterator, Mapping

from aws_cdk import Aws, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.encryption import SCHEDULING, key_statement, schedule_key_statement
from unum_constructs.resources import permissions
from unum_runtime.model.delays import LONG_S

SCHEDULER = "scheduler.amazonaws.com"


class WorkflowSchedules(Construct):
    """Schedule group and role, for messages to one queue.

    Args:
        scope: the timer.
        construct_id: id below `scope`.
        queue: target queue.
        dead_letters: queue for messages that Scheduler could not send.
        encryption_key: customer managed KMS key of both queues, also used for the schedules.

    Attributes:
        group: schedule group.
        role: role that may send to the two queues only; only schedules of the group can assume it.
        arns: ARN pattern of the group's schedules, whose names depend on run time.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: sqs.IQueue,
        dead_letters: sqs.IQueue,
        encryption_key: kms.IKey | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._queue, self._dead_letters, self._key = queue, dead_letters, encryption_key
        self.group = scheduler.CfnScheduleGroup(self, "Group")
        self.arns = f"arn:{Aws.PARTITION}:scheduler:{Aws.REGION}:{Aws.ACCOUNT_ID}:schedule/{self.group.ref}/*"
        # Without the condition, schedules of other groups in the account could use the role.
        source = {"aws:SourceAccount": Aws.ACCOUNT_ID, "aws:SourceArn": self.group.attr_arn}
        self.role = new_scheduler_role(self, "Role", source, self._sending())

    @property
    def settings(self) -> str:
        """Forwarder settings as JSON: fields of `unum_runtime.features.timers.schedules.Schedules`."""
        fields = {
            "group": self.group.ref,
            "queue": self._queue.queue_arn,
            "role": self.role.role_arn,
            "dead_letters": self._dead_letters.queue_arn,
            "longer_than_s": LONG_S,
        }
        key = {"key": self._key.key_arn} if self._key else {}
        return Stack.of(self).to_json_string({**fields, **key})

    def add_schedule_statements(self) -> Iterator[iam.PolicyStatement]:
        """Yield permission to create schedules in the group, with this role alone."""
        yield iam.PolicyStatement(actions=["scheduler:CreateSchedule"], resources=[self.arns])
        yield iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[self.role.role_arn],
            conditions={"StringEquals": {"iam:PassedToService": SCHEDULER}},
        )
        if self._key is not None:
            yield key_statement(self._key, SCHEDULING, through="scheduler")

    def _sending(self) -> Iterator[iam.PolicyStatement]:
        yield from permissions.send_statements([self._queue, self._dead_letters])
        if self._key is not None:
            yield schedule_key_statement(self._key, self.arns)


def new_scheduler_role(
    scope: Construct, construct_id: str, source: Mapping[str, str], statements: Iterable[iam.PolicyStatement]
) -> iam.Role:
    """Make a role with `statements` that EventBridge Scheduler assumes for schedules with the condition keys `source`.

    Source: EventBridge Scheduler User Guide, "Confused deputy prevention".
    """
    scheduler_only = iam.PrincipalWithConditions(iam.ServicePrincipal(SCHEDULER), {"StringEquals": {**source}})
    may = iam.PolicyDocument(statements=[*statements])
    return iam.Role(scope, construct_id, assumed_by=scheduler_only, inline_policies={"Targets": may})
