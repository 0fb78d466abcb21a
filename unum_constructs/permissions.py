"""What a workflow's functions, and those who use it, are allowed to do: nothing that the workflow does not need."""

from collections.abc import Iterable, Iterator, Sequence

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from unum_constructs.compiler.edges import Operation
from unum_constructs.host import Host
from unum_constructs.store import ACTIONS
from unum_runtime.model.naming import start_partition_prefix


def allow(  # noqa: PLR0913 - a function's rights have as many sources
    scope: Construct,
    construct_id: str,
    host: Host,
    *,
    invoked: Sequence[Host],
    table: dynamodb.ITable,
    operations: Iterable[Operation],
    failure_queue: sqs.IQueue | None,
) -> iam.Policy:
    """A policy for one function, attached to its role.

    It is a construct that no function depends on: so functions that invoke each other in a circle do not depend on
    each other.

    Args:
        scope: the construct around the policy.
        construct_id: id of the policy.
        host: the function.
        invoked: the functions that it invokes; any of their versions, for an execution stays on those it began with.
        table: the workflow's table.
        operations: what the function does there.
        failure_queue: where Lambda sends the function's failed events, in the function's name.
    """
    statements = [*_invoking(invoked), _storing(table, operations), *_failing(failure_queue)]
    policy = iam.Policy(scope, construct_id, statements=statements)
    role = host.function.role
    assert role is not None  # noqa: S101 - every function that an app creates has one
    policy.attach_to_role(role)
    if table.encryption_key is not None:
        table.encryption_key.grant_encrypt_decrypt(role)
    return policy


def grant_start(
    grantee: iam.IGrantable, *, start_alias: lambda_.Alias, table: dynamodb.ITable, workflow: str
) -> iam.Grant:
    """Let `grantee` start executions: write a start record, and invoke the start alias."""
    invoke = iam.Grant.add_to_principal(
        grantee=grantee, actions=["lambda:InvokeFunction"], resource_arns=[start_alias.function_arn]
    )
    record = iam.Grant.add_to_principal(
        grantee=grantee,
        actions=["dynamodb:PutItem"],
        resource_arns=[table.table_arn],
        conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{start_partition_prefix(workflow)}*"]}},
    )
    return invoke.combine(record)


def grant_read(grantee: iam.IGrantable, *, table: dynamodb.ITable) -> iam.Grant:
    """Let `grantee` describe executions, wait for them, and list their steps."""
    actions = [*ACTIONS[Operation.READ], *ACTIONS[Operation.LIST]]
    return iam.Grant.add_to_principal(grantee=grantee, actions=actions, resource_arns=[table.table_arn])


def _invoking(invoked: Sequence[Host]) -> Iterator[iam.PolicyStatement]:
    if invoked:
        versions = [f"{host.function.function_arn}:*" for host in invoked]
        yield iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=versions)


def _storing(table: dynamodb.ITable, operations: Iterable[Operation]) -> iam.PolicyStatement:
    actions = sorted({action for operation in operations for action in ACTIONS[operation]})
    return iam.PolicyStatement(actions=actions, resources=[table.table_arn])


def _failing(queue: sqs.IQueue | None) -> Iterator[iam.PolicyStatement]:
    if queue is not None:
        yield iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn])
