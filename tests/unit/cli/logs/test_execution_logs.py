"""Invocations of an execution, and their lines, in CloudWatch Logs as moto has it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from unum_cli.logs.execution_logs import Invocation, LogReader
from unum_cli.logs.log_lines import Line
from unum_client.deliveries import Delivery
from unum_client.descriptions import Step, StepStatus
from unum_runtime.model.naming import Execution

GROUP, STREAM = "price", "2026/11/23/[1]a"
AT = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
EXECUTION = Execution("order-1", int(AT.timestamp() * 1000))


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "test")
    with mock_aws():
        client = boto3.client("logs", region_name="us-east-1")
        client.create_log_group(logGroupName=GROUP)
        yield client


def write(logs: Any, stream: str, *lines: str) -> None:
    logs.create_log_stream(logGroupName=GROUP, logStreamName=stream)
    events = [
        {"timestamp": int((AT + timedelta(milliseconds=number)).timestamp() * 1000), "message": line}
        for number, line in enumerate(lines)
    ]
    logs.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events)


def invocation(request: str, *, group: str = GROUP, stream: str = STREAM) -> Invocation:
    return Invocation(log_group=group, log_stream=stream, request_id=request, began_at=AT)


def test_an_invocation_is_read_over_all_pages(logs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unum_cli.logs.execution_logs.PAGE", 2)
    write(logs, STREAM, "START RequestId: r Version: 1", *(f"line {number}" for number in range(7)), "END RequestId: r")
    found = LogReader(logs).read(invocation("r"))
    assert found.is_complete
    assert [line.text for line in found.lines][1:-1] == [f"line {number}" for number in range(7)]


@pytest.mark.parametrize("gone", [{"group": "gone"}, {"stream": "gone"}])
def test_logs_that_are_gone_have_no_lines(logs: Any, gone: dict[str, str]) -> None:
    write(logs, STREAM, "START RequestId: r Version: 1")
    assert LogReader(logs).read(invocation("r", **gone)).lines == ()


def test_attempts_without_a_commit_are_found_by_what_the_runtime_says(logs: Any) -> None:
    def said(request: str, invocation: str, state: str = "Price", source: str = "unum") -> str:
        fields = f'"request_id": "{request}", "invocation": "{invocation}", "state": "{state}"'
        return f'{{"source": "{source}", "message": "retried", {fields}}}'

    write(
        logs,
        STREAM,
        said("ours", f"{EXECUTION}#1"),
        said("a branch", f"{EXECUTION}/Lines@1.0[0]#1", "Round"),
        said("ours", f"{EXECUTION}#2"),
        said("a longer name", "order-10:1f#1"),
        said("an earlier one of this name", "order-1:1#1"),
        said("user code", f"{EXECUTION}#1", source="app"),
        '{"source": "unum", "message": "finished", "request_id": "the end", "execution": "order-1"}',
        "order-1 is no line of the runtime",
    )
    reader = LogReader(logs)
    found = [each.request_id for each in reader.mentioning(EXECUTION, [GROUP, GROUP, "gone"])]
    assert found == ["ours", "a branch", "the end"]
    assert [each.request_id for each in reader.mentioning(EXECUTION, [GROUP], {"state": "Round"})] == ["a branch"]


def step(state: str, began_s: int, ended_s: int) -> Step:
    began, ended = AT + timedelta(seconds=began_s), AT + timedelta(seconds=ended_s)
    delivery = Delivery(
        sent_at=began,
        began_at=began,
        code_began_at=began,
        ended_at=ended,
        request_id="r",
        log_stream=STREAM,
        init_ms=None,
        waiting_since=None,
        failed=(),
        given_up="",
    )
    checkpoint: Any = None
    return Step(
        state=state,
        index=(),
        attempt=0,
        duration_ms=0,
        bytes=0,
        status=StepStatus.SUCCEEDED,
        committed_at=ended,
        error=None,
        checkpoint=checkpoint,
        delivery=delivery,
    )


@pytest.mark.parametrize(
    ("second", "expected"), [(1, ["First"]), (5, ["Second"]), (3, ["First", "Second"]), (9, ["First", "Second"])]
)
def test_a_line_belongs_to_the_step_that_ran(second: int, expected: list[str]) -> None:
    steps = (step("First", 0, 2), step("Second", 4, 6))
    together = Invocation(log_group=GROUP, log_stream=STREAM, request_id="r", began_at=AT, steps=steps)
    line = Line(at=AT + timedelta(seconds=second), text="a line")
    assert [each.state for each in together.running(line)] == expected
