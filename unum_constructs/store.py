"""The table of a workflow."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from unum_constructs.compiler.edges import Operation
from unum_constructs.errors import ConstructError

PARTITION, SORT, EXPIRY = "pk", "sk", "ttl"
"""Attributes that `unum_runtime.store.dynamodb` uses."""

ACTIONS: dict[Operation, tuple[str, ...]] = {
    Operation.CREATE: ("dynamodb:PutItem",),
    Operation.READ: ("dynamodb:BatchGetItem", "dynamodb:GetItem"),
    Operation.LIST: ("dynamodb:Query",),
    Operation.ADD: ("dynamodb:UpdateItem",),
    Operation.COLLECT: ("dynamodb:UpdateItem",),
}
"""What each operation needs to be allowed."""

_WANTED = {"partition key": f"{PARTITION} (S)", "sort key": f"{SORT} (S)", "time to live": EXPIRY}


def new_table(scope: Construct, construct_id: str, removal_policy: RemovalPolicy) -> dynamodb.Table:
    """A table that costs nothing at rest: on demand, encrypted with AWS's own key, items expiring by themselves."""
    return dynamodb.Table(
        scope,
        construct_id,
        partition_key=dynamodb.Attribute(name=PARTITION, type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name=SORT, type=dynamodb.AttributeType.STRING),
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        time_to_live_attribute=EXPIRY,
        removal_policy=removal_policy,
    )


def checked_table(workflow: Construct, table: dynamodb.ITable) -> dynamodb.ITable:
    """`table`, if it can hold a workflow's state; what an imported table is like cannot be known.

    Raises:
        ConstructError: its keys or its expiry are others.
    """
    resource = table.node.default_child
    if isinstance(resource, dynamodb.CfnTable | dynamodb.CfnGlobalTable):
        found = _schema(resource)
        if found != _WANTED:
            remedy = "make the table so, or leave out `table` for one that is"
            raise ConstructError(workflow, f"table {table.node.path}: expected {_WANTED}, got {found}; {remedy}")
    return table


def _schema(resource: dynamodb.CfnTable | dynamodb.CfnGlobalTable) -> dict[str, str]:
    resolve = resource.stack.resolve
    types = {each["attributeName"]: each["attributeType"] for each in resolve(resource.attribute_definitions)}
    keys = {each["keyType"]: each["attributeName"] for each in resolve(resource.key_schema)}
    expiry = resolve(resource.time_to_live_specification)
    return {
        "partition key": f"{keys['HASH']} ({types[keys['HASH']]})",
        "sort key": f"{keys['RANGE']} ({types[keys['RANGE']]})" if "RANGE" in keys else "none",
        "time to live": expiry["attributeName"] if expiry else "none",
    }
