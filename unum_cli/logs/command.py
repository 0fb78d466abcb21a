"""``unum logs``: log lines of an execution, of the runtime and of user code."""

import argparse
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import client_at, located, names_workflow, needing_boto3, session_of
from unum_cli.logs.execution_logs import Invocation, LogReader, committing, step_text
from unum_cli.logs.log_groups import log_groups
from unum_cli.logs.log_lines import Line, fields_of
from unum_runtime.client.boto3_shapes.arns import Arns, home_of
from unum_runtime.client.client import Client
from unum_runtime.client.descriptions import Step
from unum_runtime.client.reading.stored_steps import start_record
from unum_runtime.errors import UnumError

EVERY_S = 2
"""Time between two looks of ``--follow``."""

_LEFT_OUT = ("source", "message", "request_id", "_aws")
"""Fields of the runtime's lines that say nothing about an execution."""

LATE = timedelta(seconds=10)
"""Time for which ``--follow`` waits for lines after the end of an execution: CloudWatch Logs shows them late."""


def run(options: argparse.Namespace) -> None:
    """Print the log lines of an execution, with ``--follow`` until it has ended.

    Raises:
        UsageError: no workflow is named, or no start alias and no commit that says where the execution began.
        CommandFailed: unknown execution, or AWS error.
    """
    if not names_workflow(options):
        raise UsageError("expected --stack STACK, or --table TABLE, --workflow NAME and --start-alias ARN")
    with needing_boto3():
        session = session_of(options)
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - boto3 need not be installed
    client = client_at(located(session, options), session)
    arns = Arns(client.workflow, home_of(client.start_alias))
    try:
        logs = _Logs(
            client=client,
            functions=session.client("lambda"),
            reader=LogReader(session.client("logs")),
            name=arns.name_of(options.execution),
            only=options.step,
        )
        for invocation, line in logs.follow() if options.follow else logs.all():
            if options.platform or not line.is_platform:
                _print(invocation, line, as_json=options.json)
    except (BotoCoreError, ClientError, UnumError) as error:
        raise CommandFailed(str(error)) from error


def _print(invocation: Invocation, line: Line, *, as_json: bool) -> None:
    if as_json:
        shown = {
            "at": line.at.isoformat(),
            "states": [step_text(step) for step in invocation.running(line)],
            "log_group": invocation.log_group,
            "log_stream": invocation.log_stream,
            "request_id": invocation.request_id,
            "line": line.text,
        }
        print(json.dumps(shown, ensure_ascii=False), flush=True)
    else:
        states = ", ".join(step_text(step) for step in invocation.running(line)) or "-"
        print(f"{line.at:%H:%M:%S}.{line.at.microsecond // 1000:03}  {states}  {_shown(line.text)}", flush=True)


def _shown(text: str) -> str:
    """Return a line as text; of the runtime's lines, message and fields, and the cause's own line breaks."""
    fields = fields_of(text)
    if fields.get("source") != "unum":
        return text
    named = (f"{name}={value}" for name, value in fields.items() if name not in _LEFT_OUT)
    return " ".join(("unum:", str(fields.get("message", "")), *named))


@dataclass(kw_only=True)
class _Logs:
    """Lines of one execution.

    Attributes:
        client: client of the workflow.
        functions: boto3 client of AWS Lambda.
        reader: reads of CloudWatch Logs.
        name: name of the execution.
        only: state, with or without the indexes of a branch, whose lines are wanted; None for all.
    """

    client: Client
    functions: Any
    reader: LogReader
    name: str
    only: str | None
    _printed: set[str] = field(default_factory=set)
    _groups: dict[str, str] = field(default_factory=dict)
    _starts: set[str] = field(default_factory=set)

    def all(self) -> Iterator[tuple[Invocation, Line]]:
        """Yield all lines that are there, invocation after invocation."""
        return self._lines(is_last=True)

    def follow(self) -> Iterator[tuple[Invocation, Line]]:
        """Yield all lines, and those that come later, until the execution has ended."""
        is_over = False
        while not is_over:
            stopped_at = self.client.describe(self.name).stopped_at
            is_over = stopped_at is not None and datetime.now(UTC) - stopped_at > LATE
            yield from self._lines(is_last=is_over)
            if not is_over:
                time.sleep(EVERY_S)

    def _lines(self, *, is_last: bool) -> Iterator[tuple[Invocation, Line]]:
        """Yield the lines of invocations that have ended; at last also of the others."""
        for invocation in self._found():
            log = self.reader.read(invocation)
            if log.is_complete or is_last:
                self._printed.add(invocation.request_id)
                yield from ((invocation, line) for line in log.lines)

    def _found(self) -> Iterator[Invocation]:
        """Yield the invocations that were not printed, those with commits first."""
        steps = [*self.client.steps(self.name)]
        self._find_groups(steps)
        wanted = [step for step in steps if self.only in (None, step.state, step_text(step))]
        known = committing(wanted, self.client.definition(self.name), self._groups) if wanted else ()
        for each in (*known, *self._mentioning()):
            if each.request_id not in self._printed:
                yield each

    def _mentioning(self) -> Iterator[Invocation]:
        execution = start_record(self.client.store, self.client.workflow, self.name).name.execution
        return self.reader.mentioning(execution, self._groups.values(), self.only and self.only.partition("[")[0])

    def _find_groups(self, steps: Iterable[Step]) -> None:
        """Find the log groups of the versions on which the execution began, and was redriven."""
        starts = {step.checkpoint.began.address for step in steps if step.checkpoint.began is not None}
        starts = starts or ({self.client.start_alias} if self.client.start_alias else set())
        if not starts:
            raise UsageError("--start-alias: expected the ARN of the start alias, got nothing; or give --stack STACK")
        for start in starts - self._starts:
            self._groups |= log_groups(self.functions, start, self.client.workflow)
            self._starts.add(start)
