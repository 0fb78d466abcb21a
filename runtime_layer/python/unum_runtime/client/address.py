"""Where a workflow on AWS is: what `Client.connect` wants to know."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from unum_runtime.errors import ClientError
from unum_runtime.model.naming import control_alias, start_alias
from unum_runtime.protocol.history.start_records import is_name

if TYPE_CHECKING:
    from typing import Required

    from boto3 import Session


class Address(TypedDict, total=False):
    """The arguments of `Client.connect`, for clients that are made of one.

    Attributes:
        table: name or ARN of the workflow's DynamoDB table.
        workflow: name of the workflow.
        start_alias: ARN of its start alias; without, the client only looks.
        control_alias: ARN of its control alias; without, the client neither stops nor redrives executions.
        session: where credentials and region come from; boto3's default without.
        retention_s: how long the workflow keeps its items, in seconds.
        activities: URLs of the queues of its activities by name, for workers.
        payload_bucket: name of its bucket for large values, if it has one.
    """

    table: "Required[str]"
    workflow: "Required[str]"
    start_alias: str | None
    control_alias: str | None
    session: "Session | None"
    retention_s: int
    activities: Mapping[str, str] | None
    payload_bucket: str | None


_NAMED = {"start_alias": start_alias, "control_alias": control_alias}
"""What an alias is called, by the argument that gives it."""

_UNQUALIFIED = re.compile(r"arn:[^:]+:lambda:[^:]*:[^:]*:function:[^:]+")


def check_address(
    *, table: object, workflow: object, retention_s: object, payload_bucket: object = None, **aliases: object
) -> None:
    """Stop if a workflow cannot be there.

    Args:
        table: name or ARN.
        workflow: name.
        retention_s: seconds.
        payload_bucket: name; None for none.
        aliases: the start alias and the control alias, by the arguments that give them; None for those that are not
            known.

    Raises:
        ClientError: an argument is none of these, or an alias is another workflow's.
    """
    if not isinstance(table, str) or not table:
        raise ClientError(f"table: expected the name or ARN of the workflow's table, got {table!r}")
    if not is_name(workflow):
        raise ClientError(f"workflow: expected 1 to 80 characters from A-Z a-z 0-9 - _, got {workflow!r}")
    if type(retention_s) is not int or retention_s < 1:
        raise ClientError(f"retention_s: expected at least 1 second, got {retention_s!r}")
    if payload_bucket is not None and (not isinstance(payload_bucket, str) or not payload_bucket):
        raise ClientError(f"payload_bucket: expected the bucket's name, or None, got {payload_bucket!r}")
    for option, arn in aliases.items():
        if arn is not None:
            check_alias(option, arn)
            name = _NAMED[option](str(workflow))
            if str(arn).startswith("arn:") and not str(arn).endswith(f":{name}"):
                raise ClientError(f"{option}: expected the alias {name!r} of workflow {workflow!r}, got {arn!r}")


def check_alias(option: str, arn: object) -> None:
    """Stop if `arn`, which the argument `option` gives, is not that of an alias.

    Raises:
        ClientError: it is something else, or of a function: what is not published has nothing that is sent there.
    """
    if not isinstance(arn, str) or not arn or _UNQUALIFIED.fullmatch(arn):
        raise ClientError(
            f"{option}: expected arn:PARTITION:lambda:REGION:ACCOUNT:function:FUNCTION:ALIAS, got {arn!r}"
        )


def check_queues(activities: object) -> None:
    """Stop if `activities` are not URLs of queues by name; None for none.

    Raises:
        ClientError: they are something else, as the text is that the stack's output ``Activities`` has.
    """
    if activities is None:
        return
    if not isinstance(activities, Mapping):
        raise ClientError(f"activities: expected the URLs of queues by name, got {activities!r}; read JSON before")
    for name, url in activities.items():
        if not isinstance(name, str) or not isinstance(url, str) or "://" not in url:
            raise ClientError(f"activities[{name!r}]: expected the URL of a queue, got {url!r}")
