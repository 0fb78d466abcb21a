# ruff: noqa: N803, A002
# Arguments are called as boto3 calls them.
"""The client in the shape of ``boto3.client("stepfunctions")``, as far as executions go.

Methods, arguments, results and errors have the names that boto3 has. What differs is in ``docs/client.md``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Never

from unum_runtime.client.boto3_shapes.arns import Arns, ResourceNotFound, activity_name, home_of
from unum_runtime.client.boto3_shapes.exceptions import Exceptions
from unum_runtime.client.boto3_shapes.execution_shapes import (
    DescribeExecutionOutput,
    ExecutionListItem,
    GetExecutionHistoryOutput,
    ListExecutionsOutput,
    RedriveExecutionOutput,
    StartExecutionOutput,
    StopExecutionOutput,
)
from unum_runtime.client.boto3_shapes.map_run_shapes import DescribeMapRunOutput, ListMapRunsOutput, described, listed
from unum_runtime.client.boto3_shapes.unsupported import UNSUPPORTED
from unum_runtime.client.client import Client
from unum_runtime.client.descriptions import Description
from unum_runtime.client.events.history_events import events
from unum_runtime.client.events.journal import HistoryEvent, without_data
from unum_runtime.client.reading import stored_steps
from unum_runtime.client.reading.execution_list import ListedExecution, checked_status
from unum_runtime.client.reading.map_runs import MapRun
from unum_runtime.client.reading.page_tokens import Page
from unum_runtime.client.task_responses import ActivityTask
from unum_runtime.errors import ClientError, InvalidExecutionInput
from unum_runtime.model.checkpoint import Status, to_text
from unum_runtime.model.ir import Home, Json, Workflow

if TYPE_CHECKING:
    from typing import Unpack

    from unum_runtime.client.address import Address


PAGED = ("get_execution_history", "list_executions", "list_map_runs")
"""Operations whose results come in pages."""

_INCLUDED = ("ALL_DATA", "METADATA_ONLY")


class StepFunctionsClient:
    """A client of one deployed workflow in the shape of ``boto3.client("stepfunctions")``.

    Args:
        client: what everything is asked of.
        definition: the version of the workflow whose executions' histories are asked for; None for none.
        home: where the workflow runs, for ARNs; without, where its start alias is.
    """

    exceptions = Exceptions

    def __init__(self, client: Client, *, definition: Workflow | None = None, home: Home | None = None) -> None:
        self._client = client
        here = home or home_of(client.start_alias)
        self._arns = Arns(client.workflow, here)
        self._definition = definition and replace(definition, home=here or definition.home)

    @classmethod
    def connect(cls, *, definition: Workflow | None = None, **address: "Unpack[Address]") -> "StepFunctionsClient":
        """A client of a workflow on AWS; needs boto3 (``pip install 'unum-runtime[client]'``).

        Args:
            definition: the version of the workflow whose executions' histories are asked for.
            address: where the workflow is, as for `Client.connect`.
        """
        return cls(Client.connect(**address), definition=definition)

    if not TYPE_CHECKING:  # type checkers know by themselves what is not there

        def __getattr__(self, name: str) -> Never:
            """Say what to do in place of an operation that boto3 has and this client has not."""
            reason = UNSUPPORTED.get(name, "boto3 has no such operation either")
            raise AttributeError(f"{name}: {reason}", name=name, obj=self)

    def start_execution(
        self, *, stateMachineArn: str | None = None, name: str | None = None, input: str = "{}"
    ) -> StartExecutionOutput:
        """Start an execution, or find the one that the same name and input started before.

        Args:
            stateMachineArn: of the workflow, or its name; it may be left out.
            name: unique in the workflow; made up where there is none.
            input: JSON text.

        Raises:
            StateMachineDoesNotExist: the ARN is of another state machine.
            InvalidArn: it is none.
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON text or too large.
            ExecutionAlreadyExists: the name was started with another input.
        """
        self._arns.check_state_machine(stateMachineArn)
        started = self._client.start(_parsed(input), name=name)
        return {"executionArn": self._arns.execution(started.name), "startDate": started.started_at}

    def start_sync_execution(
        self,
        *,
        stateMachineArn: str | None = None,
        name: str | None = None,
        input: str = "{}",
        timeout_s: float | None = None,
    ) -> DescribeExecutionOutput:
        """Start an execution and wait for its end.

        Args:
            stateMachineArn: of the workflow, or its name; it may be left out.
            name: unique in the workflow; made up where there is none.
            input: JSON text.
            timeout_s: how long to wait, in seconds; None waits for ever.

        Raises:
            StateMachineDoesNotExist: the ARN is of another state machine.
            InvalidArn: it is none.
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON text or too large.
            ExecutionAlreadyExists: the name was started with another input.
            WaitTimedOut: it was still running after `timeout_s`.
        """
        self._arns.check_state_machine(stateMachineArn)
        return self._described(self._client.run(_parsed(input), name=name, timeout_s=timeout_s))

    def describe_execution(self, *, executionArn: str, includedData: str = "ALL_DATA") -> DescribeExecutionOutput:
        """The execution as it is now.

        Args:
            executionArn: its ARN or its name.
            includedData: ``METADATA_ONLY`` leaves input and output out.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            InvalidArn: `executionArn` is neither.
            ClientError: `includedData` is something else.
        """
        if includedData not in _INCLUDED:
            raise ClientError(f"includedData: expected one of {[*_INCLUDED]}, got {includedData!r}")
        described = self._now(self._arns.name_of(executionArn))
        return described if includedData == _INCLUDED[0] else _without_data(described)

    def _now(self, name: str) -> DescribeExecutionOutput:
        described, redriven_at = self._described(self._client.describe(name)), self._client.redriven_at(name)
        described["redriveCount"] = len(redriven_at)
        return described | {"redriveDate": redriven_at[-1]} if redriven_at else described

    def stop_execution(
        self, *, executionArn: str, error: str | None = None, cause: str | None = None
    ) -> StopExecutionOutput:
        """Stop an execution.

        Args:
            executionArn: its ARN or its name.
            error: name of the error that it is to come to.
            cause: text for humans.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            InvalidArn: `executionArn` is neither an ARN nor a name.
        """
        return {"stopDate": self._client.stop(self._arns.name_of(executionArn), error, cause)}

    def redrive_execution(self, *, executionArn: str) -> RedriveExecutionOutput:
        """Let an execution that failed go on from what has succeeded.

        Args:
            executionArn: its ARN or its name.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            ExecutionNotRedrivable: it did not fail, its time is over, or nothing of it could run again.
            InvalidArn: `executionArn` is neither an ARN nor a name.
        """
        return {"redriveDate": self._client.redrive(self._arns.name_of(executionArn))}

    def list_executions(
        self,
        *,
        stateMachineArn: str | None = None,
        statusFilter: str | None = None,
        maxResults: int = 0,
        nextToken: str | None = None,
    ) -> ListExecutionsOutput:
        """A page of the executions that there are, newest first.

        Args:
            stateMachineArn: of the workflow, or its name; it may be left out.
            statusFilter: of all that are shown; None for any.
            maxResults: how many the page may have, up to 1,000; 0 for 100. It may have fewer, though more pages follow.
            nextToken: of the page before; None for the first page.

        Raises:
            StateMachineDoesNotExist: the ARN is of another state machine.
            InvalidArn: it is none.
            InvalidToken: `nextToken` is of no page of this list.
            ClientError: there is no such status, or no page may have so many.
            NoIndex: the table has no index for lists; says how to get it.
        """
        self._arns.check_state_machine(stateMachineArn)
        status = checked_status(statusFilter, "statusFilter")
        page = self._client.list(status, limit=maxResults, token=nextToken)
        shown: ListExecutionsOutput = {"executions": [self._listed(each) for each in page.executions]}
        return shown if page.token is None else {**shown, "nextToken": page.token}

    def list_map_runs(
        self, *, executionArn: str, maxResults: int = 0, nextToken: str | None = None
    ) -> ListMapRunsOutput:
        """A page of the runs of an execution's Maps in distributed mode.

        Args:
            executionArn: its ARN or its name.
            maxResults: how many the page may have, up to 1,000; 0 for 100.
            nextToken: of the page before; None for the first page.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            InvalidToken: `nextToken` is of no page of this list.
            ClientError: the client has no definition, or one of another version.
        """
        name = self._arns.name_of(executionArn)
        page = Page.asked(maxResults, nextToken, of=f"mapRuns/{name}", reverse=False)
        runs, following = page.of(self._map_runs(name))
        shown: ListMapRunsOutput = {"mapRuns": [listed(run, name, self._arns) for run in runs]}
        return shown if following is None else {**shown, "nextToken": following}

    def describe_map_run(self, *, mapRunArn: str) -> DescribeMapRunOutput:
        """How far a run of a Map in distributed mode has come.

        Args:
            mapRunArn: its ARN.

        Raises:
            InvalidArn: it is no ARN of a map run.
            ResourceNotFound: the workflow has no such run.
            ExecutionDoesNotExist: it has no such execution.
            ClientError: the client has no definition, or one of another version.
        """
        name = self._arns.execution_of_map_run(mapRunArn)
        for run in self._map_runs(name):
            if self._arns.map_run(name, run.state, run.id) == mapRunArn:
                return described(run, name, self._arns)
        raise ResourceNotFound(f"mapRunArn: execution {name!r} has no map run {mapRunArn!r}")

    def get_execution_history(
        self,
        *,
        executionArn: str,
        maxResults: int = 0,
        reverseOrder: bool = False,
        nextToken: str | None = None,
        includeExecutionData: bool = True,
    ) -> GetExecutionHistoryOutput:
        """A page of what has happened in an execution.

        Args:
            executionArn: its ARN or its name.
            maxResults: how many events the page may have, up to 1,000; 0 for 100.
            reverseOrder: whether the latest events come first.
            nextToken: of the page before; None for the first page.
            includeExecutionData: whether events have inputs and outputs.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            InvalidToken: `nextToken` is of no page of this history in this order.
            ClientError: the client has no definition, or one of another version.
        """
        name = self._arns.name_of(executionArn)
        page = Page.asked(maxResults, nextToken, of=name, reverse=reverseOrder)
        told, following = page.of(self.events(executionArn=name))
        shown: GetExecutionHistoryOutput = {
            "events": told if includeExecutionData else [without_data(event) for event in told]
        }
        return shown if following is None else {**shown, "nextToken": following}

    def send_task_success(self, *, taskToken: str, output: str) -> dict[str, Never]:
        """Let the Task that gave out `taskToken` succeed; see `Tasks.send_task_success`."""
        self._client.send_task_success(taskToken, output)
        return {}

    def send_task_failure(
        self, *, taskToken: str, error: str | None = None, cause: str | None = None
    ) -> dict[str, Never]:
        """Let the Task that gave out `taskToken` fail; see `Tasks.send_task_failure`."""
        self._client.send_task_failure(taskToken, error, cause)
        return {}

    def send_task_heartbeat(self, *, taskToken: str) -> dict[str, Never]:
        """Tell the Task that gave out `taskToken` that it is worked on; see `Tasks.send_task_heartbeat`."""
        self._client.send_task_heartbeat(taskToken)
        return {}

    def get_activity_task(self, *, activityArn: str, workerName: str = "") -> ActivityTask:
        """A Task of an activity that nobody else has taken; see `Tasks.get_activity_task`.

        Args:
            activityArn: the activity's ARN, as the definition has it, or its name.
            workerName: who asks, for humans.

        Raises:
            InvalidArn: `activityArn` is neither.
            ActivityDoesNotExist: there is no such activity.
        """
        return self._client.get_activity_task(activity_name(activityArn), workerName)

    def events(self, *, executionArn: str) -> list[HistoryEvent]:
        """All that has happened in an execution; boto3 has nothing like it, where each page reads it all again.

        Args:
            executionArn: its ARN or its name.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            ClientError: the client has no definition, or one of another version.
        """
        definition = self._needed_definition("a history")
        store, workflow = self._client.store, self._client.workflow
        record = stored_steps.start_record(store, workflow, self._arns.name_of(executionArn))
        steps = stored_steps.steps(store, workflow, record.name.execution)
        return events(definition, [record, *steps], now_ms=self._client.clock.now_ms())

    def can_paginate(self, operation_name: str) -> bool:
        """Whether the results of an operation come in pages."""
        return operation_name in PAGED

    def get_paginator(self, operation_name: str) -> "Paginator":
        """What gives page after page of an operation.

        Raises:
            ClientError: the operation has no pages.
        """
        if not self.can_paginate(operation_name):
            raise ClientError(f"operation_name: expected one of {[*PAGED]}, got {operation_name!r}")
        return Paginator(getattr(self, operation_name))

    def _listed(self, execution: ListedExecution) -> ExecutionListItem:
        listed: ExecutionListItem = {
            "executionArn": self._arns.execution(execution.name),
            "stateMachineArn": self._arns.state_machine,
            "name": execution.name,
            "status": str(execution.status),
            "startDate": execution.started_at,
        }
        return listed if execution.stopped_at is None else {**listed, "stopDate": execution.stopped_at}

    def _map_runs(self, name: str) -> list[MapRun]:
        definition = self._needed_definition("a map run")
        return [run for run in self._client.map_runs(name, definition) if run.distributed]

    def _needed_definition(self, what: str) -> Workflow:
        if self._definition is None:
            raise ClientError(
                f"definition: expected the workflow's definition, got None; only with that {what} can be told"
            )
        return self._definition

    def _described(self, description: Description) -> DescribeExecutionOutput:
        described: DescribeExecutionOutput = {
            "executionArn": self._arns.execution(description.name),
            "stateMachineArn": self._arns.state_machine,
            "name": description.name,
            "status": str(description.status),
            "startDate": description.started_at,
            "input": to_text(description.input),
            "inputDetails": {"included": True},
        }
        if description.stopped_at is not None:
            described["stopDate"] = description.stopped_at
        if description.status is Status.SUCCEEDED:
            described |= {"output": to_text(description.output), "outputDetails": {"included": True}}
        if description.error is not None:
            described["error"] = description.error
        if description.cause is not None:
            described["cause"] = description.cause
        return described


@dataclass(frozen=True)
class Paginator:
    """Gives page after page of what an operation tells, as paginators of boto3 do.

    Attributes:
        operation: what is asked.
    """

    operation: Callable[..., Any]

    def paginate(self, *, PaginationConfig: Mapping[str, int] | None = None, **arguments: Any) -> Iterator[Any]:
        """The pages.

        Args:
            PaginationConfig: ``PageSize``, if pages are to have another size than 100.
            arguments: those of the operation.

        Raises:
            ClientError: there is something else in `PaginationConfig`.
        """
        given = dict(PaginationConfig or {})
        size = given.pop("PageSize", 0)
        if given:
            raise ClientError(
                f"PaginationConfig: expected PageSize alone, got {sorted(given)}; stop where you have enough"
            )
        page = self.operation(**{"maxResults": size, **arguments})
        yield page
        while "nextToken" in page:
            page = self.operation(**{"maxResults": size, **arguments, "nextToken": page["nextToken"]})
            yield page


def _without_data(described: DescribeExecutionOutput) -> DescribeExecutionOutput:
    described.pop("input", None)
    described["inputDetails"] = {"included": False}
    if described.pop("output", None) is not None:
        described["outputDetails"] = {"included": False}
    return described


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        shown = repr(text)[:80]
        raise InvalidExecutionInput(f"input: expected JSON text, got {shown}: {error}") from error
