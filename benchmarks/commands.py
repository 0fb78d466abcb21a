"""Processor time of commands about executions, beside that of a program that makes one client with boto3.

python benchmarks/commands.py [--json]

Each command is a new process, and asks a server that refuses what it asks after the stack's outputs. Both sides run in
turn, so other load affects both; the ratio is of the fastest runs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

RUNS = 5
COMMANDS = (
    ("describe", "e"),
    ("list",),
    ("steps", "e"),
    ("history", "e"),
    ("start", "--input", "{}"),
    ("wait", "e"),
    ("why", "e"),
)
BOTO3 = "import boto3; boto3.client('dynamodb')"
ENTRY = "arn:aws:lambda:us-east-1:123456789012:function"
OUTPUTS = {
    "Table": "t",
    "Workflow": "w",
    "Retention": "86400",
    "StartAlias": f"{ENTRY}:entry:start-w",
    "DescribeAlias": f"{ENTRY}:control:describe-w",
    "ControlFunction": f"{ENTRY}:control",
}
MEMBERS = "".join(
    f"<member><OutputKey>W{name}</OutputKey><OutputValue>{value}</OutputValue></member>"
    for name, value in OUTPUTS.items()
)
STACK = (
    '<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult>'
    f"<Stacks><member><Outputs>{MEMBERS}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
).encode()
REFUSED = b'{"__type": "x#AccessDeniedException", "message": "a benchmark"}'


class _Server(BaseHTTPRequestHandler):
    """CloudFormation with one stack; other services refuse everything."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["content-length"]))
        status, body = (200, STACK) if b"Action=DescribeStacks" in form else (400, REFUSED)
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _served() -> Iterator[dict[str, str]]:
    """Serve, and yield the environment of a process that asks the server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "UNUM_"))},
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }
        server.shutdown()


def _cpu_s(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, capture_output=True, check=False)  # noqa: S603 - written above
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure() -> dict[str, dict[str, float]]:
    """Return processor seconds and the ratio to boto3 alone, by command."""
    program = [sys.executable, "-c", "import sys; from unum_cli.main import main; sys.exit(main())"]
    sides = {"boto3 alone": [sys.executable, "-c", BOTO3]}
    sides |= {f"unum {each[0]}": [*program, *each, "--stack", "S"] for each in COMMANDS}
    with _served() as environment:
        rounds = [{name: _cpu_s(side, environment) for name, side in sides.items()} for _ in range(RUNS)]
    fastest = {name: min(each[name] for each in rounds) for name in sides}
    return {name: {"cpu_s": round(s, 3), "ratio": round(s / fastest["boto3 alone"], 2)} for name, s in fastest.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    found = measure()
    if parser.parse_args().json:
        print(json.dumps(found, indent=1))
        return
    for name, figures in found.items():
        print(f"{name:<16}{figures['cpu_s']:>8.3f} s{figures['ratio']:>8.2f} x boto3 alone")


if __name__ == "__main__":
    main()
