"""Map runs in the shapes of boto3."""

from datetime import datetime
from typing import NotRequired, TypedDict

from unum_runtime.client.boto3_shapes.arns import Arns
from unum_runtime.client.reading.map_runs import Counts, MapRun


class MapRunCounts(TypedDict):
    """How many items, or branches, are how far; `timedOut` is 0, as branches have no time limit of their own."""

    pending: int
    running: int
    succeeded: int
    failed: int
    timedOut: int
    aborted: int
    total: int
    resultsWritten: int


class MapRunListItem(TypedDict):
    """What ``list_map_runs`` tells of each run."""

    executionArn: str
    mapRunArn: str
    stateMachineArn: str
    startDate: datetime
    stopDate: NotRequired[datetime]


class ListMapRunsOutput(TypedDict):
    """What ``list_map_runs`` returns; `nextToken` is there if more runs are."""

    mapRuns: list[MapRunListItem]
    nextToken: NotRequired[str]


class DescribeMapRunOutput(TypedDict):
    """What ``describe_map_run`` returns."""

    mapRunArn: str
    executionArn: str
    status: str
    startDate: datetime
    stopDate: NotRequired[datetime]
    maxConcurrency: int
    toleratedFailurePercentage: float
    toleratedFailureCount: int
    itemCounts: MapRunCounts
    executionCounts: MapRunCounts


def listed(run: MapRun, execution: str, arns: Arns) -> MapRunListItem:
    """`run`, one of the execution called `execution`, as in a list."""
    item: MapRunListItem = {
        "executionArn": arns.execution(execution),
        "mapRunArn": arns.map_run(execution, run.state, run.id),
        "stateMachineArn": arns.state_machine,
        "startDate": run.started_at,
    }
    return item if run.stopped_at is None else {**item, "stopDate": run.stopped_at}


def described(run: MapRun, execution: str, arns: Arns) -> DescribeMapRunOutput:
    """`run`, one of the execution called `execution`, with all that there is to say."""
    described: DescribeMapRunOutput = {
        "mapRunArn": arns.map_run(execution, run.state, run.id),
        "executionArn": arns.execution(execution),
        "status": str(run.status),
        "startDate": run.started_at,
        "maxConcurrency": run.max_concurrency,
        "toleratedFailurePercentage": run.tolerance.percentage,
        "toleratedFailureCount": run.tolerance.count,
        "itemCounts": _counts(run.items, run.results_written),
        "executionCounts": _counts(run.branches, run.branches.succeeded if run.results_written else 0),
    }
    return described if run.stopped_at is None else {**described, "stopDate": run.stopped_at}


def _counts(counts: Counts, results_written: int) -> MapRunCounts:
    return {
        "pending": counts.pending,
        "running": counts.running,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "timedOut": 0,
        "aborted": counts.aborted,
        "total": counts.total,
        "resultsWritten": results_written,
    }
