"""Modules that commands about executions load before AWS's answer, as a measure of their start.

`benchmarks/commands.py` measures what that takes.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.wire.conftest import Peer, answer, no_pauses, start

__all__ = ["no_pauses", "start"]  # fixtures

SLOW = {
    "asyncio",
    "boto3",
    "botocore",
    "email.parser",
    "http.client",
    "importlib.resources",
    "jinja2",
    "ssl",
    "starlette",
}
"""What takes tens of milliseconds to load, and no command here needs."""

MOST_OF_OURS = {"history": 202}
"""Modules of this project: a history has events of all kinds."""

OF_STACK = {
    "Table": "t",
    "Workflow": "w",
    "Retention": "86400",
    "StartAlias": "arn:aws:lambda:us-east-1:123456789012:function:entry:start-w",
    "DescribeAlias": "arn:aws:lambda:us-east-1:123456789012:function:control:describe-w",
    "ControlFunction": "arn:aws:lambda:us-east-1:123456789012:function:control",
}
MEMBERS = "".join(
    f"<member><OutputKey>W{name}</OutputKey><OutputValue>{value}</OutputValue></member>"
    for name, value in OF_STACK.items()
)
STACK = (
    '<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult>'
    f"<Stacks><member><Outputs>{MEMBERS}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
)
REFUSED = answer(b'{"__type": "x#AccessDeniedException", "message": "not you"}', "400 Bad Request")

CODE = """
import sys
from unum_cli.main import main
code = main(sys.argv[1:])
print(code, *sorted(sys.modules))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("describe", "e"),
        ("list",),
        ("steps", "e"),
        ("history", "e"),
        ("start", "--input", "{}"),
        ("wait", "e"),
        ("why", "e"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_loads_what_it_needs(start: Callable[..., Peer], arguments: tuple[str, ...]) -> None:
    peer = start(answer(STACK.encode()), REFUSED)
    code, *modules = ran(peer, *arguments)
    assert code == "1", "AWS has refused the second request"
    assert len(peer.requests) > 1
    assert SLOW & {*modules} == set()
    ours = [name for name in modules if name.startswith("unum_")]
    assert len(ours) <= MOST_OF_OURS.get(arguments[0], 187), len(ours)


def test_what_loads_too_much_is_found(start: Callable[..., Peer]) -> None:
    _, *modules = ran(start(answer(STACK.encode()), REFUSED), "describe", "e", UNUM_CLIENT="botocore")
    assert {"boto3", "botocore"} <= SLOW & {*modules}


def ran(peer: Peer, *arguments: str, **variables: str) -> list[str]:
    environment: dict[str, Any] = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "UNUM_"))},
        "AWS_ENDPOINT_URL": peer.url,
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        **variables,
    }
    command = [sys.executable, "-c", CODE, *arguments, "--stack", "S", "--region", "us-east-1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert done.stdout, done.stderr
    return done.stdout.splitlines()[-1].split()
