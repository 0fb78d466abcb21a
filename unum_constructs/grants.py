"""Who else may do what with a workflow, be it of this app or imported."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from unum_compiler.analysis.edges import Operation
from unum_constructs.cdk.encryption import (
    READING_ITEMS,
    READING_OBJECTS,
    RECEIVING,
    WRITING_ITEMS,
    WRITING_OBJECTS,
    Actions,
    using,
)
from unum_constructs.cdk.lookup import path_of
from unum_constructs.errors import ConstructError
from unum_constructs.metrics import MeteredWorkflow
from unum_constructs.resources.permissions import INVOKE, objects_of
from unum_constructs.store import ACTIONS, index_arn, may_list, within
from unum_runtime.model.naming import execution_partition_prefix, start_partition_prefix


class IUnumWorkflow(MeteredWorkflow):
    """What there is of every workflow: of one that this app makes, and of one that it imports.

    Each grant gives what the calls of `unum_runtime.client` that it names need, on this workflow alone, also where
    workflows share a table; and the use of the table's key, if that is the user's own. Functions of the workflow itself
    may be allowed to read, but not to invoke its aliases, which are deployed after them.

    Attributes:
        workflow_name: its name, in events and in the table.
        table: the state of executions.
        start_alias: the only way in.
        control_alias: where executions are stopped, redriven, nudged and forked; None where that is not known.
        activities: queues of the activities that Tasks wait in, by name.
        payload_bucket: where values are that are too large for the table; None if there is no bucket for them.
    """

    workflow_name: str
    table: dynamodb.ITable
    start_alias: lambda_.IFunction
    control_alias: lambda_.IFunction | None
    activities: Mapping[str, sqs.IQueue]
    payload_bucket: s3.IBucket | None

    @property
    def own_partitions(self) -> str:
        """What the workflow's partitions begin with, in the table and in the index of executions."""
        return execution_partition_prefix(self.workflow_name)

    def grant_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start executions (`start`): write a start record, and invoke the start alias."""
        invoke = self._invoke(grantee)
        record = self._in_table(grantee, ACTIONS[Operation.CREATE], [start_partition_prefix(self.workflow_name)])
        input_ = self._in_bucket(grantee, "s3:PutObject", "s3:GetObject")
        return invoke.combine(record).combine(input_).combine(self._use_key(grantee, writes=True))

    def grant_start_sync(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` start executions and wait for their ends (`run`, `start_sync_execution`)."""
        return self.grant_start(grantee).combine(self.grant_read(grantee))

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` describe executions, wait for them, and list their steps, but not read what Tasks wait for.

        It may list executions as well, if the table has the index for that (`Store.dynamodb`).
        """
        partitions = [start_partition_prefix(self.workflow_name), self.own_partitions]
        read = self._in_table(grantee, [*ACTIONS[Operation.READ], *ACTIONS[Operation.LIST]], partitions)
        if may_list(self.table):
            read = read.combine(
                self._in_table(
                    grantee, ACTIONS[Operation.LIST], [self.own_partitions], resource_arn=index_arn(self.table)
                )
            )
        return read.combine(self._in_bucket(grantee, "s3:GetObject")).combine(self._use_key(grantee, writes=False))

    def grant_task_response(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` answer for Tasks that wait, if it has their tokens (`send_task_success` and the others).

        It may start executions as well, for everything comes in through the start alias.
        """
        return self._invoke(grantee)

    def grant_stop(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` stop executions, and do all that `grant_redrive` allows: IAM cannot tell these apart.

        Raises:
            ConstructError: the workflow is imported without its control alias.
        """
        return self.grant_redrive(grantee)

    def grant_redrive(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` redrive, nudge, fork and stop executions, and ask what they wait for.

        Raises:
            ConstructError: the workflow is imported without its control alias.
        """
        if self.control_alias is None:
            raise ConstructError(
                self,
                "control_alias_arn: expected its ARN, got nothing; import it with the workflow",
            )
        return self._to_functions(grantee, [INVOKE], self.control_alias)

    def grant_activity(self, grantee: iam.IGrantable, name: str) -> iam.Grant:
        """Let `grantee` work for the activity `name`: take its Tasks (`get_activity_task`), and answer for them.

        Raises:
            ConstructError: the workflow has no such activity.
        """
        if name not in self.activities:
            raise ConstructError(self, f"activity {name!r}: expected one of {sorted(self.activities)}")
        queue = self.activities[name]
        take = iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sqs:DeleteMessage", "sqs:ReceiveMessage"],
            resource_arns=[queue.queue_arn],
        )
        if queue.encryption_master_key is not None:
            take = take.combine(_use(queue.encryption_master_key, RECEIVING, grantee, through="sqs"))
        return take.combine(self.grant_task_response(grantee))

    def grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        """Let `grantee` do other things: `actions` of Lambda on the start alias, of DynamoDB on the whole table.

        Raises:
            ConstructError: there is no action, or one of another service.
        """
        services = ("dynamodb", "lambda")
        if not actions or not {action.partition(":")[0] for action in actions} <= {*services}:
            raise ConstructError(self, f"grant: expected actions of {[*services]}, got {[*actions]}")
        of_items, of_functions = ([each for each in actions if each.startswith(f"{service}:")] for service in services)
        given = []
        if of_functions:
            given.append(self._to_functions(grantee, of_functions, self.start_alias))
        if of_items:
            given.append(
                iam.Grant.add_to_principal(grantee=grantee, actions=of_items, resource_arns=[self.table.table_arn])
            )
        return reduce(iam.Grant.combine, given)

    def _invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        return self._to_functions(grantee, [INVOKE], self.start_alias)

    def _to_functions(self, grantee: iam.IGrantable, actions: Sequence[str], alias: lambda_.IFunction) -> iam.Grant:
        """To do `actions` with `alias`.

        Raises:
            ConstructError: `grantee` is a part of the workflow that its aliases come after.
        """
        before: list[Any] = [each for each in self._parts_before_aliases(grantee) if each is grantee]
        if before:
            found = path_of(before[0])
            raise ConstructError(
                self,
                f"grant: expected neither the workflow nor a function of it or its role, got {found}, which is "
                "deployed before what this would let it invoke: CloudFormation refuses the circle; leave that to a "
                "function of no Task, or have a Task start executions (`arn:aws:states:::states:startExecution`)",
            )
        return iam.Grant.add_to_principal(grantee=grantee, actions=[*actions], resource_arns=[alias.function_arn])

    def _parts_before_aliases(self, like: iam.IGrantable) -> Iterator[Any]:
        """The workflow, and its functions; or where `like` is a role, theirs."""
        yield self
        for function in self._functions():
            yield function.role if isinstance(like, iam.Role) else function

    def _functions(self) -> Iterable[lambda_.Function]:
        """Where Tasks run, as far as this app makes it."""
        return ()

    def _in_table(
        self,
        grantee: iam.IGrantable,
        actions: Iterable[str],
        partitions: Iterable[str],
        *,
        resource_arn: str | None = None,
    ) -> iam.Grant:
        """To do `actions` with items whose partitions begin with one of `partitions`, in the table or its index."""
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=[*actions],
            resource_arns=[resource_arn or self.table.table_arn],
            conditions=within(partitions),
        )

    def _in_bucket(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        if self.payload_bucket is None:
            return iam.Grant.drop(grantee, "there is no bucket for large values")
        objects = objects_of(self.payload_bucket, self.workflow_name)
        return iam.Grant.add_to_principal(grantee=grantee, actions=[*actions], resource_arns=[objects])

    def _use_key(self, grantee: iam.IGrantable, *, writes: bool) -> iam.Grant:
        none = iam.Grant.drop(grantee, "keys of AWS need no grant")
        items, objects = (WRITING_ITEMS, WRITING_OBJECTS) if writes else (READING_ITEMS, READING_OBJECTS)
        kept = [(self.table, items, "dynamodb"), (self.payload_bucket, objects, "s3")]
        given = [
            _use(each.encryption_key, actions, grantee, through=service)
            for each, actions, service in kept
            if each is not None and each.encryption_key is not None
        ]
        return reduce(iam.Grant.combine, given, none)


def _use(key: kms.IKey, actions: Actions, grantee: iam.IGrantable, *, through: str) -> iam.Grant:
    """Let `grantee` have a service do `actions` with `key`."""
    statement = using(key, actions, through=through)
    return iam.Grant.add_to_principal(
        grantee=grantee,
        actions=statement.actions,
        resource_arns=statement.resources,
        conditions=statement.conditions,
    )
