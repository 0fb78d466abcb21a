"""Invocations of an execution, and their lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from unum_cli.logs.log_lines import InvocationLog, Line, fields_of, invocation_log, request_of
from unum_client.deliveries import to_datetime
from unum_client.descriptions import Step
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Execution
from unum_runtime.model.states import Task

SLACK = timedelta(seconds=5)
"""Allowed difference between the clocks of a sandbox and of its log, and the time of Lambda's own work before a handler
begins."""

LONGEST = timedelta(minutes=15)
"""Longest run of a function. Source: AWS Lambda Developer Guide, "Lambda quotas"."""

_NOTHING: Mapping[str, str] = MappingProxyType({})

PAGE = 1_000
"""Events of a log stream in one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One invocation of a function for an execution.

    Attributes:
        log_group: log group of the function.
        log_stream: log stream of the sandbox.
        request_id: Lambda's request id.
        began_at: begin of the invocation, or a time shortly before it.
        steps: steps that it committed; none for one that only failed, started or ended something.
    """

    log_group: str
    log_stream: str
    request_id: str
    began_at: datetime
    steps: tuple[Step, ...] = ()

    def running(self, line: Line) -> Sequence[Step]:
        """Return the step that ran when `line` was written; all steps of the invocation if the times do not tell."""
        running = [
            step for step in self.steps if step.delivery and step.delivery.began_at <= line.at <= step.committed_at
        ]
        return running if len(running) == 1 else self.steps


def step_text(step: Step) -> str:
    """Return the name of a step's state, with the indexes of its branch, as in ``Price[2]``."""
    return f"{step.state}[{'.'.join(map(str, step.index))}]" if step.index else step.state


def committing(steps: Iterable[Step], definition: Workflow, groups: Mapping[str, str]) -> Sequence[Invocation]:
    """Return the invocations that committed `steps`, in the order of their begin.

    A step without a delivery, of a join or a fan-out, is left out, as is one whose function is gone.

    Args:
        steps: steps of one execution.
        definition: definition that the execution runs on.
        groups: log groups by key of the function.
    """
    together: dict[tuple[str, str, str], list[Step]] = {}
    for step in steps:
        state, delivery = definition.states.get(step.state), step.delivery
        group = groups.get(state.function) if isinstance(state, Task) else None
        if group and delivery and delivery.request_id and delivery.log_stream:
            together.setdefault((group, delivery.log_stream, delivery.request_id), []).append(step)
    found = [
        Invocation(
            log_group=group,
            log_stream=stream,
            request_id=request,
            began_at=min(step.delivery.began_at for step in those if step.delivery),
            steps=tuple(sorted(those, key=lambda step: step.committed_at)),
        )
        for (group, stream, request), those in together.items()
    ]
    return sorted(found, key=lambda invocation: invocation.began_at)


@dataclass(frozen=True)
class LogReader:
    """Reads of CloudWatch Logs.

    Attributes:
        logs: boto3 client of CloudWatch Logs.
    """

    logs: Any

    def read(self, invocation: Invocation) -> InvocationLog:
        """Return the lines of `invocation`; none if its log stream is gone.

        Raises:
            ClientError: CloudWatch Logs refused the request.
        """
        return invocation_log(self._events(invocation), invocation.request_id)

    def mentioning(
        self, execution: Execution, groups: Iterable[str], said: Mapping[str, str] = _NOTHING
    ) -> Iterator[Invocation]:
        """Yield the invocations whose lines of the runtime name `execution`, as those of retried attempts do.

        Args:
            execution: the execution.
            groups: names of log groups; one that is gone is skipped.
            said: fields that the lines must have, as ``{"state": "Price"}``.

        Raises:
            ClientError: CloudWatch Logs refused the request.
        """
        seen: set[str] = set()
        for group in sorted(set(groups)):
            for event in self._matching(group, execution):
                fields = fields_of(event["message"])
                request = request_of(fields)
                if request not in seen and _names(fields, execution) and said.items() <= fields.items():
                    seen.add(request)
                    yield Invocation(
                        log_group=group,
                        log_stream=event["logStreamName"],
                        request_id=request,
                        began_at=to_datetime(event["timestamp"]) - LONGEST,
                    )

    def _events(self, invocation: Invocation) -> Iterator[Mapping[str, Any]]:
        asked = {
            "logGroupName": invocation.log_group,
            "logStreamName": invocation.log_stream,
            "startTime": int((invocation.began_at - SLACK).timestamp() * 1000),
            "startFromHead": True,
            "limit": PAGE,
        }
        try:
            page = self.logs.get_log_events(**asked)
            while True:
                yield from page["events"]
                token = page["nextForwardToken"]
                page = self.logs.get_log_events(**asked, nextToken=token)
                if page["nextForwardToken"] == token:  # the end of the stream
                    yield from page["events"]
                    return
        except self.logs.exceptions.ResourceNotFoundException:
            return

    def _matching(self, group: str, execution: Execution) -> Iterator[Mapping[str, Any]]:
        quoted = execution.name.replace("\\", "\\\\").replace('"', '\\"')
        pages = self.logs.get_paginator("filter_log_events").paginate(
            logGroupName=group, filterPattern=f'"{quoted}"', startTime=execution.started_ms
        )
        try:
            for page in pages:
                yield from page["events"]
        except self.logs.exceptions.ResourceNotFoundException:
            return


def _names(fields: Mapping[str, Any], execution: Execution) -> bool:
    """Return True if a line of the runtime is about `execution`."""
    invocation = str(fields.get("invocation", ""))
    return fields.get("source") == "unum" and (
        fields.get("execution") == execution.name or invocation.startswith((f"{execution}/", f"{execution}#"))
    )
