# ruff: noqa: N803, A002
# The names of arguments are boto3's.
"""Client of Step Functions for executions of workflows, and of state machines."""

import json
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any, NoReturn

from botocore.exceptions import BotoCoreError, ClientError

from unum_stepfunctions.addresses import Addresses, Workflow
from unum_stepfunctions.counterparts import COUNTERPARTS, INSTEAD
from unum_stepfunctions.listing import list_page

ATTEMPTS = 3
"""Most attempts for a request without an answer; it names its execution, which makes a repetition harmless."""

FIRST_PAUSE_S, LONGEST_PAUSE_S, GROWTH = 0.1, 5.0, 1.5
"""Pauses between two questions whether an execution has ended."""

LONGEST_CALL_S = 310
"""Read timeout, above the longest timeout of a workflow's own functions."""

MAX_INPUT_BYTES = 5_900_000
"""Largest input. Source: AWS Lambda Developer Guide, "Lambda quotas": 6 MB for a request."""

_REQUEST = {"$unum": 1}

_INCLUDED = ("ALL_DATA", "METADATA_ONLY")

_DESCRIBED = {
    "name": "Name",
    "status": "Status",
    "input": "Input",
    "output": "Output",
    "error": "Error",
    "cause": "Cause",
}
"""Fields of a description as boto3 and the workflow call them."""


class StepFunctions:
    """Client for ``boto3.client("stepfunctions")`` that starts, describes, stops and lists executions of workflows too.

    Args:
        machines: boto3's client, for all else; its exceptions are raised.
        create: makes boto3's client of a service in a region.
        addresses: the workflows that the function has grants for.
    """

    def __init__(self, machines: Any, create: Callable[[str, str], Any], addresses: Addresses) -> None:
        self._machines, self._create, self._addresses = machines, create, addresses
        self._clients: dict[tuple[str, str], Any] = {}

    def __getattr__(self, name: str) -> Any:
        """Return what boto3's client has; its operations refuse workflows, and say what to call instead."""
        found = getattr(self._machines, name)
        if name not in self._machines.meta.method_to_api_mapping or name.startswith("send_task_"):
            return found

        def checked(**arguments: Any) -> Any:
            self._refuse_ours(name, arguments)
            return found(**arguments)

        return checked

    def start_execution(self, *, stateMachineArn: str, name: Any = None, input: str = "{}", **more: Any) -> Any:
        """Start an execution, or find the running one that has the same name and input.

        Args:
            stateMachineArn: `state_machine_arn` of the workflow, or of a state machine.
            name: name, unique in the workflow; default: a random one.
            input: JSON text.
            more: arguments that only state machines take.

        Raises:
            ExecutionAlreadyExists: the execution of that name has ended, or has another input.
            InvalidName: not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
            InvalidExecutionInput: no JSON text, or too large.
            StateMachineDoesNotExist: there is no such workflow.
            ClientError: the function may not start executions; or, with the code ``ServiceUnavailable``, it is unknown
                whether the execution exists: call again with the same name.
        """
        arguments = {"stateMachineArn": stateMachineArn, "input": input, **_given(name=name), **more}
        workflow = self._addresses.by_machine(stateMachineArn)
        if workflow is None:
            return self._machines.start_execution(**arguments)
        called, started = self._start("StartExecution", workflow, name, input, more)
        arn = workflow.execution(called)
        if not started["IsNew"] and started["Status"] != "RUNNING":
            message = f"Execution Already Exists: {arn!r} has ended as {started['Status']}"
            self._fail("StartExecution", "ExecutionAlreadyExists", message)
        return _answered(executionArn=arn, startDate=_time(started["StartDate"]))

    def start_sync_execution(self, *, stateMachineArn: str, name: Any = None, input: str = "{}", **more: Any) -> Any:
        """Start an execution and wait for its end; an execution of the same name and input is waited for.

        Args:
            stateMachineArn: as in `start_execution`.
            name: name, unique in the workflow; default: a random one.
            input: JSON text.
            more: arguments that only state machines take, and `includedData`.

        Raises:
            ClientError: as `start_execution` does; the function needs `grant_start_sync`.
        """
        arguments = {"stateMachineArn": stateMachineArn, "input": input, **_given(name=name), **more}
        workflow = self._addresses.by_machine(stateMachineArn)
        if workflow is None:
            return self._machines.start_sync_execution(**arguments)
        included = more.pop("includedData", _INCLUDED[0])
        called, started = self._start("StartSyncExecution", workflow, name, input, more)
        pause_s = FIRST_PAUSE_S
        question = {"describe": called, "status": True}
        status = started["Status"]
        while status == "RUNNING":
            time.sleep(pause_s)
            pause_s = min(pause_s * GROWTH, LONGEST_PAUSE_S)
            status = self._ask("StartSyncExecution", workflow, "describe", question)["Status"]
        return self._describe("StartSyncExecution", workflow, called, included)

    def describe_execution(self, *, executionArn: str, includedData: str = _INCLUDED[0]) -> Any:
        """Describe an execution.

        Args:
            executionArn: as `start_execution` has returned it.
            includedData: ``METADATA_ONLY`` omits input and output.

        Raises:
            ExecutionDoesNotExist: there is no such execution.
            ClientError: as `start_execution` does; the function needs `grant_describe`.
        """
        found = self._addresses.by_execution(executionArn)
        if found is None:
            chosen = {} if includedData == _INCLUDED[0] else {"includedData": includedData}
            return self._machines.describe_execution(executionArn=executionArn, **chosen)
        return self._describe("DescribeExecution", *found, includedData)

    def stop_execution(self, *, executionArn: str, **failure: Any) -> Any:
        """Stop an execution.

        Args:
            executionArn: as `start_execution` has returned it.
            failure: `error` and `cause` of the stopped execution.

        Raises:
            ExecutionDoesNotExist: there is no such execution.
            ClientError: as `start_execution` does; the function needs `grant_stop`.
        """
        answer = self._control("StopExecution", "stop", executionArn, **failure)
        if answer is None:
            return self._machines.stop_execution(executionArn=executionArn, **failure)
        return _answered(stopDate=_time(answer["stopped_ms"]))

    def redrive_execution(self, *, executionArn: str, **more: Any) -> Any:
        """Resume a failed execution; successful steps are kept.

        Args:
            executionArn: as `start_execution` has returned it.
            more: `clientToken`, which workflows do not need: a redrive is the same when it is repeated.

        Raises:
            ExecutionDoesNotExist: there is no such execution.
            ExecutionNotRedrivable: it did not fail, or cannot go on.
            ClientError: as `start_execution` does; the function needs `grant_redrive`.
        """
        answer = self._control("RedriveExecution", "redrive", executionArn)
        if answer is None:
            return self._machines.redrive_execution(executionArn=executionArn, **more)
        return _answered(redriveDate=_time(answer["redriven_ms"]))

    def list_executions(self, **arguments: Any) -> Any:
        """Return a page of executions, newest first.

        Args:
            arguments: `stateMachineArn`, and optionally `statusFilter`, `maxResults` and `nextToken`.

        Raises:
            InvalidToken: `nextToken` belongs to another list.
            ClientError: as `start_execution` does; the function needs `grant_read`.
        """
        workflow = self._addresses.by_machine(arguments.get("stateMachineArn"))
        if workflow is None:
            self._refuse_ours("list_executions", arguments)
            return self._machines.list_executions(**arguments)
        arn = arguments.pop("stateMachineArn")
        wanted = [arguments.pop(each, None) for each in ("statusFilter", "maxResults", "nextToken")]
        self._refuse("list_executions", arguments)
        if not workflow.table:
            self._deny("ListExecutions", workflow, "read")
        client = self._client("dynamodb", workflow.region)
        try:
            items, token = list_page(client, workflow, *wanted)
        except ValueError as error:
            code, _, message = str(error).partition(": ")
            self._fail("ListExecutions", code, message)
        shown = [
            {
                "executionArn": workflow.execution(item.name),
                "stateMachineArn": arn,
                "name": item.name,
                "status": item.status,
                "startDate": _time(item.started_ms),
                **({} if item.stopped_ms is None else {"stopDate": _time(item.stopped_ms)}),
            }
            for item in items
        ]
        return _answered(executions=shown, **_given(nextToken=token))

    def get_paginator(self, operation_name: str) -> "Paginator":
        """Return a paginator of an operation."""
        return Paginator(self._machines.get_paginator(operation_name), getattr(self, operation_name), self._addresses)

    def _start(self, operation: str, workflow: Workflow, name: Any, text: str, more: Any) -> Any:
        """Start an execution; return its name and the answer."""
        self._refuse("start_execution", {key: value for key, value in more.items() if value is not None})
        try:
            json.loads(text, parse_constant=_no_constant)
            content = text.encode()
        except (TypeError, ValueError, RecursionError) as error:
            self._fail(operation, "InvalidExecutionInput", f"Invalid State Machine Execution Input: {error}")
        if len(content) > MAX_INPUT_BYTES:
            self._fail(operation, "InvalidExecutionInput", f"input: {len(content)} bytes, at most {MAX_INPUT_BYTES}")
        request = {**_REQUEST, "start": str(uuid.uuid4()) if name is None else name, "answer": True}
        # The text as it is: numbers would change if they were parsed and written again.
        payload = json.dumps(request).encode()[:-1] + b', "input": ' + content + b"}"
        return request["start"], self._send(operation, workflow, "start", workflow.run, payload)

    def _describe(self, operation: str, workflow: Workflow, name: str, included: str) -> Any:
        if included not in _INCLUDED:
            self._fail(operation, "ValidationException", f"includedData: expected {_INCLUDED}, got {included!r}")
        found, with_data = self._ask(operation, workflow, "describe", {"describe": name}), included == _INCLUDED[0]
        if "url" in found:  # too large for an answer
            with urllib.request.urlopen(found["url"], timeout=LONGEST_CALL_S) as response:  # noqa: S310 - the workflow's
                found = json.load(response)
        description = {ours: found[theirs] for ours, theirs in _DESCRIBED.items() if theirs in found}
        description |= {"executionArn": workflow.execution(name), "stateMachineArn": workflow.machine}
        description["startDate"] = _time(found["StartDate"])
        if "StopDate" in found:
            description["stopDate"] = _time(found["StopDate"])
        for value in ("input", "output"):
            if value in description:
                description[f"{value}Details"] = {"included": with_data}
                if not with_data:
                    del description[value]
        return _answered(**description)

    def _control(self, operation: str, kind: str, execution: str, **content: Any) -> Any:
        """Return the answer to a request of an operator; None if `execution` is of no workflow."""
        found = self._addresses.by_execution(execution)
        if found is None:
            return None
        workflow, name = found
        return self._ask(operation, workflow, kind, {"control": kind, "execution": name, **content})

    def _ask(self, operation: str, workflow: Workflow, kind: str, request: Any) -> Any:
        alias = workflow.aliases.get(kind) or (workflow.aliases.get("operate") if "control" in request else None)
        if alias is None:
            self._deny(operation, workflow, kind)
        return self._send(operation, workflow, kind, alias, json.dumps({**_REQUEST, **request}).encode())

    def _send(self, operation: str, workflow: Workflow, kind: str, alias: str, payload: bytes) -> Any:
        functions = self._client("lambda", workflow.region)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = functions.invoke(FunctionName=alias, Payload=payload)
                answer = json.load(response["Payload"])
            except ClientError as error:
                code = error.response["Error"]["Code"]
                if code == "AccessDeniedException":
                    self._deny(operation, workflow, kind, str(error))
                if code == "ResourceNotFoundException":
                    self._fail(operation, "StateMachineDoesNotExist", f"State Machine Does Not Exist: {alias}")
                raise
            except BotoCoreError as error:  # the connection broke
                found = f"{type(error).__name__}: {error}"
            else:
                if "FunctionError" not in response:
                    if "error" in answer:
                        self._fail(operation, answer["error"], answer["message"])
                    return answer
                found = json.dumps(answer)
            if attempt < ATTEMPTS:
                time.sleep(FIRST_PAUSE_S * 2**attempt)
        return self._fail(operation, "ServiceUnavailable", f"{alias}: no answer; call again: {found}")

    def _client(self, service: str, region: str) -> Any:
        if (service, region) not in self._clients:
            self._clients[service, region] = self._create(service, region)
        return self._clients[service, region]

    def _refuse_ours(self, operation: str, arguments: Any) -> None:
        """Raise NotImplementedError if an argument of `operation` belongs to a workflow."""
        refuse_ours(self._addresses, operation, arguments)

    def _refuse(self, operation: str, arguments: Any) -> None:
        """Raise NotImplementedError if `operation` has `arguments`, which workflows do not take."""
        if arguments:
            name = next(iter(arguments))
            raise NotImplementedError(
                f"{operation}: {name}: a workflow does not take it: {INSTEAD.get(name, 'omit it')}"
            )

    def _deny(self, operation: str, workflow: Workflow, kind: str, found: str = "") -> NoReturn:
        message = f"workflow {workflow.name!r}: call workflow.grant_{kind}(function) in the CDK app"
        self._fail(operation, "AccessDeniedException", f"{message}: {found}" if found else message)

    def _fail(self, operation: str, code: str, message: str) -> NoReturn:
        kind: Any = getattr(self._machines.exceptions, code, ClientError)
        raise kind({"Error": {"Code": code, "Message": message}}, operation)


class Paginator:
    """Paginator of one operation, for executions of workflows and of state machines.

    Args:
        machines: boto3's paginator.
        page: operation that returns one page.
        addresses: the workflows.
    """

    def __init__(self, machines: Any, page: Callable[..., Any], addresses: Addresses) -> None:
        self._machines, self._page, self._addresses = machines, page, addresses

    def __getattr__(self, name: str) -> Any:
        """Return what boto3's paginator has."""
        return getattr(self._machines, name)

    def paginate(self, **arguments: Any) -> Any:
        """Return the pages; for workflows, `PaginationConfig` may have `PageSize` and `MaxItems`."""
        if self._addresses.by_machine(arguments.get("stateMachineArn")) is None:
            refuse_ours(self._addresses, self._page.__name__, arguments)
            return self._machines.paginate(**arguments)
        return self._pages(**arguments)

    def _pages(self, *, PaginationConfig: Any = None, **arguments: Any) -> Iterator[Any]:
        config = dict(PaginationConfig or {})
        size, left = config.pop("PageSize", None), config.pop("MaxItems", None)
        if config:
            raise NotImplementedError(f"PaginationConfig: expected PageSize and MaxItems, got {sorted(config)}")
        arguments |= _given(maxResults=size)
        while True:
            page = self._page(**arguments)
            if left is not None:
                page["executions"] = page["executions"][: int(left)]
                left = int(left) - len(page["executions"])
            yield page
            if "nextToken" not in page or left == 0:
                return
            arguments["nextToken"] = page["nextToken"]


def refuse_ours(addresses: Addresses, operation: str, arguments: Any) -> None:
    """Raise NotImplementedError, with what to call instead, if an argument of `operation` belongs to a workflow."""
    for name, value in arguments.items():
        if name.endswith("Arn") and addresses.is_ours(value):
            instead = COUNTERPARTS.get(operation, COUNTERPARTS[""])
            raise NotImplementedError(f"{operation}: {value} is a workflow's: {instead}")


def _given(**arguments: Any) -> Any:
    return {name: value for name, value in arguments.items() if value is not None}


def _answered(**content: Any) -> Any:
    return {**content, "ResponseMetadata": {"HTTPStatusCode": 200}}


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, timezone.utc)  # noqa: UP017 - functions may have Python 3.10


def _no_constant(found: str) -> NoReturn:
    raise ValueError(f"{found} is no JSON")
