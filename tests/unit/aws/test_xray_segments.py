"""Subsegments of X-Ray around user code, received by UDP as the daemon does; below them, those of X-Ray's own SDK."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from unum_runtime.features.traces.xray import DAEMON, HEADER, in_segments
from unum_runtime.protocol.runtime import Call

ROOT = "1-5759e988-bd862e3fe1be46a994272793"
LAMBDA = "53995c3f42cd8ad8"
SAMPLED = f"Root={ROOT};Parent={LAMBDA};Sampled=1;Lineage=1:a:2"

FUSED = """
import os, sys
from types import SimpleNamespace
from aws_lambda_powertools import Tracer
from unum_runtime.features.traces.xray import in_segments
from unum_runtime.protocol.runtime import Call

tracer = Tracer(service="shop")

@tracer.capture_lambda_handler
def charge(event, context):
    with tracer.provider.in_subsegment("query"):
        return event

handler = in_segments(charge)
for trace in ("1-5759e988-bd862e3fe1be46a994272793", "1-5759e988-bd862e3fe1be46a994272794"):
    os.environ["_X_AMZN_TRACE_ID"] = f"Root={trace};Parent=53995c3f42cd8ad8;Sampled=1"
    for state in ("A", "B"):
        call = Call("e", "e:1#1", state, "f", "Flow/e:1#1")
        handler("done", SimpleNamespace(unum=call, aws_request_id="r", function_name="f"))
"""


@dataclass
class Daemon:
    """X-Ray's daemon, as far as it takes documents."""

    server: socket.socket

    @property
    def address(self) -> str:
        host, port = self.server.getsockname()
        return f"{host}:{port}"

    def segments(self) -> list[dict[str, Any]]:
        """Return the documents that have come."""
        found: list[dict[str, Any]] = []
        while True:
            try:
                header, _, document = self.server.recv(65_536).partition(b"\n")
            except BlockingIOError:
                return found
            assert json.loads(header) == {"format": "json", "version": 1}
            found.append(json.loads(document))


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)  # noqa: FBT003 - positional in the standard library
        found = Daemon(server)
        monkeypatch.setenv(DAEMON, found.address)
        monkeypatch.setenv(HEADER, SAMPLED)
        yield found


def context(state: str = "Charge", attempt: int = 0) -> Any:
    call = Call("order-17", "order-17:1#1", state, "f", "Flow/order-17:1#1", attempt=attempt)
    return SimpleNamespace(unum=call, aws_request_id="r")


def test_an_attempt_is_a_subsegment_below_lambda_s(daemon: Daemon) -> None:
    inside = []

    def code(event: Any, _: Any) -> Any:
        inside.append(os.environ[HEADER])
        return event

    assert in_segments(code)("done", context(attempt=2)) == "done"
    (segment,) = daemon.segments()
    assert {name: segment[name] for name in ("name", "trace_id", "parent_id", "type", "annotations")} == {
        "name": "Charge",
        "trace_id": ROOT,
        "parent_id": LAMBDA,
        "type": "subsegment",
        "annotations": {"workflow": "Flow", "execution": "order-17", "state": "Charge", "attempt": 3},
    }
    assert len(segment["id"]) == 16
    assert segment["start_time"] <= segment["end_time"]
    assert "fault" not in segment
    # Requests of user code are inside; what the runtime sends afterwards is not.
    assert inside == [f"Root={ROOT};Parent={segment['id']};Sampled=1;Lineage=1:a:2"]
    assert os.environ[HEADER] == SAMPLED


def test_a_failure_is_a_fault_without_its_message(daemon: Daemon) -> None:
    def code(_: Any, __: Any) -> Any:
        raise PermissionError("secret")

    with pytest.raises(PermissionError):
        in_segments(code)("event", context())
    (segment,) = daemon.segments()
    (exception,) = segment["cause"]["exceptions"]
    assert (segment["fault"], exception["type"]) == (True, "PermissionError")
    assert "secret" not in json.dumps(segment)
    assert os.environ[HEADER] == SAMPLED


@pytest.mark.parametrize(
    "header", ["", "Root=1-2-3;Sampled=0", f"Root={ROOT};Parent={LAMBDA};Sampled=0", f"Root={ROOT};Sampled=1"]
)
def test_traces_that_x_ray_drops_have_none(daemon: Daemon, monkeypatch: pytest.MonkeyPatch, header: str) -> None:
    monkeypatch.setenv(HEADER, header)
    assert in_segments(lambda event, _: event)("done", context()) == "done"
    assert daemon.segments() == []
    assert os.environ[HEADER] == header


def test_calls_beside_workflows_have_none(daemon: Daemon) -> None:
    assert in_segments(lambda event, _: event)("done", SimpleNamespace()) == "done"
    assert daemon.segments() == []


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "host:port"])
def test_a_daemon_that_is_not_there_fails_no_task(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(DAEMON, address)
    assert in_segments(lambda event, _: event)("done", context()) == "done"
    assert daemon.segments() == []


def test_names_have_the_characters_that_x_ray_allows(daemon: Daemon) -> None:
    in_segments(lambda event, _: event)("done", context("Is it <large>? (€)"))
    assert [each["name"] for each in daemon.segments()] == ["Is it _large__ ___"]


def test_subsegments_of_powertools_are_below_their_task(daemon: Daemon) -> None:
    """Several Tasks of one delivery, and several deliveries: X-Ray's SDK reads the header once a trace."""
    given = {DAEMON: daemon.address, "LAMBDA_TASK_ROOT": "/var/task", "POWERTOOLS_SERVICE_NAME": "shop"}
    code = f"import sys; sys.path[:0] = {sys.path!r}\n{FUSED}"
    subprocess.run([sys.executable, "-c", code], env=given, check=True, timeout=120)  # noqa: S603 - ours
    found = daemon.segments()
    tasks = [each for each in found if each["name"] in ("A", "B")]
    handlers = [each for each in found if each["name"] == "## charge"]
    assert [each["name"] for each in tasks] == ["A", "B", "A", "B"]
    assert [(each["parent_id"], each["trace_id"]) for each in handlers] == [
        (each["id"], each["trace_id"]) for each in tasks
    ]
    queries = [each["parent_id"] for each in found if each["name"] == "query"]
    assert queries == [each["id"] for each in handlers]
