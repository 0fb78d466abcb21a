"""Tables and keys of the user's that a workflow is to use: what they are, and where."""

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct, IConstruct

from unum_constructs.cdk.lookup import is_token, stack_of
from unum_constructs.errors import ConstructError

_PLACED = 5
"""More parts than this has an ARN whose region and account can be told."""


def check_is_table(construct: IConstruct, option: str, table: object) -> None:
    """Stop if `table`, which the option of that name gives, is none.

    Raises:
        ConstructError: it is something else.
    """
    if not hasattr(table, "table_name"):
        raise ConstructError(construct, f"{option}: expected an aws_dynamodb.ITable, got {table!r}")


def check_table(workflow: Construct, table: object) -> None:
    """Stop if a workflow cannot keep its state in `table`: functions know it by its name alone, where they are.

    Raises:
        ConstructError: it is no table, or of another account or region, as far as synth knows.
    """
    check_is_table(workflow, "store: table", table)
    given: dynamodb.ITable = table  # type: ignore[assignment]  # by what it has
    own, found = _place(workflow), _place_of_table(given)
    for what, here, there in zip(("region", "account"), own, found, strict=True):
        if _differ(here, there):
            where = f"got {given.node.path} of {there}"
            raise ConstructError(workflow, f"store: expected a table of the workflow's {what}, {here}, {where}")
    check_key(workflow, "store: the table's key", given.encryption_key)


def check_key(construct: IConstruct, option: str, key: object, *, child: str = "") -> None:
    """Stop if a workflow cannot use `key`; None is no key.

    Args:
        construct: whose option it is.
        option: that gives it.
        key: a key, maybe.
        child: id of the construct that is not made yet.

    Raises:
        ConstructError: it is no key, or one of another region, as far as synth knows; or it is an alias: permissions
            for that are permissions for no key. Source: AWS KMS Developer Guide, "Specifying KMS keys in IAM policy
            statements".
    """
    if key is None:
        return
    if not hasattr(key, "key_arn"):
        raise ConstructError(construct, f"{option}: expected an aws_kms.IKey, got {key!r}", child=child)
    given: kms.IKey = key  # type: ignore[assignment]  # by what it has
    if hasattr(given, "alias_name") or ":alias/" in given.key_arn:
        reason = "permissions cannot name it; give the key itself"
        raise ConstructError(
            construct, f"{option}: expected a key, got the alias {given.node.path}: {reason}", child=child
        )
    here, there = _place(construct)[0], given.env.region
    if _differ(here, there):
        raise ConstructError(
            construct, f"{option}: expected a key of the region {here}, got {given.node.path} of {there}", child=child
        )


def _place(construct: IConstruct) -> tuple[str, str]:
    """Region and account, each of which may be a token."""
    return stack_of(construct).region, stack_of(construct).account


def _place_of_table(table: dynamodb.ITable) -> tuple[str, str]:
    """The same of a table: one that is imported by its ARN has its stack's as `env`."""
    parts = table.table_arn.split(":")
    return (parts[3], parts[4]) if len(parts) > _PLACED else (table.env.region, table.env.account)


def _differ(here: str, there: str) -> bool:
    """Whether two regions or accounts are certain to be others."""
    return here != there and not is_token(here) and not is_token(there)
