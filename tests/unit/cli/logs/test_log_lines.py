"""Lines of one invocation are found in a stream with many, in both formats of Lambda."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from unum_cli.logs.log_lines import invocation_log

TEXT = [
    "INIT_START Runtime Version: python:3.11",
    "START RequestId: one Version: 3",
    "first",
    "END RequestId: one",
    "REPORT RequestId: one\tDuration: 3 ms",
    "START RequestId: two Version: 3",
    '{"source": "unum", "message": "retried", "request_id": "two"}',
    '{"a": "line of user code"}',
    "[1, 2]",
    "Traceback\nKeyError: 'x'",
    "END RequestId: two",
    "REPORT RequestId: two\tDuration: 3 ms",
    "START RequestId: three Version: 3",
]


def platform(kind: str, request: str) -> str:
    return json.dumps({"type": f"platform.{kind}", "record": {"requestId": request}})


JSON = [
    platform("start", "one"),
    '{"level": "INFO", "message": "first", "requestId": "one"}',
    platform("runtimeDone", "one"),
    platform("report", "one"),
    platform("start", "two"),
    '{"level": "INFO", "message": "second", "requestId": "two"}',
    "printed",
    platform("runtimeDone", "two"),
    platform("report", "two"),
]
QUIET = ['{"message": "first", "requestId": "one"}', '{"message": "second", "AWSRequestId": "two"}', "printed"]


def events(texts: list[str]) -> Iterator[Mapping[str, Any]]:
    return ({"timestamp": 1_000 + number, "message": text} for number, text in enumerate(texts))


def own(texts: list[str], request: str) -> list[str]:
    return [line.text for line in invocation_log(events(texts), request).lines if not line.is_platform]


def test_lines_of_user_code_and_of_the_runtime() -> None:
    assert own(TEXT, "one") == ["first"]
    assert own(TEXT, "two") == TEXT[6:10]
    assert own(TEXT, "three") == []
    assert own(TEXT, "four") == []


@pytest.mark.parametrize(("request_id", "expected"), [("one", JSON[1:2]), ("two", JSON[5:7])])
def test_lines_in_json(request_id: str, expected: list[str]) -> None:
    assert own(JSON, request_id) == expected


def test_without_lines_of_the_platform_the_lines_name_the_request() -> None:
    assert own(QUIET, "one") == QUIET[:1]
    assert own(QUIET, "two") == QUIET[1:]


def test_no_more_is_read_than_the_invocation_has() -> None:
    rest = events(TEXT)
    log = invocation_log(rest, "one")
    assert log.is_complete
    assert [line.text[:6] for line in log.lines if line.is_platform] == ["START ", "END Re", "REPORT"]
    assert next(rest)["message"] == TEXT[5]


def test_an_invocation_that_goes_on_is_not_complete() -> None:
    assert not invocation_log(events(TEXT), "three").is_complete
    assert not invocation_log(events(TEXT[:3]), "one").is_complete


@pytest.mark.parametrize("text", ['{"broken', "{}", '{"type": "platform.start", "record": 1}', '{"requestId": 7}'])
def test_odd_lines_belong_to_the_invocation_around_them(text: str) -> None:
    assert text in own([*TEXT[:3], text, *TEXT[3:]], "one") or text.startswith('{"type"')
