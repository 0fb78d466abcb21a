"""Where a workflow on AWS is: what `Client.connect` wants to know."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

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
