"""Grants on workflows, made by this app or imported."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import IConstruct

from unum_compiler.analysis.edges import Operation
from unum_constructs.cdk.encryption import (
    READING_OBJECTS,
    RECEIVING,
    Actions,
    key_statement,
)
from unum_constructs.cdk.lookup import function_behind, path_of
from unum_constructs.cdk.storage import Storage, TableStorage
from unum_constructs.errors import ConstructError
from unum_constructs.layer.step_functions import STEP_FUNCTIONS
from unum_constructs.layer.task_responses import TASK_RESPONSES
from unum_constructs.resources.event_rules import AnnouncedWorkflow
from unum_constructs.resources.permissions import INVOKE, objects_of
from unum_constructs.state_machine.interface import StateMachineInterface
from unum_constructs.state_machine.members import PREFIX
from unum_runtime.model.naming import definition_partition_prefix, execution_partition_prefix, start_partition_prefix
from unum_runtime.protocol.control.control_aliases import ControlAlias, call_alias

_IN_BOTO3 = (ControlAlias.STOP, ControlAlias.REDRIVE, ControlAlias.OPERATE)
"""Aliases of the control function that boto3's methods have requests for."""


class IUnumWorkflow(StateMachineInterface, AnnouncedWorkflow):
    """Workflow, made by this app or imported.

    Each grant allows what the named calls of `unum_client` need, for this workflow alone, even in a shared
    table, and the use of the table's customer managed key. Functions of the workflow may get `grant_read`, but no grant
    on its aliases: these are deployed after the functions.

    Attributes:
        workflow_name: name in events and keys.
        storage: place of the state of executions.
        start_alias: alias for event sources: whatever arrives is the input of an execution.
        run_alias: alias that starts executions by name.
        describe_alias: alias that describes executions; None if unknown.
        response_alias: alias that takes answers for Tasks with a task token.
        activities: queues of the activities by activity name.
        payload_bucket: bucket for large values; None without one.
    """

    workflow_name: str
    storage: Storage
    start_alias: lambda_.IFunction
    run_alias: lambda_.IFunction
    describe_alias: lambda_.IFunction | None
    response_alias: lambda_.IFunction
    activities: Mapping[str, sqs.IQueue]
    payload_bucket: s3.IBucket | None

    @property
    def table(self) -> dynamodb.ITable:
        """Table with the state of executions.

        Raises:
            ConstructError: the state is in a bucket.
        """
        if isinstance(self.storage, TableStorage):
            return self.storage.table
        found = f"the bucket {self.storage.resource.node.path}"
        raise ConstructError(self, f"table: expected state in a table (`Store.dynamodb`), got {found}; see `storage`")

    @property
    def own_partitions(self) -> str:
        """Partition key prefix of the workflow, in table and index."""
        return execution_partition_prefix(self.workflow_name)

    def grant_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow starting executions: by name (`start`, `submit`) at the run alias, by an event at the start alias.

        Nothing else is allowed: neither alias tells what became of an execution, and no item or object may be written.
        A Python function of the app also gets a client with boto3's names, `unum_stepfunctions`.
        """
        grant = self._grant_on_alias(grantee, [INVOKE], self.run_alias, self.start_alias)
        return self._equipped(grant, grantee, self.start_alias.function_arn)

    @property
    def permanent_start_alias(self) -> lambda_.IFunction:
        """Start alias whose ARN stays when the definition changes, made when it is asked for.

        It is an alias of the control function, and sends on to `start_alias`: one invocation more for each start.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._permanent_aliases()[0]

    def grant_permanent_start(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow starting executions at the permanent address, as `grant_start` does at the other one.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        start, run = self._permanent_aliases()
        grant = self._grant_on_alias(grantee, [INVOKE], run, start)
        return self._equipped(grant, grantee, start.function_arn)

    def grant_start_sync(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow starting executions and waiting for their results (`run`, `start_sync_execution`).

        Raises:
            ConstructError: the workflow is imported without its describe alias.
        """
        return self.grant_start(grantee).combine(self.grant_describe(grantee))

    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow describing executions by name and waiting for results (`describe`, `wait`), without the table.

        Raises:
            ConstructError: the workflow is imported without its describe alias.
        """
        if self.describe_alias is None:
            raise ConstructError(
                self, "describe_alias_arn: expected an ARN, got None; import the workflow with it (DescribeAlias)"
            )
        grant = self._grant_on_alias(grantee, [INVOKE], self.describe_alias)
        return self._equipped(grant, grantee, self.describe_alias.function_arn)

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow reading steps and definitions, without task tokens, and describing executions.

        Listing executions is included, if the table has the index (`Store.dynamodb`). Functions of the workflow are
        deployed before its aliases: they describe executions by the table.
        """
        read = self._grant_table_reads(grantee)
        is_part = next(self._parts_before_aliases(grantee), None) is not None
        if is_part:
            return read
        grant = read if self.describe_alias is None else read.combine(self.grant_describe(grantee))
        return self._equipped(grant, grantee, f"{self.workflow_name}={self.storage.address}")

    def _grant_table_reads(self, grantee: iam.IGrantable) -> iam.Grant:
        definitions = definition_partition_prefix(self.workflow_name)
        partitions = [start_partition_prefix(self.workflow_name), self.own_partitions, definitions]
        statements = self.storage.item_statements([Operation.READ, Operation.LIST], partitions)
        if self.storage.lists():
            statements += self.storage.list_statements(self.own_partitions)
        return (
            _grant_all(grantee, statements)
            .combine(self._grant_objects(grantee, "s3:GetObject"))
            .combine(self._grant_key_use(grantee))
        )

    def grant_task_response(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow responses to Tasks with a task token (`send_task_success`, `send_task_failure`, `send_task_heartbeat`).

        Nothing else is allowed. A Python function of the app also gets a client for its code, `unum_task_responses`, in
        a layer, and the address of the response alias in its environment.
        """
        grant = self._grant_on_alias(grantee, [INVOKE], self.response_alias)
        if isinstance(grantee, lambda_.Function):
            TASK_RESPONSES.equip(grantee, self.response_alias.function_arn)
        return grant

    def grant_operate(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow every request to the control function, as administrators need: stop, redrive, fork, delete and others.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.OPERATE)

    def grant_stop(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow stopping executions (`stop`).

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.STOP)

    def grant_redrive(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow redriving executions (`redrive`).

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.REDRIVE)

    def grant_fork(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow forking executions (`fork`): starting others in their middle, with inputs of the grantee's choice.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.FORK)

    def grant_delete(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow deleting executions that have ended (`delete_execution`).

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.DELETE)

    def grant_pause(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow pausing the workflow, so that no execution starts, and resuming it (`pause_starts`, `resume_starts`).

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.PAUSE)

    def grant_memo(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow listing, reading and forgetting memoized results (`remembered`, `remembered_result`, `forget`).

        For Tasks with `MemoScope.TABLE` these are results of all workflows that use the table.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.MEMO)

    def grant_signal(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow sending signals to executions (`signal`), whichever Task waits for them.

        Raises:
            ConstructError: no Task waits for a signal, or the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.SIGNAL)

    def grant_call(self, grantee: iam.IGrantable, state: str) -> iam.Grant:
        """Allow calling one Task, and no other, with arguments of the grantee's choice (`call`, `begin_call`).

        Args:
            grantee: who may call.
            state: name of a Task with `memoize`.

        Raises:
            ConstructError: `state` cannot be called; or the workflow is imported without its control function.
        """
        try:
            return self._grant_control(grantee, call_alias(state))
        except KeyError:
            raise ConstructError(
                self,
                f"state {state!r}: expected a Task that runs a function of the workflow, with memoize, and with a time "
                "limit in seconds or none",
            ) from None

    def grant_nudge(self, grantee: iam.IGrantable) -> iam.Grant:
        """Allow nudging executions (`nudge`), asking what they wait for (`why`), and which definition is deployed.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        return self._grant_control(grantee, ControlAlias.NUDGE)

    def grant_activity(self, grantee: iam.IGrantable, name: str) -> iam.Grant:
        """Allow working for the activity `name`: receive its Tasks (`get_activity_task`), and respond to them.

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
            take = take.combine(_grant_service_use(queue.encryption_master_key, RECEIVING, grantee, through="sqs"))
        return take.combine(self.grant_task_response(grantee))

    def grant(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        """Allow other `actions`: those of Lambda on the start alias, of DynamoDB or S3 on the whole table or bucket.

        Actions of Step Functions allow what the grant for them allows, as in `grant_execution`.

        Raises:
            ConstructError: there is no action, or an action of another service.
        """
        if actions and all(each.startswith(PREFIX) for each in actions):
            return self.grant_execution(grantee, *actions)
        services = (self.storage.service, "lambda")
        if not actions or not {action.partition(":")[0] for action in actions} <= {*services}:
            raise ConstructError(self, f"grant: expected actions of {[*services]}, got {[*actions]}")
        of_items, of_functions = ([each for each in actions if each.startswith(f"{service}:")] for service in services)
        grants = []
        if of_functions:
            grants.append(self._grant_on_alias(grantee, of_functions, self.start_alias))
        if of_items:
            grants.append(
                iam.Grant.add_to_principal(grantee=grantee, actions=of_items, resource_arns=self.storage.arns)
            )
        return reduce(iam.Grant.combine, grants)

    def _permanent_aliases(self) -> tuple[lambda_.IFunction, lambda_.IFunction]:
        """Return the permanent start alias and run alias.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        raise NotImplementedError  # as below

    def _control_alias(self, kind: str) -> lambda_.IFunction:
        """Return the control function's alias for requests of `kind`.

        Raises:
            ConstructError: the workflow is imported without its control function.
        """
        raise NotImplementedError  # workflows of this app and imported ones have their aliases in other places

    def _grant_control(self, grantee: iam.IGrantable, kind: str) -> iam.Grant:
        alias = self._control_alias(kind)
        grant = self._grant_on_alias(grantee, [INVOKE], alias)
        return self._equipped(grant, grantee, alias.function_arn) if kind in _IN_BOTO3 else grant

    def _equipped(self, grant: iam.Grant, grantee: iam.IGrantable, *addresses: str) -> iam.Grant:
        """Return `grant`, after giving the function `grantee` boto3's client for executions, and `addresses`."""
        if isinstance(grantee, lambda_.Function):
            STEP_FUNCTIONS.equip(grantee, *addresses)
        return grant

    def _grant_on_alias(
        self, grantee: iam.IGrantable, actions: Sequence[str], *aliases: lambda_.IFunction
    ) -> iam.Grant:
        """Allow `actions` on `aliases`.

        Raises:
            ConstructError: `grantee` belongs to the workflow, and is deployed before its aliases.
        """
        for part in self._parts_before_aliases(grantee):
            raise ConstructError(
                self,
                f"grant: expected neither the workflow nor a function of it or its role, got {path_of(part)}, which is "
                "deployed before the alias: CloudFormation rejects the circular dependency; use a function of no Task, "
                "or let a Task start executions (`arn:aws:states:::states:startExecution`); for a called function with "
                "a `function_name`, give the workflow `Function.from_function_name` instead",
            )
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=[*actions], resource_arns=[each.function_arn for each in aliases]
        )

    def _parts_before_aliases(self, grantee: iam.IGrantable) -> Iterator[IConstruct]:
        """Yield the workflow, or its function or role, that is `grantee`, or the function of this alias or version."""
        behind: Any = function_behind(grantee)
        roles = (function.role for function in self._functions()) if isinstance(grantee, iam.Role) else ()
        yield from (each for each in (self, *self._functions(), *roles) if each is not None and each is behind)

    def _functions(self) -> Iterable[lambda_.Function]:
        """Functions that this app makes for Tasks: with the runtime, and called ones."""
        return ()

    def _grant_objects(self, grantee: iam.IGrantable, *actions: str) -> iam.Grant:
        if self.payload_bucket is None:
            return iam.Grant.drop(grantee, "there is no bucket for large values")
        objects = objects_of(self.payload_bucket, self.workflow_name)
        return iam.Grant.add_to_principal(grantee=grantee, actions=[*actions], resource_arns=[objects])

    def _grant_key_use(self, grantee: iam.IGrantable) -> iam.Grant:
        # `combine` needs a first grant.
        none = iam.Grant.drop(grantee, "keys of AWS need no grant")
        kept = [
            (self.storage, self.storage.reading, self.storage.service),
            (self.payload_bucket, READING_OBJECTS, "s3"),
        ]
        grants = [
            _grant_service_use(each.encryption_key, actions, grantee, through=service)
            for each, actions, service in kept
            if each is not None and each.encryption_key is not None
        ]
        return reduce(iam.Grant.combine, grants, none)


def _grant_service_use(key: kms.IKey, actions: Actions, grantee: iam.IGrantable, *, through: str) -> iam.Grant:
    """Allow `actions` with `key` through the service `through`."""
    return _grant_all(grantee, [key_statement(key, actions, through=through)])


def _grant_all(grantee: iam.IGrantable, statements: Iterable[iam.PolicyStatement]) -> iam.Grant:
    """Add one or more `statements` to the grantee's policy."""
    grants = (
        iam.Grant.add_to_principal(
            grantee=grantee, actions=each.actions, resource_arns=each.resources, conditions=each.conditions
        )
        for each in statements
    )
    return reduce(iam.Grant.combine, grants)
