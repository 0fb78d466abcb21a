"""Least-privilege permissions of a workflow's functions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import Operation
from unum_constructs.cdk.encryption import RECEIVING, SENDING, WRITING_OBJECTS, Actions, key_statement
from unum_constructs.cdk.lookup import arn_of, role_of
from unum_constructs.cdk.policies import new_policy
from unum_constructs.cdk.storage import Storage, key_statements
from unum_runtime.features.memo.memo_keys import memo_partition_prefix
from unum_runtime.model.naming import (
    definition_partition_prefix,
    partition_prefixes,
    start_partition_prefix,
)

if TYPE_CHECKING:
    from aws_cdk.aws_events import IEventBus

INVOKE = "lambda:InvokeFunction"
UNPUBLISHED = "$LATEST"
_ALIASES = "*-*"
"""Pattern of all aliases of a failure handler; its versions are numbers."""
FIND_HANDLER = "lambda:GetFunctionEventInvokeConfig"
"""Action that reads the destination of a version's failed events."""

FORWARD_ACTIONS = (FIND_HANDLER, INVOKE)
"""Actions to invoke functions, and to find the destination of their failed events."""

PLAN_ACTIONS = ("lambda:GetFunctionConfiguration", *FORWARD_ACTIONS)
"""Actions to plan in place of functions: read routes in their configuration, and invoke any of them.

Control requests also report the destination of failed events."""

_MOST_INLINE = 57
_MOST_MANAGED = 45
"""Function ARNs of the greatest length that fit into a role's inline policies, 10,240 characters in total with all
other statements, and into a managed policy of 6,144. Source: IAM User Guide, "IAM and AWS STS quotas"."""

_FIRST_ID = 60
"""Number in the id of the first managed policy, which deployed stacks have."""

_ANY_UNPUBLISHED = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:{Aws.ACCOUNT_ID}:function:*:{UNPUBLISHED}"


class HasFunction(Protocol):
    """Holder of a Lambda function."""

    @property
    def function(self) -> lambda_.IFunction: ...  # noqa: D102 - says it all


class HasEnvironment(HasFunction, Protocol):
    """Function with environment variables."""

    @property
    def environment_key(self) -> str | None:
        """Customer managed key ARN of the environment, if any."""


class Intake(HasFunction, Protocol):
    """Destination of failed events: a failure handler, or a workflow's aliases of a shared one."""

    def addresses(self, *, reports_starts: bool) -> Sequence[str]:
        """Return the ARNs of the aliases for a function of the workflow; none for a handler of the workflow's own.

        Args:
            reports_starts: True for the function in which executions start.
        """


def attach(
    scope: Construct,
    construct_id: str,
    function: lambda_.IFunction,
    statements: Iterable[iam.PolicyStatement],
    *,
    policy_name: str | None = None,
) -> iam.Policy:
    """Attach a policy of `statements` to the role of `function`.

    The policy is a construct that no function depends on, so functions that invoke each other in a circle can be
    deployed.
    """
    roles = [role_of(function)]
    return new_policy(scope, construct_id, statements=statements, roles=roles, policy_name=policy_name)


def invoke_statements(
    hosts: Iterable[HasFunction], handlers: Iterable[Intake] = (), *, reports_starts: bool = False
) -> Iterator[iam.PolicyStatement]:
    """Yield permission to invoke all versions of functions: executions stay on the versions that they started with.

    Args:
        hosts: functions.
        handlers: destinations of failed events; of failure handlers, aliases are denied.
        reports_starts: True for the function in which executions start: its failed starts go to an alias.
    """
    versions = {arn_of(host.function): [UNPUBLISHED] for host in hosts}
    denied = [UNPUBLISHED] if reports_starts else [UNPUBLISHED, _ALIASES]
    aliases = {each: each.addresses(reports_starts=reports_starts) for each in handlers}
    yield from _invoke_statements(
        versions | {arn_of(each.function): denied for each, found in aliases.items() if not found}
    )
    if arns := [arn for found in aliases.values() for arn in found]:
        yield invoke_exactly_statement(arns)


def invoke_any_statement(hosts: Iterable[HasFunction]) -> iam.PolicyStatement:
    """Return permission to invoke versions and aliases of functions, for a role that is denied unpublished code."""
    return _on_versions([INVOKE], hosts)


def invoke_exactly_statement(arns: Iterable[str]) -> iam.PolicyStatement:
    """Return permission to invoke the aliases or versions `arns`."""
    return iam.PolicyStatement(actions=[INVOKE], resources=[*arns])


def find_intake_statement(host: HasFunction) -> iam.PolicyStatement:
    """Return permission for a function to read the destination of its own failed events.

    It is the intake, which continues in its place if a deployment has removed a permission. As an environment variable
    it would need a place in 4 KB, and functions of other stacks could not have it.
    """
    return _on_versions([FIND_HANDLER], [host])


def attach_for_all(
    scope: Construct,
    construct_id: str,
    function: lambda_.IFunction,
    hosts: Sequence[HasFunction],
    *,
    actions: Sequence[str],
    statements: Iterable[iam.PolicyStatement],
) -> iam.Policy:
    """Attach permission for `actions` on versions of `hosts`, possibly many, and `statements`.

    IAM limits the characters of a role's policies. The first functions share one statement, one wildcard denies
    unpublished versions, and managed policies allow the remaining functions.
    """
    first, rest = hosts[:_MOST_INLINE], hosts[_MOST_INLINE:]
    allowed = act_statements(actions, first)
    for start in range(0, len(rest), _MOST_MANAGED):
        more = _on_versions(actions, rest[start : start + _MOST_MANAGED])
        iam.ManagedPolicy(scope, f"{construct_id}From{start + _FIRST_ID}", statements=[more], roles=[role_of(function)])
    return attach(scope, construct_id, function, [*allowed, *statements])


def act_statements(actions: Sequence[str], hosts: Iterable[HasFunction]) -> list[iam.PolicyStatement]:
    """Return permission for `actions` on versions of `hosts` that are published."""
    # One wildcard instead of a deny for each function, which would double the policy's length.
    return [_on_versions(actions, hosts), _not_invoking([_ANY_UNPUBLISHED])]


def _on_versions(actions: Sequence[str], hosts: Iterable[HasFunction]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[*actions], resources=[f"{arn_of(host.function)}:*" for host in hosts])


def environment_key_statements(hosts: Iterable[HasEnvironment]) -> Iterator[iam.PolicyStatement]:
    """Yield permission to decrypt environments, in addition to `PLAN_ACTIONS`.

    Lambda shows an environment with a customer managed key only to principals that may use the key.
    """
    keys = dict.fromkeys(host.environment_key for host in hosts)
    if arns := [key for key in keys if key is not None]:
        yield iam.PolicyStatement(actions=["kms:Decrypt"], resources=arns)


def read_aliases_statement(of: HasFunction) -> iam.PolicyStatement:
    """Return permission to read the aliases of a function."""
    return iam.PolicyStatement(actions=["lambda:GetAlias"], resources=[arn_of(of.function)])


def state_statements(
    storage: Storage,
    operations: Iterable[Operation],
    *,
    workflow_name: str,
    starts: bool,
    shares_results: bool = False,
) -> Iterator[iam.PolicyStatement]:
    """Yield permission for `operations` on one workflow's items in `storage`, which workflows may share.

    Args:
        storage: place of the items.
        operations: what the function does.
        workflow_name: the workflow.
        starts: True for a function that writes start records; other functions only read them.
        shares_results: True for a function that shares memoized results with all workflows of the table.
    """
    own = partition_prefixes(workflow_name)
    if starts:
        yield from storage.item_statements(operations, own)
        yield from storage.entry_statements(workflow_name)
    else:
        reads = {*operations} & {Operation.READ, Operation.LIST}
        written = [each for each in own if each != start_partition_prefix(workflow_name)]
        yield from storage.item_statements({*operations} - reads, written)
        if reads:
            yield from storage.item_statements(reads, own)
    if shares_results:
        yield from storage.item_statements((Operation.CREATE, Operation.READ), [memo_partition_prefix("")])
    yield from key_statements(storage)


def definition_statements(
    storage: Storage, workflow_name: str, operations: Iterable[Operation]
) -> Iterator[iam.PolicyStatement]:
    """Yield permission for `operations` on definition records, which functions of other Tasks cannot reach."""
    yield from storage.item_statements(operations, [definition_partition_prefix(workflow_name)])


def object_statements(bucket: s3.IBucket, workflow_name: str) -> Iterator[iam.PolicyStatement]:
    """Yield permission to store and read one workflow's large values in `bucket`."""
    yield iam.PolicyStatement(actions=["s3:GetObject", "s3:PutObject"], resources=[objects_of(bucket, workflow_name)])
    if bucket.encryption_key is not None:
        yield key_statement(bucket.encryption_key, WRITING_OBJECTS, through="s3")


def shared_results_statements(storage: Storage) -> Iterator[iam.PolicyStatement]:
    """Yield permission to list, read and forget memoized results that all workflows of a table share."""
    operations = (Operation.CREATE, Operation.READ, Operation.LIST)
    yield from storage.item_statements(operations, [memo_partition_prefix("")])


def deletion_statements(
    storage: Storage, bucket: s3.IBucket | None, workflow_name: str
) -> Iterator[iam.PolicyStatement]:
    """Yield permission to delete one workflow's items and all versions of its objects."""
    yield from storage.deletion_statements(workflow_name)
    if bucket is not None:
        objects, folder = objects_of(bucket, workflow_name), {"StringLike": {"s3:prefix": f"{workflow_name}/*"}}
        yield iam.PolicyStatement(actions=["s3:DeleteObject", "s3:DeleteObjectVersion"], resources=[objects])
        yield iam.PolicyStatement(actions=["s3:ListBucketVersions"], resources=[bucket.bucket_arn], conditions=folder)


def objects_of(bucket: s3.IBucket, workflow_name: str) -> str:
    """Return the ARN of one workflow's objects with large values."""
    return bucket.arn_for_objects(f"{workflow_name}/*")


def read_asset_statement(asset: s3_assets.Asset) -> iam.PolicyStatement:
    """Return read permission for `asset`, excluding other objects."""
    return iam.PolicyStatement(actions=["s3:GetObject"], resources=[asset.bucket.arn_for_objects(asset.s3_object_key)])


def put_events_statement(bus: "IEventBus") -> iam.PolicyStatement:
    """Return permission to put events on `bus`. EventBridge itself uses the key of an encrypted one.

    Source: Amazon EventBridge User Guide, "Authorizing EventBridge to use a customer managed key".
    """
    return iam.PolicyStatement(actions=["events:PutEvents"], resources=[bus.event_bus_arn])


def send_statements(queues: Iterable[sqs.IQueue]) -> Iterator[iam.PolicyStatement]:
    """Yield permission to send messages to `queues`, which share one key if any."""
    queues = [*queues]
    if queues:
        yield iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn for queue in queues])
        yield from _with_key(queues[0], SENDING)


def receive_statements(queue: sqs.IQueue) -> Iterator[iam.PolicyStatement]:
    """Yield permission for Lambda to receive messages of `queue`.

    Source: AWS Lambda Developer Guide, "Configuring execution role permissions" of SQS event source mappings.
    """
    actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    yield iam.PolicyStatement(actions=actions, resources=[queue.queue_arn])
    yield from _with_key(queue, RECEIVING)


def retry_statements(queue: sqs.IQueue) -> Iterator[iam.PolicyStatement]:
    """Yield permission to read dead letters of `queue`, to show them again, and to delete them."""
    actions = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"]
    yield iam.PolicyStatement(actions=actions, resources=[queue.queue_arn])
    yield from _with_key(queue, RECEIVING)


def _with_key(queue: sqs.IQueue, actions: Actions) -> Iterator[iam.PolicyStatement]:
    if queue.encryption_master_key is not None:
        yield key_statement(queue.encryption_master_key, actions, through="sqs")


def _invoke_statements(denied: Mapping[str, Iterable[str]]) -> Iterator[iam.PolicyStatement]:
    """Yield permission to invoke versions of functions, by ARN, except for qualifiers that the pattern includes.

    Source: AWS Lambda Developer Guide, "Fine-tuning the Resources and Conditions sections of policies".
    """
    if denied:
        yield iam.PolicyStatement(actions=[INVOKE], resources=[f"{arn}:*" for arn in denied])
        # `FUNCTION:*` includes $LATEST; an event for it would run code of another deployment.
        yield _not_invoking(f"{arn}:{qualifier}" for arn, qualifiers in denied.items() for qualifier in qualifiers)


def _not_invoking(arns: Iterable[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(effect=iam.Effect.DENY, actions=[INVOKE], resources=[*arns])
