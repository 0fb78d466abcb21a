"""``unum logs``: log lines of an execution, of the runtime and of user code."""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from unum_cli.commands.command_errors import CommandFailed, UsageError
from unum_cli.commands.executions import client_at, located, names_workflow, needing_boto3, session_of
from unum_cli.logs.execution_logs import Invocation, step_text
from unum_cli.logs.log_lines import Line, shown_text
from unum_cli.logs.search import LogSearch, reading_logs
from unum_client.boto3_shapes.arns import Arns, home_of
from unum_runtime.errors import UnumError
from unum_runtime.json_text import to_readable

EVERY_S = 2
"""Time between two looks of ``--follow``."""

LATE = timedelta(seconds=10)
"""Time for which ``--follow`` waits for lines after the end of an execution: CloudWatch Logs shows them late."""


def run(options: argparse.Namespace) -> None:
    """Print the log lines of an execution, with ``--follow`` until it has ended.

    Raises:
        UsageError: no workflow is named.
        CommandFailed: unknown execution, no start alias and no commit that says where it began, or AWS error.
    """
    if not names_workflow(options):
        raise UsageError("expected --stack STACK, or --table TABLE, --workflow NAME and --start-alias ARN")
    with needing_boto3():
        session = session_of(options)
    client = client_at(located(session, options), session)
    arns = Arns(client.workflow, home_of(client.start_alias))
    try:
        with reading_logs():
            _print_lines(_Lines(LogSearch.by(client, session), arns.name_of(options.execution), options.step), options)
    except UnumError as error:
        raise CommandFailed(str(error)) from error


def _print_lines(lines: "_Lines", options: argparse.Namespace) -> None:
    found: dict[str, Invocation] = {}
    for invocation, line in lines.follow() if options.follow else lines.there():
        found[invocation.request_id] = invocation
        if options.platform or not line.is_platform:
            _print(invocation, line, as_json=options.json)
    console = lines.search.console
    address = None if console is None else console.of_execution(lines.name, found.values())
    if address is not None and not options.json:
        print(f"in CloudWatch Logs Insights: {address}", file=sys.stderr)


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
        print(to_readable(shown), flush=True)
    else:
        states = ", ".join(step_text(step) for step in invocation.running(line)) or "-"
        print(f"{line.at:%H:%M:%S}.{line.at.microsecond // 1000:03}  {states}  {shown_text(line.text)}", flush=True)


@dataclass
class _Lines:
    """Lines of one execution, each once.

    Attributes:
        search: search in the logs of the workflow.
        name: name of the execution.
        only: state, with or without the indexes of a branch, whose lines are wanted; None for all.
    """

    search: LogSearch
    name: str
    only: str | None
    _printed: set[str] = field(default_factory=set)
    _unnamed: set[str] = field(default_factory=set)

    def there(self, *, also_unfinished: bool = True) -> Iterator[tuple[Invocation, Line]]:
        """Yield new lines by invocation; of invocations that may still commit only with `also_unfinished`."""
        for invocation in self.search.invocations(self.name, self.only):
            if invocation.request_id in self._printed:
                continue
            if not also_unfinished and self._may_commit(invocation):
                continue
            log = self.search.reader.read(invocation)
            if log.is_complete or also_unfinished:
                self._printed.add(invocation.request_id)
                yield from ((invocation, line) for line in log.lines)

    def _may_commit(self, invocation: Invocation) -> bool:
        """Return True the first time that `invocation` has no step: it may have committed after steps were read."""
        is_first = not invocation.steps and invocation.request_id not in self._unnamed
        self._unnamed.add(invocation.request_id)
        return is_first

    def follow(self) -> Iterator[tuple[Invocation, Line]]:
        """Yield all lines, and those that come later, until the execution has ended."""
        is_over = False
        while not is_over:
            stopped_at = self.search.client.describe(self.name).stopped_at
            is_over = stopped_at is not None and datetime.now(UTC) - stopped_at > LATE
            yield from self.there(also_unfinished=is_over)
            if not is_over:
                time.sleep(EVERY_S)
