"""Executions and Map runs in boto3's shapes."""

from datetime import datetime
from typing import NotRequired, TypedDict

from unum_client.boto3_shapes.arns import Arns
from unum_client.descriptions import Description
from unum_client.events.journal import HistoryEvent
from unum_client.reading.child_executions import ChildExecution
from unum_client.reading.execution_list import ListedExecution
from unum_client.reading.map_runs import Counts, MapRun
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Status


class StartExecutionOutput(TypedDict):
    """Result of `StepFunctionsClient.start_execution`."""

    executionArn: str
    startDate: "datetime"


class ExecutionListItem(TypedDict):
    """Execution in the result of `StepFunctionsClient.list_executions`."""

    executionArn: str
    stateMachineArn: str
    name: str
    status: str
    startDate: "datetime"
    stopDate: "NotRequired[datetime]"
    mapRunArn: NotRequired[str]


class DescribeExecutionOutput(ExecutionListItem):
    """Result of `StepFunctionsClient.describe_execution`; data as JSON text."""

    input: NotRequired[str]
    inputDetails: NotRequired[dict[str, bool]]
    output: NotRequired[str]
    outputDetails: NotRequired[dict[str, bool]]
    error: NotRequired[str]
    cause: NotRequired[str]
    redriveCount: NotRequired[int]
    redriveDate: "NotRequired[datetime]"


class StopExecutionOutput(TypedDict):
    """Result of `StepFunctionsClient.stop_execution`."""

    stopDate: "datetime"


class RedriveExecutionOutput(TypedDict):
    """Result of `StepFunctionsClient.redrive_execution`."""

    redriveDate: "datetime"


class ListExecutionsOutput(TypedDict):
    """Result of `StepFunctionsClient.list_executions`; has `nextToken` if another page follows."""

    executions: list[ExecutionListItem]
    nextToken: NotRequired[str]


class GetExecutionHistoryOutput(TypedDict):
    """Result of `StepFunctionsClient.get_execution_history`; has `nextToken` if another page follows."""

    events: list[HistoryEvent]
    nextToken: NotRequired[str]


def execution_item(execution: ListedExecution, arns: Arns) -> ExecutionListItem:
    """Return `execution` in the shape of `list_executions`."""
    item: ExecutionListItem = {
        "executionArn": arns.execution(execution.name),
        "stateMachineArn": arns.state_machine,
        "name": execution.name,
        "status": str(execution.status),
        "startDate": execution.started_at,
    }
    return item if execution.stopped_at is None else {**item, "stopDate": execution.stopped_at}


def child_item(child: ChildExecution, map_run: str, arns: Arns) -> ExecutionListItem:
    """Return `child` of the Map Run with the ARN `map_run` in the shape of `list_executions`."""
    item: ExecutionListItem = {
        "executionArn": arns.child_execution(child.label, child.name),
        "stateMachineArn": arns.state_machine,
        "name": child.name,
        "status": str(child.status),
        "startDate": child.started_at,
        "mapRunArn": map_run,
    }
    return item if child.stopped_at is None else {**item, "stopDate": child.stopped_at}


def child_description(
    child: ChildExecution, map_run: str, arns: Arns, *, with_data: bool = True
) -> DescribeExecutionOutput:
    """Return `child` of the Map Run with the ARN `map_run` in the shape of `describe_execution`."""
    description = execution_description(child, arns, with_data=with_data)
    return {**description, **child_item(child, map_run, arns), "redriveCount": 0}


def execution_description(
    execution: Description | ChildExecution, arns: Arns, *, with_data: bool = True
) -> DescribeExecutionOutput:
    """Return `execution` in the shape of `describe_execution`, optionally without data."""
    description: DescribeExecutionOutput = {
        "executionArn": arns.execution(execution.name),
        "stateMachineArn": arns.state_machine,
        "name": execution.name,
        "status": str(execution.status),
        "startDate": execution.started_at,
        "inputDetails": {"included": with_data},
    }
    if execution.stopped_at is not None:
        description["stopDate"] = execution.stopped_at
    if execution.status is Status.SUCCEEDED:
        description["outputDetails"] = {"included": with_data}
    if execution.error is not None:  # absent, not null, as in boto3: callers test with ``in``
        description["error"] = execution.error
    if execution.cause is not None:
        description["cause"] = execution.cause
    if with_data:
        description["input"] = to_text(execution.input)
        if execution.status is Status.SUCCEEDED:
            description["output"] = to_text(execution.output)
    return description


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
