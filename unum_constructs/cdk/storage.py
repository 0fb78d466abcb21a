"""Places of execution state, a table or a bucket: address, permissions, and what is known of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from aws_cdk import Annotations, Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct, IConstruct

from unum_compiler.analysis.edges import Operation
from unum_compiler.payload_storage import Payload
from unum_constructs.cdk.encryption import (
    READING_ITEMS,
    READING_OBJECTS,
    WRITING_ITEMS,
    WRITING_OBJECTS,
    Actions,
    key_statement,
)
from unum_runtime.features.bucket_state.s3_names import entry_prefix, item_prefix
from unum_runtime.features.memo.memo_keys import memo_partition_prefix
from unum_runtime.model.list_index import INDEX
from unum_runtime.model.naming import (
    definition_partition_prefix,
    execution_partition_prefix,
    partition_prefixes,
)
from unum_runtime.store.base import BUCKET
from unum_runtime.store.large_items import object_lifetime_days

RESTORABLE_DAYS = 35
"""Age of the oldest backup of a table. Source: Amazon DynamoDB Developer Guide, "Point-in-time recovery"."""

ACTIONS: Mapping[Operation, tuple[str, ...]] = {
    Operation.CREATE: ("dynamodb:PutItem",),
    Operation.READ: ("dynamodb:BatchGetItem", "dynamodb:GetItem"),
    Operation.LIST: ("dynamodb:Query",),
    Operation.ADD: ("dynamodb:UpdateItem",),
    Operation.COLLECT: ("dynamodb:UpdateItem",),
}
"""IAM actions of each store operation on a table."""

DEFINITION_RETENTIONS, DEFINITION_DAYS = 2, 2
"""Longest lifetime of a definition record: retentions and days, see `definition_records.write_definition`."""

_LIST_OBJECTS = "s3:ListBucket"

_OBJECT_ACTIONS: Mapping[Operation, tuple[str, ...]] = {
    Operation.CREATE: ("s3:GetObject", "s3:PutObject"),  # who loses a create reads the winner's item
    Operation.READ: ("s3:GetObject", _LIST_OBJECTS),
    Operation.LIST: ("s3:GetObject", _LIST_OBJECTS),
    Operation.ADD: ("s3:GetObject", "s3:PutObject", _LIST_OBJECTS),
    Operation.COLLECT: ("s3:DeleteObject", "s3:GetObject", "s3:PutObject", _LIST_OBJECTS),
}
"""IAM actions of each store operation on objects, and on the bucket."""


class Storage(Protocol):
    """Place of execution state.

    Attributes:
        noun: its kind, in messages.
        in_bucket: True for a bucket.
        service: name of the AWS service, in IAM actions and for KMS.
        reading: KMS actions that reads need.
        writing: KMS actions that writes need.
    """

    noun: ClassVar[str]
    in_bucket: ClassVar[bool]
    service: ClassVar[str]
    reading: ClassVar[Actions]
    writing: ClassVar[Actions]

    @property
    def address(self) -> str:
        """Name by which functions and clients know it."""

    @property
    def resource(self) -> IConstruct:
        """The table or bucket."""

    @property
    def arns(self) -> list[str]:
        """Resources that hold state."""

    @property
    def encryption_key(self) -> kms.IKey | None:
        """Customer managed key; None without one."""

    @property
    def backup_days(self) -> Mapping[str, int | None]:
        """Days of point-in-time recovery by resource: None if unknown, empty without recovery."""

    def lists(self, *, if_imported: bool = True) -> bool:
        """Return True if it lists executions; `if_imported` for imported ones, which may do so."""

    def item_statements(self, operations: Iterable[Operation], partitions: Iterable[str]) -> list[iam.PolicyStatement]:
        """Return permission for `operations` on items with one of the partition key prefixes `partitions`."""

    def entry_statements(self, workflow_name: str) -> list[iam.PolicyStatement]:
        """Return permission for index entries of `workflow_name`, for functions that write start records."""

    def list_statements(self, partitions: str) -> list[iam.PolicyStatement]:
        """Return permission to list the executions in index partitions with the prefix `partitions`."""

    def deletion_statements(self, workflow_name: str) -> list[iam.PolicyStatement]:
        """Return permission to delete the items of `workflow_name`."""

    def payload_bucket(self, payload: str) -> s3.IBucket | None:
        """Return the default bucket for large values; None for an extra bucket or no bucket."""

    def expire(self, workflow: Construct, workflow_name: str, retention_s: int) -> None:
        """Let the state of `workflow_name` be deleted after its expiry, if this app can."""


@dataclass(frozen=True)
class TableStorage:
    """State in a DynamoDB table.

    Attributes:
        table: the table.
    """

    table: dynamodb.ITable
    noun: ClassVar[str] = "table"
    in_bucket: ClassVar[bool] = False
    service: ClassVar[str] = "dynamodb"
    reading: ClassVar[Actions] = READING_ITEMS
    writing: ClassVar[Actions] = WRITING_ITEMS

    @property
    def address(self) -> str:
        """See `Storage`."""
        return self.table.table_name

    @property
    def resource(self) -> IConstruct:
        """See `Storage`."""
        return self.table

    @property
    def arns(self) -> list[str]:
        """See `Storage`."""
        return [self.table.table_arn]

    @property
    def encryption_key(self) -> kms.IKey | None:
        """See `Storage`."""
        return self.table.encryption_key

    @property
    def backup_days(self) -> Mapping[str, int | None]:
        """See `Storage`."""
        resource = self.table.node.default_child
        if not isinstance(resource, dynamodb.CfnTable):
            return {"backups": None}
        recovery = resource.stack.resolve(resource.point_in_time_recovery_specification) or {}
        return {"backups": RESTORABLE_DAYS} if recovery.get("pointInTimeRecoveryEnabled") else {}

    def lists(self, *, if_imported: bool = True) -> bool:
        """See `Storage`."""
        resource = self.table.node.default_child
        if not isinstance(resource, dynamodb.CfnTable | dynamodb.CfnGlobalTable):
            # Imported tables have no template here; a missing index fails at run time.
            return if_imported
        indexes = resource.stack.resolve(resource.global_secondary_indexes) or ()
        return any(index["indexName"] == INDEX for index in indexes)

    def item_statements(self, operations: Iterable[Operation], partitions: Iterable[str]) -> list[iam.PolicyStatement]:
        """See `Storage`."""
        actions = sorted({action for operation in operations for action in ACTIONS[operation]})
        return [_on_partitions(actions, self.table.table_arn, partitions)]

    def entry_statements(self, _workflow_name: str) -> list[iam.PolicyStatement]:
        """Return nothing: DynamoDB writes the entries itself."""
        return []

    def list_statements(self, partitions: str) -> list[iam.PolicyStatement]:
        """See `Storage`."""
        # An index has an ARN of its own, which permissions for the table do not cover.
        return [_on_partitions(["dynamodb:Query"], f"{self.table.table_arn}/index/{INDEX}", [partitions])]

    def deletion_statements(self, workflow_name: str) -> list[iam.PolicyStatement]:
        """See `Storage`."""
        own = partition_prefixes(workflow_name)
        return [_on_partitions(["dynamodb:BatchWriteItem"], self.table.table_arn, own)]

    def payload_bucket(self, _payload: str) -> None:
        """See `Storage`."""

    def expire(self, workflow: Construct, workflow_name: str, retention_s: int) -> None:
        """Change nothing: DynamoDB deletes expired items by their time to live."""


@dataclass(frozen=True)
class BucketStorage:
    """State in objects of an S3 bucket.

    Attributes:
        bucket: the bucket.
        is_shared: True if others may have objects in it; functions then list the names of their own workflow alone.
    """

    bucket: s3.IBucket
    is_shared: bool
    noun: ClassVar[str] = "bucket"
    in_bucket: ClassVar[bool] = True
    service: ClassVar[str] = "s3"
    reading: ClassVar[Actions] = READING_OBJECTS
    writing: ClassVar[Actions] = WRITING_OBJECTS

    @property
    def address(self) -> str:
        """See `Storage`."""
        return f"{BUCKET}{self.bucket.bucket_name}"

    @property
    def resource(self) -> IConstruct:
        """See `Storage`."""
        return self.bucket

    @property
    def arns(self) -> list[str]:
        """See `Storage`."""
        return [self.bucket.bucket_arn, self.bucket.arn_for_objects("*")]

    @property
    def encryption_key(self) -> kms.IKey | None:
        """See `Storage`."""
        return self.bucket.encryption_key

    @property
    def backup_days(self) -> Mapping[str, int | None]:
        """See `Storage`."""
        return {"backups": None} if self.is_shared else {}

    def lists(self, *, if_imported: bool = True) -> bool:  # noqa: ARG002 - of the protocol
        """See `Storage`."""
        return True

    def item_statements(self, operations: Iterable[Operation], partitions: Iterable[str]) -> list[iam.PolicyStatement]:
        """See `Storage`."""
        prefixes = [item_prefix(each) for each in partitions]
        actions = {action for operation in operations for action in _OBJECT_ACTIONS[operation]}
        lists = [self._listing(_LIST_OBJECTS, prefixes, is_limited=self.is_shared)] if _LIST_OBJECTS in actions else []
        return [self._on_objects(sorted(actions - {_LIST_OBJECTS}), prefixes), *lists]

    def entry_statements(self, workflow_name: str) -> list[iam.PolicyStatement]:
        """See `Storage`."""
        return [self._on_objects(["s3:PutObject"], [entry_prefix(execution_partition_prefix(workflow_name))])]

    def list_statements(self, partitions: str) -> list[iam.PolicyStatement]:
        """See `Storage`."""
        return [self._listing(_LIST_OBJECTS, [entry_prefix(partitions)], is_limited=True)]

    def deletion_statements(self, workflow_name: str) -> list[iam.PolicyStatement]:
        """See `Storage`."""
        entries = entry_prefix(execution_partition_prefix(workflow_name))
        prefixes = [*map(item_prefix, partition_prefixes(workflow_name)), entries]
        delete = self._on_objects(["s3:DeleteObject", "s3:DeleteObjectVersion"], prefixes)
        return [delete, self._listing("s3:ListBucketVersions", prefixes, is_limited=True)]

    def payload_bucket(self, payload: str) -> s3.IBucket | None:
        """See `Storage`."""
        return None if payload == Payload.INLINE else self.bucket

    def expire(self, workflow: Construct, workflow_name: str, retention_s: int) -> None:
        """Let the bucket delete objects of `workflow_name` after their expiry, if this app makes the bucket."""
        definitions = item_prefix(definition_partition_prefix(workflow_name))
        entries = entry_prefix(execution_partition_prefix(workflow_name))
        shared = memo_partition_prefix("")  # results that workflows share
        own = [*map(item_prefix, (*partition_prefixes(workflow_name), shared)), entries]
        days = dict.fromkeys(own, object_lifetime_days(retention_s))
        days[definitions] = object_lifetime_days(DEFINITION_RETENTIONS * retention_s) + DEFINITION_DAYS
        if not isinstance(self.bucket, s3.Bucket):
            expected = ", ".join(f"{prefix} {kept}" for prefix, kept in days.items())
            Annotations.of(workflow).add_warning_v2(
                "unum:storeLifecycle",
                f"store: {self.bucket.node.path} is imported, so this app cannot make its objects expire; let those "
                f"with these prefixes expire after as many days, or later: {expected}",
            )
            return
        for prefix, kept in days.items():
            # With versions, expiry leaves an object as a noncurrent version.
            self.bucket.add_lifecycle_rule(
                prefix=prefix, expiration=Duration.days(kept), noncurrent_version_expiration=Duration.days(1)
            )

    def _on_objects(self, actions: Iterable[str], prefixes: Iterable[str]) -> iam.PolicyStatement:
        objects = [self.bucket.arn_for_objects(f"{prefix}*") for prefix in prefixes]
        return iam.PolicyStatement(actions=[*actions], resources=objects)

    def _listing(self, action: str, prefixes: Iterable[str], *, is_limited: bool) -> iam.PolicyStatement:
        # S3 tells an absent object from a forbidden one only to those who may list the whole bucket, and reads of
        # absent objects are frequent. Where that is forbidden, the store lists by the object's name.
        limit = {"StringLike": {"s3:prefix": [f"{prefix}*" for prefix in prefixes]}} if is_limited else None
        return iam.PolicyStatement(actions=[action], resources=[self.bucket.bucket_arn], conditions=limit)


def key_statements(storage: Storage) -> Iterator[iam.PolicyStatement]:
    """Yield permission to read and write with the customer managed key of `storage`, if it has one."""
    if storage.encryption_key is not None:
        yield key_statement(storage.encryption_key, storage.writing, through=storage.service)


def _on_partitions(actions: Iterable[str], arn: str, partitions: Iterable[str]) -> iam.PolicyStatement:
    # Source: Amazon DynamoDB Developer Guide, "Using IAM policy conditions for fine-grained access control".
    condition: Any = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [f"{each}*" for each in partitions]}}
    return iam.PolicyStatement(actions=[*actions], resources=[arn], conditions=condition)
