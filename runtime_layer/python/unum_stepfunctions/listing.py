"""Pages of a workflow's executions, newest first, read from the index of its table.

The same as `unum_client.reading.execution_list`, which needs the runtime; a test compares both.
"""

import base64
import binascii
import hashlib
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any, NamedTuple

from unum_stepfunctions.addresses import Workflow

INDEX, SHARDS, LAST = "executions", 4, "~"
"""Index of executions, its partitions for each workflow, and a bound after every place; a stored format."""

STATUSES = ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
DEFAULT_PAGE, LARGEST_PAGE, READERS = 100, 1_000, 16

_ENDLESS = 1 << 62

_PLACE = re.compile(r"\d{13}/[A-Za-z0-9_-]{1,80}")


class Listed(NamedTuple):
    """An execution in a page."""

    name: str
    status: str
    started_ms: int
    stopped_ms: "int | None"


def list_page(table: Any, workflow: Workflow, status: Any, size: Any, token: Any) -> "tuple[list[Listed], str | None]":
    """Return a page, and the token of the next one.

    Args:
        table: boto3's client of DynamoDB.
        workflow: the workflow, with its table.
        status: required status; None for any. A page looks at 1,000 executions at most.
        size: most executions; None for 100.
        token: token of the page before.

    Raises:
        ValueError: an argument is wrong; the text begins with the code of boto3's error.
    """
    if status not in (None, *STATUSES):
        raise ValueError(f"ValidationException: statusFilter: expected one of {[*STATUSES]}, got {status!r}")
    if (type(size) is not int and size is not None) or not 0 <= (size or 0) <= LARGEST_PAGE:
        raise ValueError(f"ValidationException: maxResults: expected 0 to {LARGEST_PAGE}, got {size!r}")
    if workflow.table.startswith("s3://"):
        raise NotImplementedError(
            f"list_executions: workflow {workflow.name!r} has its state in a bucket: use `unum_client.Client.list`"
        )
    limit = size or DEFAULT_PAGE
    newest = LAST if token is None else _place(token, workflow, status)
    looked_at = limit if status is None else LARGEST_PAGE
    shards = (_places(table, workflow, shard, newest, looked_at // 2 + 1) for shard in range(SHARDS))
    places = [*islice(merge(*shards, reverse=True), looked_at + 1)]
    shown: list[Listed] = []
    seen = 0
    with ThreadPoolExecutor(READERS) as readers:
        for first in range(0, len(places[:looked_at]), max(limit, READERS)):
            portion = places[:looked_at][first : first + max(limit, READERS)]
            for each in readers.map(partial(_listed, table, workflow), portion):
                if len(shown) == limit:
                    break
                seen += 1
                shown += [each] if status in (None, each.status) else []
            if len(shown) == limit:
                break
    following = places[seen:]
    return shown, _token(workflow, status, following[0]) if following else None


def _places(table: Any, workflow: Workflow, shard: int, newest: str, size: int) -> Iterator[str]:
    """Yield the places of starts in one shard, newest first."""
    query: dict[str, Any] = {
        "TableName": workflow.table,
        "IndexName": INDEX,
        "KeyConditionExpression": "#list = :list AND #place <= :newest",
        "ExpressionAttributeNames": {"#list": "list", "#place": "list_at"},
        "ExpressionAttributeValues": {":list": {"S": f"{workflow.name}/STARTED~{shard}"}, ":newest": {"S": newest}},
        "ScanIndexForward": False,
        "Limit": size,
    }
    while True:
        page = table.query(**query)
        for item in page["Items"]:
            place = item["list_at"].get("S", "")
            # Workflows may share a table: an entry counts at the key that its own place gives.
            name = place.partition("/")[2]
            key = item["pk"]["S"], item["sk"]["S"]
            is_own = key == (f"start:{workflow.name}/{name}", "start") and _shard(name) == shard
            if is_own and _PLACE.fullmatch(place) and _is_live(item):
                yield place
        if "LastEvaluatedKey" not in page:
            return
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _listed(table: Any, workflow: Workflow, place: str) -> Listed:
    """Return the execution at `place`, with the end that its last step says."""
    started_ms, _, name = place.partition("/")
    found = table.query(
        TableName=workflow.table,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": f"{workflow.name}/{name}:{int(started_ms):x}"}},
        ConsistentRead=True,
        ScanIndexForward=False,
        Limit=1,
    )["Items"]
    if not found or "status" not in found[0] or not _is_live(found[0]):
        return Listed(name, "RUNNING", int(started_ms), None)
    return Listed(name, found[0]["status"]["S"], int(started_ms), int(found[0]["at"]["N"]))


def _is_live(item: Any) -> bool:
    """Return True unless `item` has expired: DynamoDB deletes it up to a few days later."""
    return int(item.get("ttl", {}).get("N", _ENDLESS)) > time.time()


def _shard(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:2], 16) % SHARDS


def _token(workflow: Workflow, status: Any, place: str) -> str:
    return base64.urlsafe_b64encode(f"{workflow.name} {status} {place}".encode()).decode()


def _place(token: Any, workflow: Workflow, status: Any) -> str:
    try:
        name, of, place = base64.urlsafe_b64decode(token).decode().split(" ")
    except (TypeError, ValueError, binascii.Error):
        name, of, place = "", "", ""
    if (name, of) != (workflow.name, str(status)) or not _PLACE.fullmatch(place):
        raise ValueError(f"InvalidToken: Invalid Token: nextToken of another list: {token!r}")
    return place
