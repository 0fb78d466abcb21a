"""Client in the shape of ``boto3.client("stepfunctions")``, for executions.

Methods, arguments, results and errors have boto3's names. ``docs/client.md`` lists the differences.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Never

from unum_client.boto3_shapes.arns import (
    Arns,
    InvalidArn,
    ResourceNotFound,
    StateMachineDoesNotExist,
    activity_name,
    home_of,
)
from unum_client.boto3_shapes.execution_shapes import (
    DescribeExecutionOutput,
    DescribeMapRunOutput,
    GetExecutionHistoryOutput,
    ListExecutionsOutput,
    ListMapRunsOutput,
    RedriveExecutionOutput,
    StartExecutionOutput,
    StopExecutionOutput,
    child_description,
    child_item,
    execution_description,
    execution_item,
    map_run_description,
    map_run_item,
)
from unum_client.client import Client
from unum_client.events.history_events import child_events, events
from unum_client.events.journal import HistoryEvent, without_data
from unum_client.reading.child_executions import ChildExecution, find_child
from unum_client.reading.execution_list import checked_status
from unum_client.reading.map_runs import MapRun
from unum_client.reading.page_tokens import Page
from unum_client.task_responses import ActivityTask
from unum_runtime import errors
from unum_runtime.errors import ClientError, InvalidExecutionInput, NoIndex
from unum_runtime.json_text import parse_foreign
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.ir import Home, Workflow
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.operator_requests import ValidationException

if TYPE_CHECKING:
    from typing import Unpack

    from unum_client.address import Address


# ruff: noqa: N803, A002
# The names of arguments are boto3's.


PAGED = ("get_execution_history", "list_executions", "list_map_runs")
"""Operations with pages."""

_INCLUDED = ("ALL_DATA", "METADATA_ONLY")


class NeverRaised(errors.ClientError):
    """Error that only Step Functions raises; defined for existing ``except`` clauses."""


class Exceptions:
    """Equivalent of boto3's ``client.exceptions``."""

    ClientError = errors.ClientError
    ActivityDoesNotExist = errors.ActivityDoesNotExist
    ExecutionAlreadyExists = errors.ExecutionAlreadyExists
    ExecutionDoesNotExist = errors.ExecutionDoesNotExist
    ExecutionNotRedrivable = errors.ExecutionNotRedrivable
    InvalidArn = InvalidArn
    InvalidExecutionInput = errors.InvalidExecutionInput
    InvalidName = errors.InvalidName
    InvalidOutput = errors.InvalidOutput
    InvalidToken = errors.InvalidToken
    ResourceNotFound = ResourceNotFound
    StateMachineDoesNotExist = StateMachineDoesNotExist
    TaskTimedOut = errors.TaskTimedOut
    ValidationException = ValidationException

    ActivityAlreadyExists = ActivityLimitExceeded = ActivityWorkerLimitExceeded = ConflictException = NeverRaised
    ExecutionLimitExceeded = InvalidDefinition = InvalidEncryptionConfiguration = InvalidLoggingConfiguration = (
        NeverRaised
    )
    InvalidTracingConfiguration = KmsAccessDeniedException = KmsInvalidStateException = NeverRaised
    KmsThrottlingException = MissingRequiredParameter = ServiceQuotaExceededException = NeverRaised
    StateMachineAlreadyExists = StateMachineDeleting = StateMachineLimitExceeded = NeverRaised
    StateMachineTypeNotSupported = TaskDoesNotExist = TooManyTags = NeverRaised


_DEPLOYED = "a workflow belongs to a stack; change it with the CDK and deploy"
_ACTIVITY = "the definition contains the activities; deploy it with the CDK"
_VERSIONS = "the start alias points to the version of the last deployment; use versions of the stack and its functions"
_DEFINITION = "the client does not have the definition; its text is in the CDK app, its compiled form in the layer"
_LISTED = "this is a client of one workflow; list stacks, whose outputs have their workflows and activities"
_TAGS = "tags belong to the workflow's resources; use the CDK's Tags, or the Resource Groups Tagging API"
_BUILT = "definitions are checked when they are compiled"

UNSUPPORTED: Mapping[str, str] = {
    "create_activity": _ACTIVITY,
    "create_state_machine": _DEPLOYED,
    "create_state_machine_alias": _VERSIONS,
    "delete_activity": _ACTIVITY,
    "delete_state_machine": _DEPLOYED,
    "delete_state_machine_alias": _VERSIONS,
    "delete_state_machine_version": _VERSIONS,
    "describe_activity": _ACTIVITY,
    "describe_state_machine": _DEFINITION,
    "describe_state_machine_alias": _VERSIONS,
    "describe_state_machine_for_execution": _DEFINITION,
    "list_activities": _LISTED,
    "list_state_machine_aliases": _VERSIONS,
    "list_state_machine_versions": _VERSIONS,
    "list_state_machines": _LISTED,
    "list_tags_for_resource": _TAGS,
    "publish_state_machine_version": _VERSIONS,
    "tag_resource": _TAGS,
    "test_state": f"{_BUILT}; use the command `unum test-state`",
    "untag_resource": _TAGS,
    "update_map_run": "a Map's concurrency is fixed when it starts; stop the execution, or let it end",
    "update_state_machine": _DEPLOYED,
    "update_state_machine_alias": _VERSIONS,
    "validate_state_machine_definition": f"{_BUILT}; use the command `unum validate`",
    "generate_presigned_url": "Step Functions does not know the workflow; start it through an event source",
    "get_waiter": "boto3 has none either; use `Client.wait` to wait for the end of an execution",
    "meta": "the client uses no Step Functions endpoint; region and credentials are those of `connect`'s session",
}
"""Alternatives by operation name."""


class StepFunctionsClient:
    """Client of one deployed workflow in the shape of ``boto3.client("stepfunctions")``.

    Args:
        client: underlying client.
        definition: definition of the version on which executions run, for histories and map runs; default: what the
            workflow's store has of each execution's version.
        home: location of the workflow, for ARNs; default: that of the start alias.
    """

    exceptions = Exceptions

    def __init__(self, client: Client, *, definition: Workflow | None = None, home: Home | None = None) -> None:
        self._client = client
        here = home or home_of(client.start_alias)
        self._arns = Arns(client.workflow, here)
        self._home, self._definition = here, definition

    @classmethod
    def connect(cls, *, definition: Workflow | None = None, **address: "Unpack[Address]") -> "StepFunctionsClient":
        """Connect to a workflow on AWS.

        Args:
            definition: definition of the version on which executions run, for histories and map runs; default: from
                the workflow's store.
            address: address of the workflow, as for `Client.connect`.
        """
        return cls(Client.connect(**address), definition=definition)

    if not TYPE_CHECKING:  # type checkers report missing attributes themselves

        def __getattr__(self, name: str) -> Never:
            """Raise AttributeError with an alternative to an unsupported boto3 operation."""
            reason = UNSUPPORTED.get(name, "boto3 has no such operation either")
            raise AttributeError(f"{name}: {reason}", name=name, obj=self)

    def start_execution(
        self, *, stateMachineArn: str | None = None, name: str | None = None, input: str = "{}"
    ) -> StartExecutionOutput:
        """Start an execution, or find the earlier one with the same name and input.

        Args:
            stateMachineArn: ARN or name of the workflow; optional.
            name: name, unique in the workflow; default: a random one.
            input: JSON text.

        Raises:
            StateMachineDoesNotExist: the ARN belongs to another state machine.
            InvalidArn: neither an ARN nor a name.
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON text, or too large.
            ExecutionAlreadyExists: the name was started with another input.
        """
        self._arns.check_state_machine(stateMachineArn)
        started = self._client.start(_parse(input), name=name)
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
            stateMachineArn: ARN or name of the workflow; optional.
            name: name, unique in the workflow; default: a random one.
            input: JSON text.
            timeout_s: limit of the wait, in seconds; None for no limit.

        Raises:
            StateMachineDoesNotExist: the ARN belongs to another state machine.
            InvalidArn: neither an ARN nor a name.
            InvalidName: `name` is not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: `input` is not JSON text, or too large.
            ExecutionAlreadyExists: the name was started with another input.
            WaitTimedOut: the execution was still running after `timeout_s`.
        """
        self._arns.check_state_machine(stateMachineArn)
        return execution_description(self._client.run(_parse(input), name=name, timeout_s=timeout_s), self._arns)

    def describe_execution(self, *, executionArn: str, includedData: str = "ALL_DATA") -> DescribeExecutionOutput:
        """Return the current description of an execution.

        Args:
            executionArn: ARN or name.
            includedData: ``METADATA_ONLY`` omits input and output.

        Raises:
            ExecutionDoesNotExist: the workflow has no execution of that name.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            ClientError: unknown value of `includedData`.
        """
        if includedData not in _INCLUDED:
            raise ClientError(f"includedData: expected one of {[*_INCLUDED]}, got {includedData!r}")
        with_data = includedData == _INCLUDED[0]
        if (name := self._arns.child_of(executionArn)) is not None:
            parent, child = self.find_child(name)
            map_run = self._arns.map_run(parent, child.state, child.map_run)
            return child_description(child, map_run, self._arns, with_data=with_data)
        name = self._arns.name_of(executionArn)
        description = execution_description(self._client.describe(name), self._arns, with_data=with_data)
        redriven_at = self._client.redriven_at(name)
        description["redriveCount"] = len(redriven_at)
        return description | {"redriveDate": redriven_at[-1]} if redriven_at else description

    def stop_execution(
        self, *, executionArn: str, error: str | None = None, cause: str | None = None
    ) -> StopExecutionOutput:
        """Stop an execution.

        Args:
            executionArn: ARN or name.
            error: error name of the stopped execution.
            cause: text for humans.

        Raises:
            ExecutionDoesNotExist: the workflow has no execution of that name.
            InvalidArn: `executionArn` is neither an ARN nor a name.
        """
        return {"stopDate": self._client.stop(self._arns.name_of(executionArn), error, cause)}

    def redrive_execution(self, *, executionArn: str) -> RedriveExecutionOutput:
        """Resume a failed execution from its successful steps.

        Args:
            executionArn: ARN or name.

        Raises:
            ExecutionDoesNotExist: the workflow has no execution of that name.
            ExecutionNotRedrivable: it did not fail, TimeoutSeconds or retention has passed, or no step can run again.
            InvalidArn: `executionArn` is neither an ARN nor a name.
        """
        return {"redriveDate": self._client.redrive(self._arns.name_of(executionArn))}

    def list_executions(
        self,
        *,
        stateMachineArn: str | None = None,
        mapRunArn: str | None = None,
        statusFilter: str | None = None,
        maxResults: int = 0,
        nextToken: str | None = None,
    ) -> ListExecutionsOutput:
        """Return a page of executions, newest first, or of a Map Run's child executions, in the order of items.

        Args:
            stateMachineArn: ARN or name of the workflow; optional.
            mapRunArn: ARN of a run of a distributed Map, without `stateMachineArn`.
            statusFilter: required status; None for any.
            maxResults: page size up to 1,000; 0 for 100. A page may have fewer executions although more pages follow.
            nextToken: token of the previous page; None for the first page.

        Raises:
            StateMachineDoesNotExist: the ARN belongs to another state machine.
            InvalidArn: neither an ARN nor a name.
            InvalidToken: `nextToken` belongs to another list.
            ClientError: unknown status, page size out of range, or both ARNs.
            ResourceNotFound: the workflow has no such Map Run.
            NoIndex: the table has no index for lists; the text says how to add it.
        """
        status = checked_status(statusFilter, "statusFilter")
        if mapRunArn is not None:
            if stateMachineArn is not None:
                raise ClientError("stateMachineArn, mapRunArn: expected one of the two, got both")
            return self._list_children(mapRunArn, status, maxResults, nextToken)
        self._arns.check_state_machine(stateMachineArn)
        page = self._client.list(status, limit=maxResults, token=nextToken)
        shown: ListExecutionsOutput = {"executions": [execution_item(each, self._arns) for each in page.executions]}
        return shown if page.token is None else {**shown, "nextToken": page.token}

    def list_map_runs(
        self, *, executionArn: str, maxResults: int = 0, nextToken: str | None = None
    ) -> ListMapRunsOutput:
        """Return a page of an execution's runs of distributed Maps.

        Args:
            executionArn: ARN or name.
            maxResults: page size up to 1,000; 0 for 100.
            nextToken: token of the previous page; None for the first page.

        Raises:
            ExecutionDoesNotExist: the workflow has no execution of that name.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            InvalidToken: `nextToken` belongs to another list.
            ClientError: the client has a definition of another version, or none is stored.
        """
        name = self._arns.name_of(executionArn)
        # The prefix keeps tokens of this list apart from tokens of the execution's history.
        page = Page.asked(maxResults, nextToken, of=f"mapRuns/{name}", reverse=False)
        runs, following = page.of(self._map_runs(name))
        shown: ListMapRunsOutput = {"mapRuns": [map_run_item(run, name, self._arns) for run in runs]}
        return shown if following is None else {**shown, "nextToken": following}

    def describe_map_run(self, *, mapRunArn: str) -> DescribeMapRunOutput:
        """Return the progress of a distributed Map's run.

        Args:
            mapRunArn: ARN of the run.

        Raises:
            InvalidArn: not a map run ARN.
            ResourceNotFound: the workflow has no such run.
            ExecutionDoesNotExist: the workflow has no such execution.
            ClientError: the client has a definition of another version, or none is stored.
        """
        name = self._arns.execution_of_map_run(mapRunArn)
        return map_run_description(self._map_run(name, mapRunArn), name, self._arns)

    def get_execution_history(
        self,
        *,
        executionArn: str,
        maxResults: int = 0,
        reverseOrder: bool = False,
        nextToken: str | None = None,
        includeExecutionData: bool = True,
    ) -> GetExecutionHistoryOutput:
        """Return a page of an execution's events.

        Args:
            executionArn: ARN or name.
            maxResults: maximum of events up to 1,000; 0 for 100.
            reverseOrder: True for the latest events first.
            nextToken: token of the previous page; None for the first page.
            includeExecutionData: False omits inputs and outputs.

        Raises:
            ExecutionDoesNotExist: the workflow has no execution of that name.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            InvalidToken: `nextToken` belongs to another history, or to the other order.
            ClientError: the client has a definition of another version, or none is stored.
        """
        name = self._arns.child_of(executionArn) or self._arns.name_of(executionArn)
        page = Page.asked(maxResults, nextToken, of=name, reverse=reverseOrder)
        events, following = page.of(self.events(executionArn=executionArn))
        shown: GetExecutionHistoryOutput = {
            "events": events if includeExecutionData else [without_data(event) for event in events]
        }
        return shown if following is None else {**shown, "nextToken": following}

    def send_task_success(self, *, taskToken: str, output: str) -> dict[str, Never]:
        """Complete the Task of `taskToken`; see `Tasks.send_task_success`."""
        self._client.send_task_success(taskToken, output)
        return {}

    def send_task_failure(
        self, *, taskToken: str, error: str | None = None, cause: str | None = None
    ) -> dict[str, Never]:
        """Fail the Task of `taskToken`; see `Tasks.send_task_failure`."""
        self._client.send_task_failure(taskToken, error, cause)
        return {}

    def send_task_heartbeat(self, *, taskToken: str) -> dict[str, Never]:
        """Report progress on the Task of `taskToken`; see `Tasks.send_task_heartbeat`."""
        self._client.send_task_heartbeat(taskToken)
        return {}

    def get_activity_task(self, *, activityArn: str, workerName: str = "") -> ActivityTask:
        """Take a waiting Task of an activity; see `Tasks.get_activity_task`.

        Args:
            activityArn: ARN of the activity as in the definition, or its name.
            workerName: name of the worker, for humans.

        Raises:
            InvalidArn: neither an ARN nor a name.
            ActivityDoesNotExist: unknown activity.
        """
        return self._client.get_activity_task(activity_name(activityArn), workerName)

    def events(self, *, executionArn: str) -> list[HistoryEvent]:
        """Return all events of an execution at once.

        boto3 has no equivalent. Every page of `get_execution_history` reads the whole execution again; this reads it
        once.

        Args:
            executionArn: ARN or name.

        Raises:
            ExecutionDoesNotExist: the workflow has no execution of that name.
            InvalidArn: `executionArn` is neither an ARN nor a name.
            ClientError: the client has a definition of another version, or none is stored.
        """
        child_name, child = self._arns.child_of(executionArn), None
        if child_name is None:
            name = self._arns.name_of(executionArn)
        else:
            name, child = self.find_child(child_name)
        past, now_ms = self._client.past(name, self._needed_definition(name)), self._client.clock.now_ms()
        return events(*past, now_ms=now_ms) if child is None else child_events(past, child, now_ms=now_ms)

    def find_child(self, name: str) -> tuple[str, ChildExecution]:
        """Return the name of the parent, and its child execution `name`; boto3 has no equivalent.

        The list of executions is read from the time of entering the Map backwards, until the parent is found.

        Raises:
            ExecutionDoesNotExist: no execution in the list has such a child.
            ClientError: the client has a definition of another version, or none is stored.
            NoIndex: the table has no index for lists; the text says how to add it.
        """
        client = self._client
        if client.index is None:
            raise NoIndex("index: expected the store's, got None; this client cannot search for child executions")
        return find_child(
            name, client.index, client.workflow, lambda parent: [*client.children(parent, self._definition)]
        )

    def can_paginate(self, operation_name: str) -> bool:
        """Return True if the operation has pages."""
        return operation_name in PAGED

    def get_paginator(self, operation_name: str) -> "Paginator":
        """Return a paginator of an operation.

        Raises:
            ClientError: the operation has no pages.
        """
        if not self.can_paginate(operation_name):
            raise ClientError(f"operation_name: expected one of {[*PAGED]}, got {operation_name!r}")
        return Paginator(getattr(self, operation_name))

    def _list_children(
        self, map_run_arn: str, status: Status | None, size: int, token: str | None
    ) -> ListExecutionsOutput:
        name = self._arns.execution_of_map_run(map_run_arn)
        run = self._map_run(name, map_run_arn)
        children = self._client.children(name, self._needed_definition(name))
        found = [each for each in children if each.map_run == run.id and status in (None, each.status)]
        shown, following = Page.asked(size, token, of=f"children/{map_run_arn}/{status}", reverse=False).of(found)
        listed: ListExecutionsOutput = {"executions": [child_item(each, map_run_arn, self._arns) for each in shown]}
        return listed if following is None else {**listed, "nextToken": following}

    def _map_run(self, name: str, arn: str) -> MapRun:
        # No map run is stored: its ARN contains the execution, whose runs are computed and compared.
        for run in self._map_runs(name):
            if self._arns.map_run(name, run.state, run.id) == arn:
                return run
        raise ResourceNotFound(f"mapRunArn: execution {name!r} has no map run {arn!r}")

    def _map_runs(self, name: str) -> list[MapRun]:
        return [run for run in self._client.map_runs(name, self._needed_definition(name)) if run.distributed]

    def _needed_definition(self, name: str) -> Workflow:
        """Return the client's definition, or that of execution `name` from the store."""
        found = self._definition or self._client.definition(name)
        # The context object of histories contains ARNs, so its home must match.
        return replace(found, home=self._home or found.home)


def _parse(text: str) -> Json:
    try:
        return parse_foreign(text)
    except (TypeError, ValueError, RecursionError) as error:
        shown = repr(text)[:80]
        raise InvalidExecutionInput(f"input: expected JSON text, got {shown}: {error}") from error


@dataclass(frozen=True)
class Paginator:
    """Page iterator for one operation, as in boto3.

    Attributes:
        operation: method that returns one page.
    """

    operation: Callable[..., Any]

    def paginate(self, *, PaginationConfig: Mapping[str, int] | None = None, **arguments: Any) -> Iterator[Any]:
        """Yield the pages.

        Args:
            PaginationConfig: ``PageSize`` for a page size other than 100.
            arguments: arguments of the operation.

        Raises:
            ClientError: `PaginationConfig` has other members.
        """
        config = dict(PaginationConfig or {})
        size = config.pop("PageSize", 0)
        if config:
            raise ClientError(
                f"PaginationConfig: expected PageSize alone, got {sorted(config)}; end the loop after enough pages"
            )
        page = self.operation(**{"maxResults": size, **arguments})
        yield page
        while "nextToken" in page:
            page = self.operation(**{"maxResults": size, **arguments, "nextToken": page["nextToken"]})
            yield page
