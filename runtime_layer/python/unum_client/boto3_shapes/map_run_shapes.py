"""Map runs in boto3's shapes."""

from datetime import datetime
from typing import NotRequired, TypedDict

from unum_client.boto3_shapes.arns import Arns
from unum_client.reading.map_runs import Counts, MapRun


class MapRunCounts(TypedDict):
    """Numbers of items or branches by status; `timedOut` is 0, as branches have no own time limit."""

    pending: int
    running: int
    succeeded: int
    failed: int
    timedOut: int
    aborted: int
    total: int
    resultsWritten: int


class MapRunListItem(TypedDict):
    """Map run in the result of ``list_map_runs``."""

    executionArn: str
    mapRunArn: str
    stateMachineArn: str
    startDate: datetime
    stopDate: NotRequired[datetime]


class ListMapRunsOutput(TypedDict):
    """Result of ``list_map_runs``; has `nextToken` if another page follows."""

    mapRuns: list[MapRunListItem]
    nextToken: NotRequired[str]


class DescribeMapRunOutput(TypedDict):
    """Result of ``describe_map_run``."""

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


def map_run_item(run: MapRun, execution: str, arns: Arns) -> MapRunListItem:
    """Return the list item of `run`, of the execution called `execution`."""
    item: MapRunListItem = {
        "executionArn": arns.execution(execution),
        "mapRunArn": arns.map_run(execution, run.state, run.id),
        "stateMachineArn": arns.state_machine,
        "startDate": run.started_at,
    }
    return item if run.stopped_at is None else {**item, "stopDate": run.stopped_at}


def map_run_description(run: MapRun, execution: str, arns: Arns) -> DescribeMapRunOutput:
    """Return the description of `run`, of the execution called `execution`."""
    description: DescribeMapRunOutput = {
        "mapRunArn": arns.map_run(execution, run.state, run.id),
        "executionArn": arns.execution(execution),
        "status": str(run.status),
        "startDate": run.started_at,
        "maxConcurrency": run.max_concurrency,
        "toleratedFailurePercentage": run.tolerance.percentage,
        "toleratedFailureCount": run.tolerance.count,
        "itemCounts": _counts(run.items, run.results_written),
        # Branches count as child executions, which AWS has instead.
        "executionCounts": _counts(run.branches, run.branches.succeeded if run.results_written else 0),
    }
    return description if run.stopped_at is None else {**description, "stopDate": run.stopped_at}


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
