"""Addresses of queries in AWS's console."""

import re
from argparse import Namespace
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest

from tests.unit.protocol.platform import Platform, chain
from unum_cli.logs import logs_command
from unum_cli.logs.execution_logs import Invocation
from unum_cli.logs.log_lines import Line
from unum_cli.logs.search import MOST_GROUPS, MOST_REQUESTS, Console
from unum_client.descriptions import Step

AT = datetime(2027, 1, 15, 8, 0, 0, 7_000, UTC)
STREAM = "2027/01/15/[7]0123456789abcdef"
FAILED = Invocation(log_group="/aws/lambda/f", log_stream=STREAM, request_id="r-1", began_at=AT)
CONSOLE = Console("eu-west-1.console.aws.amazon.com", "eu-west-1")


def committed() -> Invocation:
    platform = Platform.of(chain("A"), A=lambda event: event)
    platform.run()
    step = Step.of(platform.steps()[0])
    return replace(FAILED, steps=(replace(step, committed_at=AT + timedelta(seconds=2)),))


def logs(endpoint: Any, region: Any = "eu-west-1") -> Any:
    return SimpleNamespace(meta=SimpleNamespace(endpoint_url=endpoint, region_name=region))


def read(address: str) -> tuple[str, dict[str, str]]:
    """Undo the encoding, as the console does: the place, and the fields of the query."""
    home, _, detail = address.partition("#logsV2:logs-insights$3FqueryDetail$3D")
    assert re.fullmatch(r"[A-Za-z0-9_.*$-]+", detail), "more would need quotes in HTML or in a shell"
    text = unquote(unquote(detail.replace("$", "%")))
    fields = re.findall(r"(end|start|timeType|tz|editorString|source)~(\(.*?\)|[^~)]*)", text)
    return home, {name: unquote(value.replace("*", "%")) for name, value in fields}


def test_a_console_is_that_of_the_region() -> None:
    assert Console.of(logs("https://logs.eu-west-1.amazonaws.com")) == CONSOLE
    china = Console.of(logs("https://logs.cn-north-1.amazonaws.com.cn", "cn-north-1"))
    assert china == Console("cn-north-1.console.amazonaws.cn", "cn-north-1")
    gov = Console.of(logs("https://logs.us-gov-west-1.amazonaws.com", "us-gov-west-1"))
    assert gov == Console("us-gov-west-1.console.amazonaws-us-gov.com", "us-gov-west-1")


@pytest.mark.parametrize(
    "client",
    [
        logs("http://localhost:4566"),
        logs("http://127.0.0.1:34567"),
        logs("https://amazonaws.com.example.org"),
        logs("https://logs.eu-west-1.amazonaws.com", None),
        logs(None),
        object(),
    ],
)
def test_an_emulator_has_no_console(client: Any) -> None:
    assert Console.of(client) is None


def test_an_attempt_that_committed_is_found_by_its_request_and_its_sandbox() -> None:
    home, fields = read(CONSOLE.of_attempt(committed()))
    assert home == "https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1"
    assert fields == {
        "start": "'2027-01-15T07:59:55.007Z",
        "end": "'2027-01-15T08:00:07.007Z",
        "timeType": "'ABSOLUTE",
        "tz": "'UTC",
        "editorString": (
            f'\'fields @timestamp, @message\n| filter @message like "r-1" or @logStream = "{STREAM}"\n'
            "| sort @timestamp asc\n| limit 1000"
        ),
        "source": "(~'/aws/lambda/f)",
    }


def test_an_attempt_that_failed_is_found_by_its_request_alone() -> None:
    """Its time is known roughly, and other invocations ran in the same sandbox meanwhile."""
    _, fields = read(CONSOLE.of_attempt(FAILED))
    assert "@logStream" not in fields["editorString"]
    assert fields["end"] == "'2027-01-15T08:30:05.007Z"


def test_an_execution_is_found_by_its_name_and_its_requests() -> None:
    assert CONSOLE.of_execution("order-17", []) is None
    other = replace(FAILED, log_group="/aws/lambda/g", request_id="r-2", began_at=AT + timedelta(minutes=1))
    address = CONSOLE.of_execution("order-17", [committed(), other])
    assert address is not None
    _, fields = read(address)
    assert '| filter @requestId in ["r-1", "r-2"] or @message like "order-17"' in fields["editorString"]
    assert fields["source"] == "(~'/aws/lambda/f~'/aws/lambda/g)"
    assert (fields["start"], fields["end"]) == ("'2027-01-15T07:59:55.007Z", "'2027-01-15T08:31:05.007Z")


def test_an_address_is_bounded() -> None:
    many = [replace(FAILED, log_group=f"g{n}", request_id=f"r-{n}") for n in range(100)]
    address = CONSOLE.of_execution("e", many)
    assert address is not None
    _, fields = read(address)
    assert (fields["source"].count("~"), fields["editorString"].count("r-")) == (MOST_GROUPS, MOST_REQUESTS)


@pytest.mark.parametrize(("console", "as_json"), [(CONSOLE, False), (CONSOLE, True), (None, False)])
def test_the_command_prints_one_address_on_standard_error(
    console: Console | None,
    as_json: bool,  # noqa: FBT001
    capsys: pytest.CaptureFixture[str],
) -> None:
    reply = [(FAILED, Line(at=AT, text="one")), (FAILED, Line(at=AT, text="two"))]
    lines: Any = SimpleNamespace(there=lambda: reply, search=SimpleNamespace(console=console), name="order-17")
    logs_command._print_lines(lines, Namespace(follow=False, platform=False, json=as_json))
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 2
    expected = f"in CloudWatch Logs Insights: {CONSOLE.of_execution('order-17', [FAILED])}\n"
    assert said.err == (expected if console is not None and not as_json else "")


@pytest.mark.parametrize("hostile", ['"><script>', '" or 1 = "1', '\\" | delete', "~(x)'", "ü$%25"])
def test_texts_of_the_table_stay_texts(hostile: str) -> None:
    """Functions write the request id and the stream of an attempt."""
    _, fields = read(CONSOLE.of_attempt(replace(FAILED, request_id=hostile)))
    quoted = hostile.replace("\\", "\\\\").replace('"', '\\"')
    assert f'| filter @message like "{quoted}"\n' in fields["editorString"]
