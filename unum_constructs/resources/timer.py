"""What keeps the events of a workflow that have to wait, in workflows in which any have to.

Queue and forwarder are the same for all versions of the workflow's functions: a message says which version it is for.
"""

from collections.abc import Iterable, Iterator

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.lambda_settings import FORWARDER_TIMEOUT_S
from unum_constructs.cdk.queues import new_queue
from unum_constructs.layer.workflow_layer import WorkflowLayer
from unum_constructs.resources import permissions
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.schedules import WorkflowSchedules

HANDLER = "unum_runtime.aws.forwarder.handle"

VISIBILITY_S = 6 * FORWARDER_TIMEOUT_S
"""Source: AWS Lambda Developer Guide, "Creating and configuring an Amazon SQS event source mapping"."""

MAX_RECEIVES = 10
"""How often SQS delivers a message that cannot be handed on; with `VISIBILITY_S` between, for half an hour."""

BATCH = 10
"""The most that Lambda hands over without waiting for more."""


class WorkflowTimer(Construct):
    """A queue, and a function behind it that hands on what is due.

    Args:
        scope: the workflow.
        construct_id: its id.
        layer: has the forwarder's code.
        provision: how the forwarder is made.
        failure_queue: where messages end that can neither be handed on nor given to a failure handler.
        targets: the functions that events may be for.
        queue_name: of the queue, where functions have to know it before it is there.
        waits_long: whether events may have to wait for so long that schedules are worth it.

    Attributes:
        queue: keeps the events.
        forwarder: hands them on.
        queue_name: the queue's name, if synth knows it.
        schedules: keep what has to wait for long; None where nothing does.
    """

    def __init__(  # noqa: PLR0913 - what it is made of, by name
        self,
        scope: Construct,
        construct_id: str,
        *,
        layer: WorkflowLayer,
        provision: Provision,
        failure_queue: sqs.IQueue,
        targets: Iterable[permissions.HasFunction],
        queue_name: str | None = None,
        waits_long: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._targets = [*targets]
        self.queue_name = queue_name
        self.queue = new_queue(
            self,
            "Queue",
            queue_name=queue_name,
            encryption_key=provision.encryption_key,
            visibility_timeout=Duration.seconds(VISIBILITY_S),
            dead_letter_queue=sqs.DeadLetterQueue(queue=failure_queue, max_receive_count=MAX_RECEIVES),
        )
        self.schedules = self._new_schedules(failure_queue, provision.encryption_key) if waits_long else None
        self.forwarder = provision.function(
            self,
            "Forwarder",
            handler=HANDLER,
            layers=[layer],
            environment=self._environment(),
            timeout=Duration.seconds(FORWARDER_TIMEOUT_S),
            recursive_loop=lambda_.RecursiveLoop.ALLOW,  # what has to wait for long comes back many times
            description="Hands on the events of a workflow when they are due",
        )
        layer.taken_by(self.forwarder)
        policy = permissions.attach_for_all(
            self,
            "Permissions",
            self.forwarder,
            self._targets,
            actions=permissions.HANDING_ON,
            statements=self._statements(),
        )
        if self.schedules is not None:
            policy.node.add_dependency(self.schedules)  # so nothing is scheduled before it can be sent
        mapping = lambda_.EventSourceMapping(
            self,
            "Messages",
            target=self.forwarder,
            event_source_arn=self.queue.queue_arn,
            batch_size=BATCH,
            report_batch_item_failures=True,
        )
        mapping.node.add_dependency(policy)  # Lambda refuses a queue that the function's role may not read

    def _new_schedules(self, dead_letters: sqs.IQueue, encryption_key: kms.IKey | None) -> WorkflowSchedules:
        return WorkflowSchedules(
            self, "Schedules", queue=self.queue, dead_letters=dead_letters, encryption_key=encryption_key
        )

    def _environment(self) -> dict[str, str]:
        """The forwarder's."""
        found = {"UNUM_TIMER": self.queue.queue_url, "UNUM_MAX_RECEIVES": str(MAX_RECEIVES)}
        return found if self.schedules is None else {**found, "UNUM_SCHEDULES": self.schedules.settings}

    def _statements(self) -> Iterator[iam.PolicyStatement]:
        """What the forwarder needs beside functions."""
        yield from permissions.receiving(self.queue)
        yield from permissions.sending([self.queue])
        if self.schedules is not None:
            yield from self.schedules.adding()

    def report_failures(self, handlers: Iterable[permissions.HasFunction]) -> None:
        """Have `handlers`, which the targets' failed events go to, go on from what cannot be handed on."""
        permissions.attach(self, "Failures", self.forwarder, permissions.reporting(handlers))
