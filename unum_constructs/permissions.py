"""What a workflow's functions are allowed to do: nothing that the workflow does not need."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.compiler.edges import Operation
from unum_constructs.store import ACTIONS


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
    policy = iam.Policy(scope, construct_id, statements=[*statements])
    policy.attach_to_role(_role(function))
    return policy


def share_key(function: lambda_.IFunction, encrypted: dynamodb.ITable | s3.IBucket) -> None:
    """Let `function` use the key that a table or bucket is encrypted with, if that is the user's own."""
    if encrypted.encryption_key is not None:
        encrypted.encryption_key.grant_encrypt_decrypt(_role(function))


def invoking(hosts: Iterable[HasFunction]) -> Iterator[iam.PolicyStatement]:
    """To invoke functions; any of their versions, for an execution stays on those it began with."""
    versions = [f"{host.function.function_arn}:*" for host in hosts]
    if versions:
        yield iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=versions)


def standing_in(hosts: Iterable[HasEnvironment]) -> Iterator[iam.PolicyStatement]:
    """To plan in place of functions: to read the addresses in their configuration, and to invoke any of them.

    Where an environment is encrypted with a key of the user's, Lambda shows it to those alone who may use the key.
    """
    hosts = [*hosts]
    versions = [f"{host.function.function_arn}:*" for host in hosts]
    yield iam.PolicyStatement(actions=["lambda:GetFunctionConfiguration", "lambda:InvokeFunction"], resources=versions)
    keys = dict.fromkeys(host.environment_key for host in hosts)
    if arns := [key for key in keys if key is not None]:
        yield iam.PolicyStatement(actions=["kms:Decrypt"], resources=arns)


def finding_handlers(hosts: Iterable[HasFunction]) -> Iterator[iam.PolicyStatement]:
    """To look up where failed events of versions go."""
    versions = [f"{host.function.function_arn}:*" for host in hosts]
    yield iam.PolicyStatement(actions=["lambda:GetFunctionEventInvokeConfig"], resources=versions)


def reading_aliases(of: HasFunction) -> iam.PolicyStatement:
    """To look up what the aliases of a function say."""
    return iam.PolicyStatement(actions=["lambda:GetAlias"], resources=[of.function.function_arn])


def storing(table: dynamodb.ITable, operations: Iterable[Operation]) -> iam.PolicyStatement:
    """To do `operations` in `table`."""
    actions = sorted({action for operation in operations for action in ACTIONS[operation]})
    return iam.PolicyStatement(actions=actions, resources=[table.table_arn])


def keeping_objects(bucket: s3.IBucket, workflow_name: str) -> iam.PolicyStatement:
    """To store and read the large values of a workflow, and nothing else in `bucket`."""
    return iam.PolicyStatement(actions=["s3:GetObject", "s3:PutObject"], resources=[objects_of(bucket, workflow_name)])


def objects_of(bucket: s3.IBucket, workflow_name: str) -> str:
    """ARN of the objects with the large values of a workflow."""
    return bucket.arn_for_objects(f"{workflow_name}/*")


def reading(asset: s3_assets.Asset) -> iam.PolicyStatement:
    """To read `asset`, and nothing else in its bucket."""
    return iam.PolicyStatement(actions=["s3:GetObject"], resources=[asset.bucket.arn_for_objects(asset.s3_object_key)])


def sending(queues: Iterable[sqs.IQueue]) -> Iterator[iam.PolicyStatement]:
    """To send messages to `queues`."""
    arns = [queue.queue_arn for queue in queues]
    if arns:
        yield iam.PolicyStatement(actions=["sqs:SendMessage"], resources=arns)


def receiving(queue: sqs.IQueue) -> iam.PolicyStatement:
    """To have Lambda deliver messages of `queue`.

    Source: AWS Lambda Developer Guide, "Configuring execution role permissions" of SQS event source mappings.
    """
    actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    return iam.PolicyStatement(actions=actions, resources=[queue.queue_arn])


def _role(function: lambda_.IFunction) -> iam.IRole:
    role = function.role
    assert role is not None  # noqa: S101 - every function that an app creates has one
    return role
