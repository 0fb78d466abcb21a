"""Checks of arguments: types, as Python accepts any value for a keyword; regions and accounts of tables and keys."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from aws_cdk import Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct, IConstruct

from unum_constructs.cdk.lookup import is_token, stack_of
from unum_constructs.errors import ConstructError

_Choice = TypeVar("_Choice", bound=StrEnum)

_ARN_PARTS = 5
"""Parts of an ARN, minus one; fewer parts mean a token without region and account."""


def check_types(construct: Construct, kind: type, options: Mapping[str, object]) -> None:
    """Raise unless each named value in `options` is a `kind` or None.

    Raises:
        ConstructError: names the option, the expected type and the value.
    """
    for option, value in options.items():
        if value is not None and not isinstance(value, kind):
            raise ConstructError(construct, f"{option}: expected a {kind.__name__}, got {value!r}")


def checked_switch(construct: Construct, option: str, value: bool) -> bool:  # noqa: FBT001 - the option's value
    """Return `value`, an option that is on or off.

    Raises:
        ConstructError: it is neither True nor False.
    """
    check_types(construct, bool, {option: value})
    return value


def check_mappings(construct: Construct, options: Mapping[str, Mapping[str, object] | None]) -> None:
    """Raise unless every value in `options`, by name, is a mapping with text keys; `tags` need text values.

    Raises:
        ConstructError: names the option and the key or value.
    """
    check_types(construct, Mapping, options)
    for option, mapping in options.items():
        for key, value in (mapping or {}).items():
            if not isinstance(key, str) or not key:
                raise ConstructError(construct, f"{option}: expected texts as keys, got {key!r}")
            if option == "tags" and not isinstance(value, str):
                raise ConstructError(construct, f"tags[{key!r}]: expected text, got {value!r}")


def seconds(construct: Construct, option: str, duration: object) -> float:
    """Return the seconds in `duration`.

    Raises:
        ConstructError: it is no `Duration`, or a token.
    """
    if not isinstance(duration, Duration):
        raise ConstructError(construct, f"{option}: expected an aws_cdk.Duration, got {duration!r}")
    if duration.is_unresolved():
        raise ConstructError(construct, f"{option}: expected a Duration that is known at synth, got a token")
    return duration.to_milliseconds(integral=False) / 1000


def whole_seconds(construct: Construct, option: str, duration: object) -> int:
    """Return the seconds in `duration` as an integer.

    Raises:
        ConstructError: it is no `Duration`, a token, or a fraction of seconds.
    """
    found = seconds(construct, option, duration)
    if found % 1:
        raise ConstructError(construct, f"{option}: expected whole seconds, got {found:g} s")
    return int(found)


def checked_choice(construct: Construct, option: str, value: str, choices: type[_Choice]) -> _Choice:
    """Return `value` as a member of `choices`.

    Raises:
        ConstructError: it is none.
    """
    try:
        return choices(value)
    except ValueError as error:
        raise ConstructError(
            construct, f"{option}: expected one of {[str(each) for each in choices]}, got {value!r}"
        ) from error


def checked_range(construct: Construct, option: str, value: int | None, allowed: range, unit: str = "") -> int | None:
    """Return `value`; None is allowed.

    Raises:
        ConstructError: it is outside of `allowed`, or no whole number.
    """
    # `type`, not `isinstance`: True is an int in Python.
    if value is not None and (type(value) is not int or value not in allowed):
        raise ConstructError(construct, f"{option}: expected {allowed[0]} to {allowed[-1]}{unit}, got {value!r}{unit}")
    return value


def check_is_table(construct: IConstruct, option: str, table: object) -> None:
    """Raise if `table`, the value of `option`, is no table.

    Raises:
        ConstructError: names the option and the value.
    """
    if not hasattr(table, "table_name"):
        raise ConstructError(construct, f"{option}: expected an aws_dynamodb.ITable, got {table!r}")


def check_table(workflow: Construct, table: object) -> None:
    """Raise if `table` cannot store workflow state: functions know its name only, within their own account and region.

    Raises:
        ConstructError: it is no table, or belongs to another account or region, if synth knows both.
    """
    check_is_table(workflow, "store: table", table)
    own_table: dynamodb.ITable = table  # type: ignore[assignment]  # checked by its attribute
    own, found = _region_and_account(workflow), _region_and_account_of_table(own_table)
    for what, here, there in zip(("region", "account"), own, found, strict=True):
        if _certainly_differ(here, there):
            where = f"got {own_table.node.path} of {there}"
            raise ConstructError(workflow, f"store: expected a table of the workflow's {what}, {here}, {where}")
    check_key(workflow, "store: the table's key", own_table.encryption_key)


def check_key(construct: IConstruct, option: str, key: object, *, child: str = "") -> None:
    """Raise if a workflow cannot use `key`; None is accepted.

    Args:
        construct: construct with the option.
        option: name of the option.
        key: KMS key or None.
        child: id of a construct below `construct` that does not exist yet.

    Raises:
        ConstructError: it is no key; it belongs to another region, if synth knows both; or it is an alias, which
            policies cannot name. Source: AWS KMS Developer Guide, "Specifying KMS keys in IAM policy statements".
    """
    if key is None:
        return
    if not hasattr(key, "key_arn"):
        raise ConstructError(construct, f"{option}: expected an aws_kms.IKey, got {key!r}", child=child)
    own_key: kms.IKey = key  # type: ignore[assignment]  # checked by its attribute
    if hasattr(own_key, "alias_name") or ":alias/" in own_key.key_arn:
        reason = "permissions cannot name it; give the key itself"
        raise ConstructError(
            construct, f"{option}: expected a key, got the alias {own_key.node.path}: {reason}", child=child
        )
    here, there = _region_and_account(construct)[0], own_key.env.region
    if _certainly_differ(here, there):
        raise ConstructError(
            construct, f"{option}: expected a key of the region {here}, got {own_key.node.path} of {there}", child=child
        )


def _region_and_account(construct: IConstruct) -> tuple[str, str]:
    """Return the stack's region and account, possibly tokens."""
    return stack_of(construct).region, stack_of(construct).account


def _region_and_account_of_table(table: dynamodb.ITable) -> tuple[str, str]:
    """Return a table's region and account from its ARN: `env` of an imported table names the importing stack."""
    parts = table.table_arn.split(":")
    return (parts[3], parts[4]) if len(parts) > _ARN_PARTS else (table.env.region, table.env.account)


def _certainly_differ(here: str, there: str) -> bool:
    """Return True if two regions or accounts differ for certain; tokens may be equal."""
    return here != there and not is_token(here) and not is_token(there)
