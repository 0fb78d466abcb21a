# ruff: noqa: N803, A002
# Arguments are called as boto3 calls them.
"""The client in the shape of ``boto3.client("stepfunctions")``, as far as starting and reading go.

Methods, arguments, results and errors have the names that boto3 has. What differs is in ``docs/client.md``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from unum_runtime.client import history
from unum_runtime.client.arns import Arns, InvalidArn, StateMachineDoesNotExist, home_of
from unum_runtime.client.client import Client
from unum_runtime.client.events import events
from unum_runtime.client.journal import HistoryEvent, without_data
from unum_runtime.client.pages import Page
from unum_runtime.client.records import Description
from unum_runtime.errors import (
    ClientError,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
    InvalidName,
    InvalidToken,
    TaskTimedOut,
)
from unum_runtime.model.checkpoint import Status, to_text
from unum_runtime.model.ir import Home, Json, Workflow

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Unpack

    from unum_runtime.client.address import Address


class StartExecutionOutput(TypedDict):
    """What `StepFunctionsClient.start_execution` returns."""

    executionArn: str
    startDate: "datetime"


class DescribeExecutionOutput(TypedDict):
    """What `StepFunctionsClient.describe_execution` returns; data are JSON text."""

    executionArn: str
    stateMachineArn: str
    name: str
    status: str
    startDate: "datetime"
    stopDate: "NotRequired[datetime]"
    input: NotRequired[str]
    inputDetails: NotRequired[dict[str, bool]]
    output: NotRequired[str]
    outputDetails: NotRequired[dict[str, bool]]
    error: NotRequired[str]
    cause: NotRequired[str]


class GetExecutionHistoryOutput(TypedDict):
    """What `StepFunctionsClient.get_execution_history` returns; `nextToken` is there if more events are."""

    events: list[HistoryEvent]
    nextToken: NotRequired[str]


class Exceptions:
    """The errors, under the names that ``client.exceptions`` of boto3 has."""

    ClientError = ClientError
    ExecutionAlreadyExists = ExecutionAlreadyExists
    ExecutionDoesNotExist = ExecutionDoesNotExist
    InvalidArn = InvalidArn
    InvalidExecutionInput = InvalidExecutionInput
    InvalidName = InvalidName
    InvalidToken = InvalidToken
    StateMachineDoesNotExist = StateMachineDoesNotExist
    TaskTimedOut = TaskTimedOut


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

    def describe_execution(self, *, executionArn: str) -> DescribeExecutionOutput:
        """The execution as it is now.

        Args:
            executionArn: its ARN or its name.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            InvalidArn: `executionArn` is neither.
        """
        return self._described(self._client.describe(self._arns.name_of(executionArn)))

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

    def events(self, *, executionArn: str) -> list[HistoryEvent]:
        """All that has happened in an execution; boto3 has nothing like it, where each page reads it all again.

        Args:
            executionArn: its ARN or its name.

        Raises:
            ExecutionDoesNotExist: there is none of that name in the workflow.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            ClientError: the client has no definition, or one of another version.
        """
        if self._definition is None:
            raise ClientError(
                "definition: expected the workflow's definition, got None; only with that a history can be told"
            )
        store, workflow = self._client.store, self._client.workflow
        record = history.start_record(store, workflow, self._arns.name_of(executionArn))
        steps = history.steps(store, workflow, record.name.execution)
        return events(self._definition, [record, *steps], now_ms=self._client.clock.now_ms())

    def get_paginator(self, operation_name: str) -> "Paginator":
        """What gives page after page of ``get_execution_history``.

        Raises:
            ClientError: the operation has no pages.
        """
        if operation_name != "get_execution_history":
            raise ClientError(f"operation_name: expected 'get_execution_history', got {operation_name!r}")
        return Paginator(self)

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
    """Gives page after page of an execution's history, as paginators of boto3 do.

    Attributes:
        client: what is asked.
    """

    client: StepFunctionsClient

    def paginate(
        self, *, PaginationConfig: Mapping[str, int] | None = None, **arguments: Any
    ) -> Iterator[GetExecutionHistoryOutput]:
        """The pages.

        Args:
            PaginationConfig: ``PageSize``, if pages are to have another size than 100 events.
            arguments: those of `StepFunctionsClient.get_execution_history`.
        """
        size = (PaginationConfig or {}).get("PageSize", 0)
        page = self.client.get_execution_history(**{"maxResults": size, **arguments})
        yield page
        while "nextToken" in page:
            page = self.client.get_execution_history(
                **{"maxResults": size, **arguments, "nextToken": page["nextToken"]}
            )
            yield page


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise InvalidExecutionInput(f"input: expected JSON text, got {text!r:.80}: {error}") from error
