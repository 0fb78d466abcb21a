"""Timer queue for delayed events, in workflows with such events.

Queue and forwarder serve all versions of the workflow's functions: a message names the version of its target.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.lambda_settings import FORWARDER_TIMEOUT_S
from unum_constructs.cdk.lookup import role_of, session_of
from unum_constructs.cdk.nag import MESSAGES, acknowledge
from unum_constructs.cdk.policies import is_made
from unum_constructs.cdk.queues import new_queue
from unum_constructs.layer.workflow_layer import WorkflowLayers
from unum_constructs.resources import permissions
from unum_constructs.resources.own_functions import Provision
from unum_constructs.resources.schedule_group import WorkflowSchedules
from unum_runtime.aws.senders import OWN_SESSION
from unum_runtime.model.metrics import Metrics

HANDLER = "unum_runtime.aws.forwarder.handle"

VISIBILITY_S = 6 * FORWARDER_TIMEOUT_S
"""Source: AWS Lambda Developer Guide, "Creating and configuring an Amazon SQS event source mapping"."""

MAX_RECEIVES = 10
"""Deliveries of a message that cannot be forwarded; half an hour, with `VISIBILITY_S` between them."""

BATCH = 10
"""Most messages that Lambda delivers without a batching window."""

EDGES_BYTES = 2_048
"""Part of the forwarder's environment for names of functions; Lambda allows 4,096 bytes."""

_NAME_BYTES = 64
"""Longest name of a function."""

_QUOTED = 6
"""Bytes around a name in JSON inside an environment variable, whose quotation marks count twice."""

Targets: TypeAlias = Sequence[tuple[permissions.HasFunction, Sequence[permissions.HasFunction]]]


class WorkflowTimer(Construct):
    """Timer queue, with a function that forwards due events.

    Args:
        scope: the workflow.
        construct_id: id below `scope`.
        layers: layers with the forwarder's code.
        provision: options of the forwarder.
        failure_queue: queue for messages that can be sent neither to their target nor to a failure handler.
        targets: functions that events may be for.
        queue_name: queue name, if functions of other stacks need it; None leaves it to CloudFormation.
        waits_long: True if events may wait long enough for schedules to be cheaper than repeated messages.

    Attributes:
        queue: timer queue.
        forwarder: function that forwards events.
        policy: the forwarder's policy, which allows all functions of the workflow.
        queue_name: queue name, if synth knows it.
        schedules: schedules of events that wait for long; None without such events.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each part
        self,
        scope: Construct,
        construct_id: str,
        *,
        layers: WorkflowLayers,
        provision: Provision,
        failure_queue: sqs.IQueue,
        targets: Iterable[permissions.HasFunction],
        queue_name: str | None = None,
        waits_long: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self._targets, self._failure_queue = [*targets], failure_queue
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
        self.forwarder = self._new_forwarder(layers, provision)
        self.policy = permissions.attach_for_all(
            self,
            "Permissions",
            self.forwarder,
            self._targets,
            actions=permissions.FORWARD_ACTIONS,
            statements=self._statements(),
        )
        if self.schedules is not None:
            # Without this order, a schedule could fire before its role may send to the queue.
            self.policy.node.add_dependency(self.schedules)
        self._connect_queue(self.policy)

    def _new_schedules(self, dead_letters: sqs.IQueue, encryption_key: kms.IKey | None) -> WorkflowSchedules:
        return WorkflowSchedules(
            self, "Schedules", queue=self.queue, dead_letters=dead_letters, encryption_key=encryption_key
        )

    def _new_forwarder(self, layers: WorkflowLayers, provision: Provision) -> lambda_.Function:
        return provision.new_function(
            self,
            "Forwarder",
            handler=HANDLER,
            layers=layers,
            environment=self._environment(),
            timeout=Duration.seconds(FORWARDER_TIMEOUT_S),
            # Lambda stops a loop of SQS and Lambda after about 16 rounds, and long waits loop every 15 minutes.
            # Source: AWS Lambda Developer Guide, "Use Lambda recursive loop detection to prevent infinite loops".
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
            description="Hands on the events of a workflow when they are due",
        )

    def _connect_queue(self, policy: iam.Policy) -> None:
        """Let Lambda invoke the forwarder with messages of the queue."""
        mapping = lambda_.EventSourceMapping(
            self,
            "Messages",
            target=self.forwarder,
            event_source_arn=self.queue.queue_arn,
            batch_size=BATCH,
            report_batch_item_failures=True,
        )
        acknowledge(mapping, MESSAGES)
        # CreateEventSourceMapping fails unless the role may already read the queue.
        mapping.node.add_dependency(policy)

    def _environment(self) -> dict[str, str]:
        """Return the forwarder's environment."""
        found = {"UNUM_TIMER": self.queue.queue_url, "UNUM_MAX_RECEIVES": str(MAX_RECEIVES)}
        return found if self.schedules is None else {**found, "UNUM_SCHEDULES": self.schedules.settings}

    def _statements(self) -> Iterator[iam.PolicyStatement]:
        """Yield the forwarder's permissions, except for its targets."""
        yield from permissions.receive_statements(self.queue)
        yield from permissions.send_statements([self.queue, self._failure_queue])
        if self.schedules is not None:
            yield from self.schedules.add_schedule_statements()

    @property
    def role_ids(self) -> list[str]:
        """Tokens of the ids of the roles that send events again: the forwarder's and the schedules'.

        Without that of the schedules, if another team makes their role: their events are then planned again.
        """
        has_id = self.schedules is not None and is_made(self.schedules.role)
        own = session_of(self.forwarder) if is_made(role_of(self.forwarder)) else OWN_SESSION
        return [own, *([self.schedules.role.role_id] if self.schedules and has_id else ())]

    def admit(self, senders: Mapping[str, Any], edges: Targets, intake: str, metrics: Metrics) -> None:
        """Let the forwarder deliver what functions may invoke themselves, and name other events to the intake.

        Args:
            senders: workflow and trusted roles, as `unum_runtime.aws.senders.parse_senders` reads them.
            edges: functions to which each function may delay events, beside itself.
            intake: ARN of a version of the failure handler.
            metrics: metrics of refused messages.
        """
        variables = {
            "UNUM_SENDERS": self.forwarder.stack.to_json_string({**senders, "edges": _fitting(edges)}),
            "UNUM_INTAKE": intake,
            "UNUM_LETTERS": self._failure_queue.queue_url,
            "UNUM_METRICS": metrics.value,
        }
        for name, value in variables.items():
            self.forwarder.add_environment(name, value)

    def report_failures(self, handlers: Iterable[permissions.Intake]) -> None:
        """Let the forwarder send undeliverable events to `handlers`: the workflow's own, and those of its targets."""
        self.policy.add_statements(*permissions.invoke_statements((), handlers))


def _fitting(edges: Targets) -> dict[str, list[str]]:
    """Return names for as many of `edges` as fit; events of the other functions make a detour by the intake."""
    found: dict[str, list[str]] = {}
    left = EDGES_BYTES
    for source, targets in edges:
        left -= (_NAME_BYTES + _QUOTED) * (1 + len(targets))
        if left < 0:
            break
        found[source.function.function_name] = [target.function.function_name for target in targets]
    return found
