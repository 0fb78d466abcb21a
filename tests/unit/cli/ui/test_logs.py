"""The page of a step's log lines, over CloudWatch Logs as moto has it."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import unescape
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.unit.cli.ui.shop import HOSTILE, Shop, Visitor, served
from unum_cli.logs.execution_logs import LogReader
from unum_cli.logs.search import LogSearch

ENTRY = "arn:aws:lambda:us-east-1:000000000000:function:entry:1"
CHARGE = "arn:aws:lambda:us-east-1:000000000000:function:charge:1"


class Gone(Exception):
    pass


class Functions:
    """Configurations of two functions, the first of which leads to the second; and one that is gone."""

    exceptions = SimpleNamespace(ResourceNotFoundException=Gone)

    def get_function_configuration(self, FunctionName: str) -> Mapping[str, Any]:  # noqa: N803 - boto3's name
        hosts = {ENTRY: ["Receive", "Price", "Round"], CHARGE: ["Charge"]}
        if FunctionName not in hosts:
            raise Gone
        routes = {"Charge": CHARGE, "Ship": f"{CHARGE[:-1]}2", "activity": "https://queue"}
        service = {"table": "t", "hosts": hosts[FunctionName], "routes": routes, "retention_s": 1}
        return {
            "FunctionName": "charge" if FunctionName == CHARGE else "entry",
            "Environment": {"Variables": {"UNUM_WORKFLOWS": json.dumps({"orders": service})}},
            "LoggingConfig": {"LogGroup": "of charges"} if FunctionName == CHARGE else {},
        }


@pytest.fixture
def shop() -> Shop:
    """A shop of now: CloudWatch Logs takes no lines of long ago."""
    made = Shop()
    made.platform.clock.ms = int(time.time() * 1000) - 3_600_000
    made.run("retried", card="busy")
    return made


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "test")
    with mock_aws():
        yield boto3.client("logs", region_name="us-east-1")


@pytest.fixture
def visitor(shop: Shop, logs: Any) -> Iterator[Visitor]:
    def search(client: Any) -> LogSearch:
        return LogSearch(client=replace(client, start_alias=ENTRY), functions=Functions(), reader=LogReader(logs))

    with served(shop, search=search) as found:
        yield found.enter()


def write(logs: Any, group: str, stream: str, at_ms: int, *lines: str) -> None:
    if group not in [each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]]:
        logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    events = [{"timestamp": at_ms, "message": line} for line in lines]
    assert "rejectedLogEventsInfo" not in logs.put_log_events(
        logGroupName=group, logStreamName=stream, logEvents=events
    )


def link_of(visitor: Visitor, execution: str, state: str) -> str:
    page = visitor.ask(f"/Shop/orders/executions/{execution}").text
    paths = {unescape(each) for each in re.findall(r'href="([^"]+/step\?key=[^"]+)"', page)}
    (path,) = [path for path in paths if f"{state} " in visitor.ask(path).words.partition("Committed")[0]]
    found = re.findall(r'href="([^"]+/logs\?key=[^"]+)"', visitor.ask(path).text)
    return unescape(found[0])


def test_lines_of_the_attempt_that_committed_and_of_one_that_failed(shop: Shop, visitor: Visitor, logs: Any) -> None:
    (step,) = [each for each in shop.client.steps("retried") if each.state == "Charge"]
    assert step.delivery is not None
    request, stream = step.delivery.request_id, step.delivery.log_stream
    at_ms, own = step.checkpoint.committed_ms, {"source": "unum", "request_id": "before"}
    said = json.dumps(own | {"message": "retried", "invocation": str(step.checkpoint.name), "error": "Busy"})
    write(logs, "of charges", "earlier", at_ms - 1_000, "START RequestId: before Version: 1", "too busy", said)
    other = ("START RequestId: other Version: 1", "of another execution", "END RequestId: other")
    write(logs, "of charges", stream, at_ms, *other, f"START RequestId: {request} Version: 1", f"charged {HOSTILE}")
    page = visitor.ask(link_of(visitor, "retried", "Charge"))
    assert page.status == 200
    assert "of another execution" not in page.text
    assert f"charged {HOSTILE}" in unescape(page.text)
    assert HOSTILE not in page.text
    shown = unescape(page.words)
    assert "unum: retried" in shown
    assert shown.index("Attempt that failed") < shown.index("too busy") < shown.index("Attempt that committed")
    links = re.findall(r'<a href="(https:[^"]+)" rel="noreferrer">in CloudWatch Logs Insights</a>', page.text)
    host = "https://us-east-1.console.aws.amazon.com/cloudwatch/home?region=us-east-1#logsV2:logs-insights"
    assert [link.startswith(host) for link in links] == [True, True]
    assert ["before" in links[0], request in links[1]] == [True, True]


def test_an_emulator_has_no_link_to_the_console(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    link = link_of(visitor, "retried", "Charge")
    assert "CloudWatch Logs Insights</a>" in visitor.ask(link).text
    monkeypatch.setattr(LogSearch, "console", None)
    page = visitor.ask(link)
    assert (page.status, "CloudWatch Logs Insights</a>" in page.text, "https:" in page.text) == (200, False, False)


def test_logs_that_are_gone(visitor: Visitor) -> None:
    page = visitor.ask(link_of(visitor, "retried", "Charge"))
    assert page.status == 200
    assert "No lines: the log group or the stream is gone" in page.words
    assert "No invocation is known: its function is gone" in visitor.ask(link_of(visitor, "retried", "Ship")).words


def test_what_aws_refuses_is_said(visitor: Visitor, logs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    link = link_of(visitor, "retried", "Charge")
    denied = ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not you"}}, "GetLogEvents")
    monkeypatch.setattr(logs, "get_log_events", Mock(side_effect=denied))
    page = visitor.ask(link)
    assert (page.status, "not you" in page.words) == (502, True)


def test_without_access_to_logs_the_page_has_no_link_to_them(shop: Shop) -> None:
    with served(shop) as found:
        visitor = found.enter()
        page = visitor.ask("/Shop/orders/executions/retried").text
        path = unescape(re.findall(r'href="([^"]+/step\?key=[^"]+)"', page)[0])
        assert "/logs?" not in visitor.ask(path).text
        assert visitor.ask(path.replace("/step?", "/logs?")).status == 404
