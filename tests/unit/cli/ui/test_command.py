"""``unum ui`` on the command line: which workflows it shows, and what it refuses."""

import io
import json
import sys
import webbrowser
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
import uvicorn
from botocore.awsrequest import AWSResponse

from unum_cli.aws.session import Session
from unum_cli.grammar import grammar
from unum_cli.ui import ui_command
from unum_cli.ui.page_server import open_socket
from unum_runtime.errors import ClientError

ALIAS = "arn:aws:lambda:us-east-1:123456789012:function:f:start-"


STACK = "<member><StackName>{}</StackName><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>{}</Outputs></member>"
OUTPUT = "<member><OutputKey>{}</OutputKey><OutputValue>{}</OutputValue></member>"
NAMED = {"Shop": ["Orders", "Returns"], "Other": ["Mail"], "Plain": []}


@dataclass
class Stacks:
    """CloudFormation's answers, one stack on each page; the client and its parser are real."""

    named: dict[str, list[str]] = field(default_factory=lambda: dict(NAMED))

    def answer(self, request: Any, **_: Any) -> AWSResponse:
        asked = parse_qs(request.body if isinstance(request.body, str) else request.body.decode())
        names = asked.get("StackName", [*self.named])
        number = int(asked.get("NextToken", ["0"])[0])
        if names[0] not in self.named:
            return response(
                400, "<ErrorResponse><Error><Code>ValidationError</Code><Message>no</Message></Error></ErrorResponse>"
            )
        following = f"<NextToken>{number + 1}</NextToken>" if number + 1 < len(names) else ""
        members = STACK.format(names[number], "".join(self.outputs(names[number])))
        result = f"<DescribeStacksResult><Stacks>{members}</Stacks>{following}</DescribeStacksResult>"
        return response(200, f"<DescribeStacksResponse>{result}</DescribeStacksResponse>")

    def outputs(self, stack: str) -> Iterator[str]:
        for name in self.named[stack]:
            values = {"StartAlias": ALIAS + name, "Table": "t", "Workflow": name, "Retention": "86400"}
            yield from (OUTPUT.format(f"{name}{key}", value) for key, value in values.items())


def response(status: int, text: str) -> AWSResponse:
    headers: Any = {"Content-Type": "text/xml"}
    return AWSResponse("https://cloudformation", status, headers, BytesIO(text.encode()))


class BytesIO(io.BytesIO):
    def stream(self) -> Iterator[bytes]:
        yield self.read()


class SessionOf(Session):
    """Session over one of boto3's."""

    def __init__(self, session: boto3.Session) -> None:
        super().__init__(None, session.region_name)
        self.boto3 = session


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> Stacks:
    """Stacks in an account: two with workflows, one without."""
    made = Stacks()
    session = boto3.Session(region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="s")
    answer: Any = made.answer
    session.events.register("before-send.cloudformation.DescribeStacks", answer)
    monkeypatch.setattr(ui_command, "session_of", lambda _options: SessionOf(session))
    return made


def options(*arguments: str) -> Namespace:
    return grammar().parse_args(["ui", "--region", "us-east-1", *arguments])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), {("Shop", "Orders"), ("Shop", "Returns"), ("Other", "Mail")}),
        (("--stack", "Shop"), {("Shop", "Orders"), ("Shop", "Returns")}),
        (("--stack", "Shop", "--workflow", "Returns"), {("Shop", "Returns")}),
        (("--table", "t", "--workflow", "w"), {("-", "w")}),
    ],
)
@pytest.mark.usefixtures("stacks")
def test_workflows_are_found(arguments: tuple[str, ...], expected: set[tuple[str, str]]) -> None:
    assert set(ui_command._directory(options(*arguments)).places()) == expected


def test_a_later_deployment_appears(stacks: Stacks) -> None:
    directory = ui_command._directory(options())
    before = directory.places()
    del stacks.named["Other"]
    assert directory.places() is before
    directory.clock_s = lambda: 1e12
    after = directory.places()
    assert set(after) == {("Shop", "Orders"), ("Shop", "Returns")}
    assert after["Shop", "Orders"] is before["Shop", "Orders"]


def test_the_first_deployment_appears_at_once(stacks: Stacks) -> None:
    stacks.named = {"Plain": []}
    directory = ui_command._directory(options())
    assert directory.places() == {}
    stacks.named["Plain"] = ["First"]
    assert set(directory.places()) == {("Plain", "First")}


def test_outputs_that_only_look_like_a_workflow_hide_no_other(stacks: Stacks) -> None:
    stacks.named["Plain"] = ["not a workflow"]
    places = ui_command._directory(options()).places()
    assert len(places) == 4
    with pytest.raises(ClientError, match="workflow: expected"):
        _ = places["Plain", "not a workflow"].client


@pytest.mark.usefixtures("stacks")
def test_only_with_changes_allowed_is_the_client_able_to_change() -> None:
    for arguments, able in [((), False), (("--allow-changes",), True)]:
        for place in ui_command._directory(options(*arguments)).places().values():
            assert (place.client.starts is not None, place.client.tasks is not None) == (able, able)


@pytest.mark.usefixtures("stacks")
def test_what_the_command_refuses(unum: Callable[..., Any]) -> None:
    absent = unum("ui", "--stack", "Absent", "--region", "us-east-1")
    assert (absent.code, "Absent" in absent.err) == (2, True)
    assert unum("ui", "--table", "t", "--region", "us-east-1").code == 2
    assert unum("ui", "--port", "70000").code == 2
    with open_socket(0) as taken:
        ran = unum("ui", "--port", str(taken.getsockname()[1]), "--region", "us-east-1")
    assert (ran.code, "choose another one" in ran.err) == (1, True)


def test_missing_packages_are_named(unum: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "unum_cli.ui.guard", None)
    ran = unum("ui", "--region", "us-east-1")
    assert (ran.code, "pip install 'unum-cli[ui]'" in ran.err) == (1, True)


@pytest.mark.usefixtures("stacks")
def test_the_url_is_printed_before_the_page_is_served(
    unum: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Any] = []
    opened: list[str] = []
    pages: list[str] = []

    def run(_self: Any, sockets: list[Any]) -> None:
        served.extend(sockets)
        pages.extend(Path(urlsplit(url).path).read_text() for url in opened)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    ran = unum("ui", "--region", "us-east-1", "--json", "--open")
    (bound,) = served
    assert ran.code == 0
    address = f"http://127.0.0.1:{bound.getsockname()[1]}/?"
    assert json.loads(ran.out)["url"].startswith(f"{address}token=")
    assert f'href="{address}code=' in pages[0]
    assert not Path(urlsplit(opened[0]).path).exists()
    bound.close()
