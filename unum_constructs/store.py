"""Storage of execution state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aws_cdk import RemovalPolicy
from aws_cdk import aws_s3 as s3
from aws_cdk.aws_dynamodb import (
    Attribute,
    AttributeType,
    BillingMode,
    CfnGlobalTable,
    CfnTable,
    ContributorInsightsSpecification,
    ITable,
    PointInTimeRecoverySpecification,
    ProjectionType,
    Table,
    TableEncryption,
)
from aws_cdk.aws_kms import IKey
from constructs import Construct

from unum_constructs.cdk.argument_checks import check_key, check_table, check_types
from unum_constructs.cdk.buckets import new_bucket
from unum_constructs.cdk.nag import NO_RECOVERY, TABLE, acknowledge
from unum_constructs.cdk.storage import BucketStorage, Storage, TableStorage
from unum_constructs.errors import ConstructError
from unum_runtime.model.list_index import INDEX, PLACE, PROJECTED
from unum_runtime.model.list_index import PARTITION as LISTED_IN

PARTITION, SORT, EXPIRY = "pk", "sk", "ttl"
"""Attributes of items in `unum_runtime.store.dynamodb`."""

_SCHEMA = {"partition key": f"{PARTITION} (S)", "sort key": f"{SORT} (S)", "time to live": EXPIRY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Storage of a workflow's execution state; made by `Store.dynamodb` or `Store.s3`.

    Attributes:
        table: table of your own; None lets the workflow make one.
        options: options of the table or bucket that the workflow makes, by argument of the method.
        in_bucket: True for state in a bucket.
        bucket: bucket of your own; None lets the workflow make one.
    """

    table: ITable | None
    options: Mapping[str, Any]
    in_bucket: bool = False
    bucket: s3.IBucket | None = None

    @classmethod
    def dynamodb(  # noqa: PLR0913 - one keyword for each option, as everywhere in the CDK
        cls,
        *,
        table: ITable | None = None,
        billing: BillingMode | None = None,
        read_capacity: int | None = None,
        write_capacity: int | None = None,
        encryption_key: IKey | None = None,
        point_in_time_recovery: bool | None = None,
        contributor_insights: bool | None = None,
        deletion_protection: bool | None = None,
        removal_policy: RemovalPolicy | None = None,
        list_executions: bool | None = None,
    ) -> "Store":
        """Store state in a DynamoDB table.

        Without arguments, the workflow makes a table of its own, which costs nothing at rest. To share a table between
        workflows with different names, give one of them ``Store.dynamodb(table=other.table)``, or all of them a table
        of yours.

        Args:
            table: table of your own with the string keys ``pk`` and ``sk``, and time to live in ``ttl``; excludes all
                other arguments.
            billing: billing mode. Default: on demand.
            read_capacity: read units per second of a provisioned table. Default: 5.
            write_capacity: write units per second of a provisioned table. Default: 5.
            encryption_key: customer managed KMS key; grants on the table include its use. Default: a key of AWS.
            point_in_time_recovery: True lets you restore the table as of any second of the last 35 days. Default:
                False, because its items expire.
            contributor_insights: True reports the most used keys in CloudWatch. Default: False.
            deletion_protection: True makes DynamoDB refuse to delete the table. Default: False.
            removal_policy: fate of the table when it leaves the stack. Default: ``DESTROY``, because its items are
                temporary.
            list_executions: False leaves out the index of executions, which costs a write unit for each execution;
                then `Client.list` and sweeps are impossible. Default: True. For a table of your own, add a global
                secondary index ``executions`` with the string keys ``list`` and ``list_at``, and project ``at`` and
                ``ttl``.

        Returns:
            The storage, for `UnumWorkflow`; the workflow checks the options.
        """
        options = {
            "billing": billing,
            "read_capacity": read_capacity,
            "write_capacity": write_capacity,
            "encryption_key": encryption_key,
            "point_in_time_recovery": point_in_time_recovery,
            "contributor_insights": contributor_insights,
            "deletion_protection": deletion_protection,
            "removal_policy": removal_policy,
            "list_executions": list_executions,
        }
        return cls(table=table, options={name: value for name, value in options.items() if value is not None})

    @classmethod
    def s3(cls, *, bucket: s3.IBucket | None = None, encryption_key: IKey | None = None) -> "Store":
        """Store state in objects of an S3 bucket; see "Choose a store" in ``docs/stores.md``.

        Writes cost eight times as much as in DynamoDB, and cold starts take longer, because they load botocore. Without
        arguments, the workflow makes a bucket of its own, which outlives the stack; objects expire. Large values are in
        the same bucket, unless `payload_bucket` names another.

        Args:
            bucket: bucket of your own, which may have other objects; those of the workflow begin with ``state:``,
                ``listed:`` and its name. Functions may then list the names of their own workflow's objects alone, so
                each read of an absent object costs a list.
            encryption_key: customer managed KMS key of the bucket that the workflow makes. Default: the workflow's
                `encryption_key`, or a key of S3.

        Returns:
            The storage, for `UnumWorkflow`; the workflow checks the options.
        """
        options = {} if encryption_key is None else {"encryption_key": encryption_key}
        return cls(table=None, options=options, in_bucket=True, bucket=bucket)

    @property
    def purpose(self) -> str:
        """Purpose of the table or bucket, for its name if functions of other stacks must know it."""
        return "payloads" if self.in_bucket else "table"  # the workflow has one bucket: large values are in it, too

    def storage_for(
        self, workflow: Construct, workflow_name: str, *, name: str | None = None, encryption_key: IKey | None = None
    ) -> Storage:
        """Return the place of `workflow`'s state; make a table or bucket called `name` unless the user gave one.

        `encryption_key` is the workflow's key, for a table or bucket without its own.

        Raises:
            ConstructError: the table or bucket cannot have the state, or has that of another workflow of this name; or
                options exclude each other.
        """
        storage = self._storage(workflow, name, encryption_key)
        claim_name(workflow, storage, workflow_name)
        return storage

    def _storage(self, workflow: Construct, name: str | None, encryption_key: IKey | None) -> Storage:
        if not self.in_bucket:
            return TableStorage(self.table_for(workflow, "Table", name=name, encryption_key=encryption_key))
        check_key(workflow, "store: encryption_key", self.options.get("encryption_key"))
        if self.bucket is None:
            key = self.options.get("encryption_key", encryption_key)
            return BucketStorage(new_bucket(workflow, "State", key=key, name=name), is_shared=False)
        if not hasattr(self.bucket, "bucket_name"):
            raise ConstructError(workflow, f"store: bucket: expected an aws_s3.IBucket, got {self.bucket!r}")
        if self.options:
            remedy = "set it where you make the bucket, or leave out `bucket`"
            raise ConstructError(workflow, f"store: expected `bucket` alone, got `encryption_key` as well; {remedy}")
        return BucketStorage(self.bucket, is_shared=True)

    def table_for(
        self, workflow: Construct, construct_id: str, *, name: str | None = None, encryption_key: IKey | None = None
    ) -> ITable:
        """Return the table of `workflow`; make one called `name` unless the user gave one.

        `encryption_key` is the workflow's key, for a table without its own.

        Raises:
            ConstructError: the table has another type, schema, account or region, or options exclude each other.
        """
        check_types(workflow, bool, {"store: list_executions": self.options.get("list_executions")})
        check_key(workflow, "store: encryption_key", self.options.get("encryption_key"))
        if self.table is None:
            options = {"encryption_key": encryption_key, **self._checked_options(workflow)}
            return _new_table(workflow, construct_id, options, name)
        if self.options:
            remedy = "set them where you make the table, or leave out `table`"
            raise ConstructError(
                workflow, f"store: expected `table` alone, got {sorted(self.options)} as well; {remedy}"
            )
        return _checked_table(workflow, self.table)

    def _checked_options(self, workflow: Construct) -> Mapping[str, Any]:
        capacities = sorted({"read_capacity", "write_capacity"} & self.options.keys())
        if capacities and self.options.get("billing") is not BillingMode.PROVISIONED:
            remedy = "give `billing=BillingMode.PROVISIONED`, or leave them out"
            raise ConstructError(
                workflow, f"store: {capacities} require a provisioned table, this one is on demand; {remedy}"
            )
        return self.options


def checked_store(workflow: Construct, store: Store | None, *, exported: bool) -> Store:
    """Return `store`, a table for None.

    Raises:
        ConstructError: it is no store; or `workflow` is `exported`, which needs a table, and it has none.
    """
    if store is not None and not isinstance(store, Store):
        raise ConstructError(
            workflow,
            f"store: expected `Store.dynamodb` or `Store.s3`, got a {type(store).__name__}: functions on AWS have "
            "their state in AWS; give stores of other clouds to a runtime there, see docs/stores.md",
        )
    store = store or Store.dynamodb()
    if store.in_bucket and exported:
        raise ConstructError(
            workflow,
            "exported: expected `Store.dynamodb`, got `Store.s3`: imports by name take its address for a table's; "
            "import it by its attributes",
        )
    return store


def claim_name(workflow: Construct, storage: Storage, name: str) -> None:
    """Reserve `name` for `workflow` in `storage`.

    Raises:
        ConstructError: another workflow of this app uses the name there.
    """
    claimed, resource = f"Unum-{name}", storage.resource
    if resource.node.try_find_child(claimed) is not None:
        raise ConstructError(
            workflow,
            f"store: another workflow called {name!r} uses the {storage.noun} {resource.node.path}; change "
            "`workflow_name`",
        )
    # A child construct of the table: two workflows of any stack in the app find the same claim.
    Construct(resource, claimed)  # type: ignore[arg-type]  # every table and bucket is a construct


def _new_table(scope: Construct, construct_id: str, options: Mapping[str, Any], name: str | None) -> Table:
    key = options.get("encryption_key")
    table = Table(
        scope,
        construct_id,
        table_name=name,
        partition_key=Attribute(name=PARTITION, type=AttributeType.STRING),
        sort_key=Attribute(name=SORT, type=AttributeType.STRING),
        time_to_live_attribute=EXPIRY,
        billing_mode=options.get("billing", BillingMode.PAY_PER_REQUEST),
        read_capacity=options.get("read_capacity"),
        write_capacity=options.get("write_capacity"),
        encryption=TableEncryption.CUSTOMER_MANAGED if key else None,
        encryption_key=key,
        removal_policy=options.get("removal_policy", RemovalPolicy.DESTROY),
        deletion_protection=options.get("deletion_protection"),
        **_specifications(options),
    )
    acknowledge(table, TABLE if options.get("point_in_time_recovery") else {**TABLE, **NO_RECOVERY})
    if options.get("list_executions", True):
        table.add_global_secondary_index(
            index_name=INDEX,
            partition_key=Attribute(name=LISTED_IN, type=AttributeType.STRING),
            sort_key=Attribute(name=PLACE, type=AttributeType.STRING),
            projection_type=ProjectionType.INCLUDE,
            non_key_attributes=[*PROJECTED],
            read_capacity=options.get("read_capacity"),
            write_capacity=options.get("write_capacity"),
        )
    return table


def _specifications(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options that the CDK takes as structures."""
    found: dict[str, Any] = {}
    if (recovery := options.get("point_in_time_recovery")) is not None:
        found["point_in_time_recovery_specification"] = PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=recovery
        )
    if (insights := options.get("contributor_insights")) is not None:
        found["contributor_insights_specification"] = ContributorInsightsSpecification(enabled=insights)
    return found


def _checked_table(workflow: Construct, table: ITable) -> ITable:
    """Return `table`; the schema of an imported table is unknown.

    Raises:
        ConstructError: keys, time to live, account or region do not fit.
    """
    check_table(workflow, table)
    resource = table.node.default_child
    if isinstance(resource, CfnTable | CfnGlobalTable):
        found = _schema(resource)
        if found != _SCHEMA:
            remedy = "change the table, or leave out `table`"
            raise ConstructError(workflow, f"store: table {table.node.path}: expected {_SCHEMA}, got {found}; {remedy}")
    return table


def _schema(resource: CfnTable | CfnGlobalTable) -> dict[str, str]:
    resolve = resource.stack.resolve
    types = {each["attributeName"]: each["attributeType"] for each in resolve(resource.attribute_definitions)}
    keys = {each["keyType"]: each["attributeName"] for each in resolve(resource.key_schema)}
    expiry = resolve(resource.time_to_live_specification)
    return {
        "partition key": f"{keys['HASH']} ({types[keys['HASH']]})",
        "sort key": f"{keys['RANGE']} ({types[keys['RANGE']]})" if "RANGE" in keys else "none",
        "time to live": expiry["attributeName"] if expiry else "none",
    }
