"""What a workflow's functions are allowed to do: nothing that the workflow does not need."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from aws_cdk import Aws
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_compiler.analysis.edges import Operation
from unum_constructs.cdk.encryption import RECEIVING, SENDING, WRITING_ITEMS, WRITING_OBJECTS, Actions, using
from unum_constructs.cdk.lookup import arn_of
from unum_constructs.store import ACTIONS, within
from unum_runtime.model.naming import control_alias, partition_prefixes

INVOKE = "lambda:InvokeFunction"
UNPUBLISHED = "$LATEST"
FIND_HANDLER = "lambda:GetFunctionEventInvokeConfig"
"""To look up where the failed events of a version go."""

HANDING_ON = (FIND_HANDLER, INVOKE)
"""To invoke functions, and to look up where their failed events go."""

STANDING_IN = ("lambda:GetFunctionConfiguration", *HANDING_ON)
"""To plan in place of functions: to read the addresses in their configuration, and to invoke any of them.

Also to look where their failed events go, for people ask what executions wait for.
"""

_MOST_INLINE = 60
_MOST_MANAGED = 45
"""Functions with names as long as may be that fit into the 10,240 characters of a role's inline policies, with what
else is there, and into the 6,144 of a managed policy. Source: IAM User Guide, "IAM and AWS STS quotas"."""

_ANY_UNPUBLISHED = f"arn:{Aws.PARTITION}:lambda:{Aws.REGION}:{Aws.ACCOUNT_ID}:function:*:{UNPUBLISHED}"


class HasFunction(Protocol):
    """Stands for a function."""

    @property
    def function(self) -> lambda_.IFunction: ...  # noqa: D102 - says it all


class HasEnvironment(HasFunction, Protocol):
    """Stands for a function with an environment."""

    @property
    def environment_key(self) -> str | None:
        """ARN of the user's key that the environment is encrypted with, if there is one."""


def attach(
    scope: Construct, construct_id: str, function: lambda_.IFunction, statements: Iterable[iam.PolicyStatement]
) -> iam.Policy:
    """A policy of `statements` for one function, attached to its role.

    It is a construct that no function depends on: so functions that invoke each other in a circle do not depend on
    each other.
    """
    return iam.Policy(scope, construct_id, statements=[*statements], roles=[_role(function)])


def invoking(hosts: Iterable[HasFunction]) -> Iterator[iam.PolicyStatement]:
    """To invoke functions; any of their versions, for an execution stays on those it began with."""
    yield from _invoking(hosts, but=[UNPUBLISHED])


def reporting(handlers: Iterable[HasFunction]) -> Iterator[iam.PolicyStatement]:
    """To give failed events to `handlers`, any of their versions; not to control executions as people do."""
    yield from _invoking(handlers, but=[UNPUBLISHED, control_alias("*")])


def attach_for_all(
    scope: Construct,
    construct_id: str,
    function: lambda_.IFunction,
    hosts: Sequence[HasFunction],
    *,
    actions: Sequence[str],
    statements: Iterable[iam.PolicyStatement],
) -> iam.Policy:
    """The same, for `actions` on versions of `hosts`, which may be many, and for `statements`.

    IAM counts the characters of a role's policies: so those of the first functions are in one statement, one denies
    what is not published, and where there are too many, managed policies allow it for the rest.
    """
    first, rest = hosts[:_MOST_INLINE], hosts[_MOST_INLINE:]
    allowed = [_on_versions(actions, first), _not_invoking([_ANY_UNPUBLISHED])]
    for start in range(0, len(rest), _MOST_MANAGED):
        more = _on_versions(actions, rest[start : start + _MOST_MANAGED])
        iam.ManagedPolicy(
            scope, f"{construct_id}From{start + _MOST_INLINE}", statements=[more], roles=[_role(function)]
        )
    return attach(scope, construct_id, function, [*allowed, *statements])


def _on_versions(actions: Sequence[str], hosts: Iterable[HasFunction]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[*actions], resources=[f"{arn_of(host.function)}:*" for host in hosts])


def standing_in(hosts: Iterable[HasEnvironment]) -> Iterator[iam.PolicyStatement]:
    """What it takes beside `STANDING_IN` to plan in place of functions.

    Where an environment is encrypted with a key of the user's, Lambda shows it to those alone who may use the key.
    """
    keys = dict.fromkeys(host.environment_key for host in hosts)
    if arns := [key for key in keys if key is not None]:
        yield iam.PolicyStatement(actions=["kms:Decrypt"], resources=arns)


def reading_aliases(of: HasFunction) -> iam.PolicyStatement:
    """To look up what the aliases of a function say."""
    return iam.PolicyStatement(actions=["lambda:GetAlias"], resources=[arn_of(of.function)])


def storing(
    table: dynamodb.ITable, operations: Iterable[Operation], *, workflow_name: str
) -> Iterator[iam.PolicyStatement]:
    """To do `operations` in `table` with what is stored for one workflow; it may be one of several there."""
    actions = sorted({action for operation in operations for action in ACTIONS[operation]})
    own = within(partition_prefixes(workflow_name))
    yield iam.PolicyStatement(actions=actions, resources=[table.table_arn], conditions=own)
    if table.encryption_key is not None:
        yield using(table.encryption_key, WRITING_ITEMS, through="dynamodb")


def keeping_objects(bucket: s3.IBucket, workflow_name: str) -> Iterator[iam.PolicyStatement]:
    """To store and read the large values of a workflow, and nothing else in `bucket`."""
    yield iam.PolicyStatement(actions=["s3:GetObject", "s3:PutObject"], resources=[objects_of(bucket, workflow_name)])
    if bucket.encryption_key is not None:
        yield using(bucket.encryption_key, WRITING_OBJECTS, through="s3")


def objects_of(bucket: s3.IBucket, workflow_name: str) -> str:
    """ARN of the objects with the large values of a workflow."""
    return bucket.arn_for_objects(f"{workflow_name}/*")


def reading(asset: s3_assets.Asset) -> iam.PolicyStatement:
    """To read `asset`, and nothing else in its bucket."""
    return iam.PolicyStatement(actions=["s3:GetObject"], resources=[asset.bucket.arn_for_objects(asset.s3_object_key)])


def sending(queues: Iterable[sqs.IQueue]) -> Iterator[iam.PolicyStatement]:
    """To send messages to `queues`, which have one key if any."""
    queues = [*queues]
    if queues:
        yield iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn for queue in queues])
        yield from _with_key(queues[0], SENDING)


def receiving(queue: sqs.IQueue) -> Iterator[iam.PolicyStatement]:
    """To have Lambda deliver messages of `queue`.

    Source: AWS Lambda Developer Guide, "Configuring execution role permissions" of SQS event source mappings.
    """
    actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    yield iam.PolicyStatement(actions=actions, resources=[queue.queue_arn])
    yield from _with_key(queue, RECEIVING)


def _with_key(queue: sqs.IQueue, actions: Actions) -> Iterator[iam.PolicyStatement]:
    if queue.encryption_master_key is not None:
        yield using(queue.encryption_master_key, actions, through="sqs")


def _invoking(hosts: Iterable[HasFunction], *, but: Iterable[str]) -> Iterator[iam.PolicyStatement]:
    """To invoke versions of functions, but not what has one of the qualifiers `but`, which the pattern includes.

    Source: AWS Lambda Developer Guide, "Fine-tuning the Resources and Conditions sections of policies".
    """
    arns = [arn_of(host.function) for host in hosts]
    if arns:
        yield iam.PolicyStatement(actions=[INVOKE], resources=[f"{arn}:*" for arn in arns])
        yield _not_invoking(f"{arn}:{qualifier}" for arn in arns for qualifier in but)


def _not_invoking(arns: Iterable[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(effect=iam.Effect.DENY, actions=[INVOKE], resources=[*arns])


def _role(function: lambda_.IFunction) -> iam.IRole:
    role = function.role
    assert role is not None  # noqa: S101 - every function that an app creates has one
    return role
