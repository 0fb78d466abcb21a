"""Address of a workflow on AWS: the arguments of `Client.connect`."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from unum_runtime.errors import ClientError
from unum_runtime.model.naming import NAME_RULE, describe_alias, is_name, start_alias

if TYPE_CHECKING:
    from typing import Required

    from boto3 import Session

    from unum_client.aws_clients import AwsClients


class Address(TypedDict, total=False):
    """Arguments of `Client.connect`, for clients built on it.

    Attributes:
        table: name or ARN of the workflow's DynamoDB table, or ``s3://`` and the name of its bucket; without it, the
            client reads no steps and no lists.
        workflow: workflow name.
        start_alias: ARN of the start alias; without it, the client only reads.
        describe_alias: ARN of the describe alias; without it, descriptions are read in the table.
        control_alias: ARN of the control function, without an alias; without it, the client neither stops nor redrives
            executions.
        session: source of credentials and region; default: boto3's.
        retention_s: retention of the workflow's items, in seconds.
        activities: queue URLs by activity name, for workers.
        payload_bucket: name of the payload bucket, if the workflow has one.
    """

    table: str | None
    workflow: "Required[str]"
    start_alias: str | None
    describe_alias: str | None
    control_alias: str | None
    session: "Session | AwsClients | None"
    retention_s: int
    activities: Mapping[str, str] | None
    payload_bucket: str | None


CONTROL = "control_alias"
"""Argument with the ARN of the control function; the client adds the alias that takes a request."""

_ALIAS_NAMES = {"start_alias": start_alias, "describe_alias": describe_alias}
"""Functions that return alias names, by the argument for the alias ARN."""

_UNQUALIFIED = re.compile(r"arn:[^:]+:lambda:[^:]*:[^:]*:function:[^:]+")


def check_address(
    table: object, workflow: object, retention_s: object, payload_bucket: object = None, **aliases: object
) -> None:
    """Raise ClientError if the arguments cannot be a workflow's address.

    Args:
        table: name or ARN, or None.
        workflow: name.
        retention_s: seconds.
        payload_bucket: name, or None.
        aliases: ARNs of aliases by argument name; None for unknown ones.

    Raises:
        ClientError: an argument has another form, or an alias belongs to another workflow.
    """
    if table is not None and (not isinstance(table, str) or not table):
        raise ClientError(f"table: expected the name or ARN of the workflow's table, or None, got {table!r}")
    if not is_name(workflow):
        raise ClientError(f"workflow: expected {NAME_RULE}, got {workflow!r}")
    if type(retention_s) is not int or retention_s < 1:  # `isinstance` would accept True
        raise ClientError(f"retention_s: expected at least 1 second, got {retention_s!r}")
    if payload_bucket is not None and (not isinstance(payload_bucket, str) or not payload_bucket):
        raise ClientError(f"payload_bucket: expected the bucket's name, or None, got {payload_bucket!r}")
    for option, arn in aliases.items():
        if arn is not None and option == CONTROL:
            check_control(arn)
        elif arn is not None:
            name = _ALIAS_NAMES[option](str(workflow))
            check_alias(option, arn)
            # Only full ARNs: Lambda also accepts other forms, such as NAME:ALIAS.
            if str(arn).startswith("arn:") and not str(arn).endswith(f":{name}"):
                raise ClientError(f"{option}: expected the alias {name!r} of workflow {workflow!r}, got {arn!r}")


def is_function(arn: object) -> bool:
    """Return True if `arn` is the ARN of a function without an alias or a version."""
    return isinstance(arn, str) and _UNQUALIFIED.fullmatch(arn) is not None


def check_control(arn: object) -> None:
    """Raise ClientError unless `arn` names a function without an alias, as the control function's address does."""
    if not is_function(arn):
        raise ClientError(
            f"{CONTROL}: expected arn:PARTITION:lambda:REGION:ACCOUNT:function:FUNCTION, without an alias (the stack's "
            f"output ControlFunction), got {arn!r}"
        )


def check_alias(option: str, arn: object) -> None:
    """Raise ClientError unless `arn`, from the argument `option`, can be an alias.

    Raises:
        ClientError: another form, or the ARN of an unqualified function, which receives no requests.
    """
    if not isinstance(arn, str) or not arn or is_function(arn):
        raise ClientError(
            f"{option}: expected arn:PARTITION:lambda:REGION:ACCOUNT:function:FUNCTION:ALIAS, got {arn!r}"
        )


def check_queues(activities: object) -> None:
    """Raise ClientError unless `activities` are queue URLs by name, or None.

    Raises:
        ClientError: another type, such as the unparsed JSON text of the stack's output ``Activities``.
    """
    if activities is None:
        return
    if not isinstance(activities, Mapping):
        raise ClientError(f"activities: expected queue URLs by name, got {activities!r}; parse JSON text first")
    for name, url in activities.items():
        if not isinstance(name, str) or not isinstance(url, str) or "://" not in url:
            raise ClientError(f"activities[{name!r}]: expected a queue URL, got {url!r}")
