"""Executions in the shapes of boto3."""

from typing import TYPE_CHECKING, NotRequired, TypedDict

from unum_runtime.client.events.journal import HistoryEvent

if TYPE_CHECKING:
    from datetime import datetime


class StartExecutionOutput(TypedDict):
    """What `StepFunctionsClient.start_execution` returns."""

    executionArn: str
    startDate: "datetime"


class ExecutionListItem(TypedDict):
    """What `StepFunctionsClient.list_executions` tells of each execution."""

    executionArn: str
    stateMachineArn: str
    name: str
    status: str
    startDate: "datetime"
    stopDate: "NotRequired[datetime]"


class DescribeExecutionOutput(ExecutionListItem):
    """What `StepFunctionsClient.describe_execution` returns; data are JSON text."""

    input: NotRequired[str]
    inputDetails: NotRequired[dict[str, bool]]
    output: NotRequired[str]
    outputDetails: NotRequired[dict[str, bool]]
    error: NotRequired[str]
    cause: NotRequired[str]
    redriveCount: NotRequired[int]
    redriveDate: "NotRequired[datetime]"


class StopExecutionOutput(TypedDict):
    """What `StepFunctionsClient.stop_execution` returns."""

    stopDate: "datetime"


class RedriveExecutionOutput(TypedDict):
    """What `StepFunctionsClient.redrive_execution` returns."""

    redriveDate: "datetime"


class ListExecutionsOutput(TypedDict):
    """What `StepFunctionsClient.list_executions` returns; `nextToken` is there if more executions are."""

    executions: list[ExecutionListItem]
    nextToken: NotRequired[str]


class GetExecutionHistoryOutput(TypedDict):
    """What `StepFunctionsClient.get_execution_history` returns; `nextToken` is there if more events are."""

    events: list[HistoryEvent]
    nextToken: NotRequired[str]
