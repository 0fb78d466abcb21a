"""Workflows that another stack has deployed."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import jsii
from aws_cdk import Fn
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct, IValidation

from unum_constructs.assembly.checked_options import checked_name
from unum_constructs.cdk.argument_checks import check_is_table, check_mappings
from unum_constructs.cdk.lookup import is_token
from unum_constructs.cdk.outputs import export_name
from unum_constructs.cdk.storage import BucketStorage, Storage, TableStorage
from unum_constructs.errors import ConstructError
from unum_constructs.grants import IUnumWorkflow
from unum_constructs.resources.event_rules import check_is_bus
from unum_runtime.model.envelope import with_alias
from unum_runtime.model.naming import (
    control_alias_name,
    describe_alias,
    response_alias,
    run_alias,
    start_alias,
)
from unum_runtime.store.base import BUCKET

if TYPE_CHECKING:
    from aws_cdk.aws_events import IEventBus

_FUNCTION = re.compile(r"arn:[^:]+:lambda:[^:]+:[^:]+:function:[^:]+")
_ALIAS = re.compile(r"arn:[^:]+:lambda:[^:]+:[^:]+:function:[^:]+:[^:]+")


class ImportedWorkflow(IUnumWorkflow):
    """Deployed workflow; see `UnumWorkflow.from_workflow_attributes`."""

    def __init__(  # noqa: PLR0913 - one keyword for each attribute
        self,
        scope: Construct,
        construct_id: str,
        *,
        workflow_name: str,
        table: dynamodb.ITable | str,
        start_alias_arn: str,
        describe_alias_arn: str | None,
        control_function_arn: str | None,
        activities: Mapping[str, sqs.IQueue],
        payload_bucket: s3.IBucket | str | None,
        same_environment: bool | None,
        events: "IEventBus | None",
    ) -> None:
        super().__init__(scope, construct_id)
        check_is_bus(self, events)
        self.events = events
        self.workflow_name = checked_name(self, workflow_name)
        self.storage = self._storage(table)
        self.activities = self._queues(activities)
        self.payload_bucket = self._bucket(payload_bucket)
        start = self._qualified("start_alias_arn", start_alias_arn, start_alias(workflow_name))
        self.start_alias = self._alias("Start", start, same_environment=same_environment)
        for_others = {"Run": run_alias(workflow_name), "Respond": response_alias(workflow_name)}
        self.run_alias, self.response_alias = (
            self._alias(each, _other_alias(start, name), same_environment=same_environment)
            for each, name in for_others.items()
        )
        self.describe_alias = None
        if describe_alias_arn is not None:
            describe = self._qualified("describe_alias_arn", describe_alias_arn, describe_alias(workflow_name))
            self.describe_alias = self._alias("Describe", describe, same_environment=same_environment)
        self._control_function = self._function_arn(control_function_arn)
        self._same_environment = same_environment
        # Event source mappings are added later, as children of the function that they poll for.
        self.start_alias.node.add_validation(_NotPolled(self.start_alias))

    def _control_alias(self, kind: str) -> lambda_.IFunction:
        return self._alias_of_control(kind.capitalize(), control_alias_name(kind, self.workflow_name))

    def _permanent_aliases(self) -> tuple[lambda_.IFunction, lambda_.IFunction]:
        start = self._alias_of_control("PermanentStart", start_alias(self.workflow_name))
        return start, self._alias_of_control("PermanentRun", run_alias(self.workflow_name))

    def _alias_of_control(self, construct_id: str, name: str) -> lambda_.IFunction:
        found = self.node.try_find_child(construct_id)
        if found is not None:
            return found  # type: ignore[return-value] # made below
        if self._control_function is None:
            raise ConstructError(
                self,
                "control_function_arn: expected the ARN of the stack's output `ControlFunction`, got None; import the "
                "workflow with it",
            )
        arn = f"{self._control_function}:{name}"
        return self._alias(construct_id, arn, same_environment=self._same_environment)

    def _function_arn(self, arn: str | None) -> str | None:
        """Return `arn`; raise unless it names an unqualified function.

        Raises:
            ConstructError: another form.
        """
        if arn is None or is_token(arn) or _FUNCTION.fullmatch(arn):
            return arn
        raise ConstructError(
            self,
            "control_function_arn: expected arn:PARTITION:lambda:REGION:ACCOUNT:function:FUNCTION, without an alias, "
            f"got {arn!r}",
        )

    def _storage(self, table: dynamodb.ITable | str) -> Storage:
        """Return the table with this name or ARN, or the bucket with this address."""
        if not isinstance(table, str):
            check_is_table(self, "table", table)
            return TableStorage(table)
        if table.startswith(BUCKET):
            return BucketStorage(s3.Bucket.from_bucket_name(self, "State", table.removeprefix(BUCKET)), is_shared=True)
        known_by = dynamodb.Table.from_table_arn if table.startswith("arn:") else dynamodb.Table.from_table_name
        return TableStorage(known_by(self, "Table", table))

    def _bucket(self, value: s3.IBucket | str | None) -> s3.IBucket | None:
        bucket = s3.Bucket.from_bucket_name(self, "Payloads", value) if isinstance(value, str) else value
        if bucket is not None and not hasattr(bucket, "bucket_name"):
            raise ConstructError(self, f"payload_bucket: expected an aws_s3.IBucket or its name, got {value!r}")
        return bucket

    def _alias(self, construct_id: str, arn: str, *, same_environment: bool | None) -> lambda_.IFunction:
        attributes = lambda_.Function.from_function_attributes
        return attributes(self, construct_id, function_arn=arn, same_environment=same_environment)

    def _queues(self, activities: Mapping[str, sqs.IQueue]) -> Mapping[str, sqs.IQueue]:
        """Return `activities`.

        Raises:
            ConstructError: it is no mapping of queues by name.
        """
        check_mappings(self, {"activities": activities})
        for name, queue in activities.items():
            if not hasattr(queue, "queue_arn"):
                raise ConstructError(self, f"activities[{name!r}]: expected an aws_sqs.IQueue, got {queue!r}")
        return activities

    def _qualified(self, option: str, arn: str, name: str) -> str:
        """Return `arn` if it names the alias `name`, as far as synth knows.

        Raises:
            ConstructError: it names another alias, or none: grants would apply to the unpublished version.
        """
        if not isinstance(arn, str) or not (is_token(arn) or _ALIAS.fullmatch(arn)):
            raise ConstructError(
                self, f"{option}: expected arn:PARTITION:lambda:REGION:ACCOUNT:function:FUNCTION:ALIAS, got {arn!r}"
            )
        if not is_token(arn) and not arn.endswith(f":{name}"):
            raise ConstructError(
                self, f"{option}: expected the alias {name!r} of workflow {self.workflow_name!r}, got {arn!r}"
            )
        return arn

    @classmethod
    def by_name(
        cls, scope: Construct, construct_id: str, workflow_name: str, events: "IEventBus | None"
    ) -> "ImportedWorkflow":
        """Import the workflow exported as `workflow_name` in this account and region."""
        return cls(
            scope,
            construct_id,
            workflow_name=workflow_name,
            table=Fn.import_value(export_name(workflow_name, "Table")),
            start_alias_arn=Fn.import_value(export_name(workflow_name, "StartAlias")),
            describe_alias_arn=Fn.import_value(export_name(workflow_name, "DescribeAlias")),
            control_function_arn=Fn.import_value(export_name(workflow_name, "ControlFunction")),
            activities={},
            payload_bucket=None,
            same_environment=True,
            events=events,
        )


def _other_alias(arn: str, name: str) -> str:
    """Return the ARN of the alias `name` of the function whose alias has `arn`, which may be a token."""
    if not is_token(arn):
        return with_alias(arn, name)
    return Fn.join(":", [Fn.select(part, Fn.split(":", arn)) for part in range(7)] + [name])


class Importable:
    """Imports of deployed workflows, as static methods of `UnumWorkflow`."""

    @staticmethod
    def from_workflow_attributes(  # noqa: PLR0913 - one keyword for each attribute
        scope: Construct,
        construct_id: str,
        *,
        workflow_name: str,
        table: dynamodb.ITable | str,
        start_alias_arn: str,
        describe_alias_arn: str | None = None,
        control_function_arn: str | None = None,
        activities: Mapping[str, sqs.IQueue] | None = None,
        payload_bucket: s3.IBucket | str | None = None,
        same_environment: bool | None = None,
        events: "IEventBus | None" = None,
    ) -> IUnumWorkflow:
        """Import a deployed workflow by its attributes, for grants, metrics and event targets.

        The stack's outputs have the attributes: ``StartAlias``, ``DescribeAlias``, ``ControlFunction``, ``Table``,
        ``PayloadBucket``, ``Activities``.

        Args:
            scope: parent construct.
            construct_id: id below `scope`.
            workflow_name: name of the workflow.
            table: table with the state of executions, as construct, name or ARN; for a workflow with `Store.s3`,
                ``s3://`` and the name of its bucket. Import a table with a customer managed
                key together with its `encryption_key`: grants then include the key.
            start_alias_arn: ARN of the start alias; run alias and response alias belong to the same function.
            describe_alias_arn: ARN of the describe alias; `grant_describe` and `grant_start_sync` require it.
            control_function_arn: ARN of the control function, without an alias; `grant_stop`, `grant_redrive`,
                `grant_fork` and `grant_nudge` require it.
            activities: queues of the activities by activity name; `grant_activity` requires them.
            payload_bucket: bucket for large values, as construct or name.
            events: bus of its status events, which rules for them require.
            same_environment: True if account and region are those of this stack, so that event sources may add
                permissions to the alias. Default: the CDK compares the ARN, if synth knows both.

        Raises:
            ConstructError: a name, ARN, table, bucket or queue is malformed.
        """
        return ImportedWorkflow(
            scope,
            construct_id,
            workflow_name=workflow_name,
            table=table,
            start_alias_arn=start_alias_arn,
            describe_alias_arn=describe_alias_arn,
            control_function_arn=control_function_arn,
            activities=activities or {},
            payload_bucket=payload_bucket,
            same_environment=same_environment,
            events=events,
        )

    @staticmethod
    def from_workflow_name(
        scope: Construct, construct_id: str, workflow_name: str, *, events: "IEventBus | None" = None
    ) -> IUnumWorkflow:
        """Import a workflow, deployed with ``exported=True`` in the same account and region.

        CloudFormation refuses to change or delete an exported value that another stack imports: the function of the
        workflow's first Task must stay, unless importers use `permanent_start_alias`. Activities and customer managed
        keys are not exported; import such workflows by `from_workflow_attributes`. Nor is the bus of status events,
        `events`, which rules for them require.

        Source: AWS CloudFormation User Guide, "Get exported outputs from a deployed CloudFormation stack".
        """
        return ImportedWorkflow.by_name(scope, construct_id, workflow_name, events)

    @staticmethod
    def from_state_machine_name(scope: Construct, construct_id: str, state_machine_name: str) -> IUnumWorkflow:
        """Import a workflow as `from_workflow_name` does, under the name of `StateMachine`."""
        return ImportedWorkflow.by_name(scope, construct_id, state_machine_name, None)

    @staticmethod
    def from_state_machine_arn(scope: Construct, construct_id: str, state_machine_arn: str) -> IUnumWorkflow:
        """Raise an error: an ARN does not say where a workflow has its state.

        Raises:
            ConstructError: always.
        """
        raise ConstructError(
            scope,
            f"from_state_machine_arn: expected a name or attributes, got {state_machine_arn!r}; import workflows by "
            "`from_workflow_name`, if they are exported, or `from_workflow_attributes`; see docs/howto/migrate.md",
            child=construct_id,
        )


@jsii.implements(IValidation)
class _NotPolled:
    """Check against event source mappings, which would invoke the unpublished version.

    They know imported functions by name only.
    """

    def __init__(self, start_alias: IConstruct) -> None:
        self._start_alias = start_alias

    def validate(self) -> list[str]:
        polled = [each for each in self._start_alias.node.children if isinstance(each, lambda_.EventSourceMapping)]
        return [
            f"{each.node.id}: would invoke the function's unpublished version, not the start alias, as the workflow is "
            "imported; make the event source mapping in the stack that has the workflow"
            for each in polled
        ]
