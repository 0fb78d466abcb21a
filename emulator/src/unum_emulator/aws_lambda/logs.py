"""Output of functions: one file per function, and CloudWatch Logs.

Lambda writes START, the output, END and REPORT to one stream per execution environment, in the function's log group
(https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html). ministack opens a stream per invocation,
under a name that the function never sees.
"""

import threading
import time
from pathlib import Path
from typing import Any

from ministack.services import cloudwatch_logs

from unum_emulator.aws_lambda.sandbox import Outcome, Sandbox


class FunctionLogs:
    """Writer of all invocations' output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, sandbox: Sandbox, request_id: str, outcome: Outcome) -> str:
        """Write an invocation's output between Lambda's own lines, and return it."""
        lines = _log_lines(sandbox, request_id, outcome)
        text = "".join(f"{line}\n" for line in lines)
        # Parallel invocations of a function share its file and its log group.
        with self._lock:
            with open(f"{self._folder}/{sandbox.function.ref.name}.log", "ab", buffering=0) as file:  # noqa: PTH123 - quick
                file.write(text.encode())
            _send(sandbox.function.log_group, sandbox.log_stream, lines)
        return text


def _log_lines(sandbox: Sandbox, request_id: str, outcome: Outcome) -> list[str]:
    function = sandbox.function
    # The runtime client joins the lines of a stack trace by carriage returns, so that they stay one log event.
    printed = [line.replace("\r", "\n") for line in outcome.log.split("\n") if line]
    report = (
        f"REPORT RequestId: {request_id}",
        f"Duration: {outcome.duration_ms} ms",
        f"Billed Duration: {outcome.duration_ms} ms",
        f"Memory Size: {function.memory_mb} MB",
        f"Max Memory Used: {outcome.memory_mb} MB",
    )
    start = f"START RequestId: {request_id} Version: {function.version}"
    return [start, *printed, f"END RequestId: {request_id}", "\t".join(report)]


def _send(group_name: str, stream_name: str, lines: list[str]) -> None:
    """Append to CloudWatch Logs in the function's account; like Lambda, create missing groups and streams."""
    now_ms = int(time.time() * 1000)
    group = cloudwatch_logs._log_groups.setdefault(group_name, _new_group(group_name, now_ms))
    stream = group["streams"].setdefault(stream_name, _new_stream(now_ms))
    cloudwatch_logs._append_log_events(
        stream, [{"timestamp": now_ms, "message": line, "ingestionTime": now_ms} for line in lines]
    )
    cloudwatch_logs._fanout_to_subscription_filters(
        group_name, stream_name, [{"timestamp": now_ms, "message": line} for line in lines]
    )


def _new_group(name: str, now_ms: int) -> dict[str, Any]:
    return {
        "arn": cloudwatch_logs._make_group_arn(name),
        "creationTime": now_ms,
        "retentionInDays": None,
        "tags": {},
        "subscriptionFilters": {},
        "streams": {},
    }


def _new_stream(now_ms: int) -> dict[str, Any]:
    return {
        "events": [],
        "uploadSequenceToken": "1",
        "creationTime": now_ms,
        "firstEventTimestamp": None,
        "lastEventTimestamp": None,
        "lastIngestionTime": None,
    }
