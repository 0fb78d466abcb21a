"""Signatures of the examples for Node.js and curl equal botocore's."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

EXAMPLES = Path(__file__).parents[3] / "docs/snippets/functions/task_tokens"
WHO = Credentials("AKIDEXAMPLE", "a secret", "a/session+token=")
TOKEN = "0" * 64 + "proof"


class Answers:
    """An HTTP server in place of the URL; `seen` has the last request."""

    def __init__(self) -> None:
        answers = self
        self.status = 200

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                answers.seen = {name.lower(): value for name, value in self.headers.items()}, body
                self.send_response(answers.status)
                self.end_headers()
                self.wfile.write(b"{}" if answers.status == 200 else b'{"__type": "TaskTimedOut"}')

            def log_message(self, *_: Any) -> None:
                """Print nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.seen: tuple[dict[str, str], bytes] = {}, b""


@pytest.fixture
def answers() -> Iterator[Answers]:
    found = Answers()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def run(command: list[str], url: str, output: str) -> "subprocess.CompletedProcess[str]":
    program = shutil.which(command[0])
    if program is None:
        pytest.skip(f"{command[0]} is not installed")
    who = {"AWS_ACCESS_KEY_ID": WHO.access_key, "AWS_SECRET_ACCESS_KEY": WHO.secret_key}
    env = {**who, "AWS_SESSION_TOKEN": str(WHO.token), "AWS_REGION": "eu-west-3", "PATH": "/usr/bin:/bin"}
    arguments = [program, *command[1:], url, TOKEN, output]
    return subprocess.run(arguments, check=False, timeout=60, env=env, capture_output=True, text=True)  # noqa: S603 - ours


COMMANDS = [["node", str(EXAMPLES / "answer.mjs")], ["sh", str(EXAMPLES / "answer.sh")]]


@pytest.mark.parametrize("command", COMMANDS, ids=["node", "curl"])
def test_the_request_is_signed(answers: Answers, command: list[str]) -> None:
    done = run(command, answers.url, "42")
    assert done.returncode == 0, done.stderr
    headers, body = answers.seen
    assert json.loads(body) == {"taskToken": TOKEN, "output": "42"}
    parts = dict(part.split("=", 1) for part in headers["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(", "))
    names = parts["SignedHeaders"].split(";")
    # AWS refuses requests whose x-amz headers are not signed.
    assert {"host", "x-amz-date", "x-amz-security-token"} <= {*names}
    assert parts["Signature"] == signature(answers.url, {name: headers[name] for name in names}, body)


def signature(url: str, headers: dict[str, str], body: bytes) -> str:
    """Return botocore's signature for the same time."""
    auth = SigV4Auth(WHO, "lambda", "eu-west-3")
    request = AWSRequest("POST", url, headers, body)
    then = datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - then).total_seconds()) < 300
    request.context["timestamp"] = headers["x-amz-date"]
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return str(auth.signature(text, request))


@pytest.mark.parametrize("command", COMMANDS, ids=["node", "curl"])
def test_a_refusal_is_an_error_with_its_name(answers: Answers, command: list[str]) -> None:
    answers.status = 400
    done = run(command, answers.url, "42")
    assert done.returncode != 0
    assert "TaskTimedOut" in done.stderr + done.stdout
