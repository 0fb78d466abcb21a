"""What keeps the events of a workflow that have to wait for long, in workflows in which any may.

The schedules are made at run time. With the stack goes their group, and with it all of them.
"""

from collections.abc import Iterator

from aws_cdk import Aws, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.cdk.encryption import SCHEDULING, decrypting, using
from unum_constructs.resources import permissions
from unum_runtime.aws.schedules import LONG_S

SCHEDULER = "scheduler.amazonaws.com"


class WorkflowSchedules(Construct):
    """A group of schedules that send to one queue, and the role that they do it with.

    Args:
        scope: the timer.
        construct_id: its id.
        queue: where they send to.
        dead_letters: what they cannot send.
        encryption_key: the user's key, which both queues have; then the schedules have it, too.

    Attributes:
        group: of the schedules.
        role: may send to the two queues, and nothing else; taken by schedules of the group alone.
        arns: of all that may be in the group: they are named by what they send, which run time alone knows.
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
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.PrincipalWithConditions(iam.ServicePrincipal(SCHEDULER), {"StringEquals": self._source}),
        )
        iam.Policy(self, "Permissions", statements=[*self._sending()], roles=[self.role])

    @property
    def settings(self) -> str:
        """What the forwarder has to know, as JSON: fields of `unum_runtime.aws.schedules.Schedules`."""
        fields = {
            "group": self.group.ref,
            "queue": self._queue.queue_arn,
            "role": self.role.role_arn,
            "dead_letters": self._dead_letters.queue_arn,
            "longer_than_s": LONG_S,
        }
        key = {"key": self._key.key_arn} if self._key else {}
        return Stack.of(self).to_json_string({**fields, **key})

    def adding(self) -> Iterator[iam.PolicyStatement]:
        """To add schedules to the group, with this role and with no other."""
        yield iam.PolicyStatement(actions=["scheduler:CreateSchedule"], resources=[self.arns])
        yield iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[self.role.role_arn],
            conditions={"StringEquals": {"iam:PassedToService": SCHEDULER}},
        )
        if self._key is not None:
            yield using(self._key, SCHEDULING, through="scheduler")

    @property
    def _source(self) -> dict[str, str]:
        """Who takes the role. Source: EventBridge Scheduler User Guide, "Confused deputy prevention"."""
        return {"aws:SourceAccount": Aws.ACCOUNT_ID, "aws:SourceArn": self.group.attr_arn}

    def _sending(self) -> Iterator[iam.PolicyStatement]:
        yield from permissions.sending([self._queue, self._dead_letters])
        if self._key is not None:
            yield decrypting(self._key, self.arns)
