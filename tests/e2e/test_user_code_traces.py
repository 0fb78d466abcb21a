"""Traces of user code in deployed functions, sent to a collector and to X-Ray's daemon, both in this process."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment, app_command, until
from tests.patience import PATIENCE_S
from tests.unit.cli.traces.collector import Collector, collecting, facts
from tests.unit.cli.traces.user_code import tree
from unum_cli.main import main
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e

APP = app_command("tests.e2e.traced.app")
SPANS = """
  Receive
    user code
      select
  Lines
    Lines branch
      Price
        user code
          update
    Lines branch
      Price exception
        user code ERROR Busy
          update ERROR Busy: try again exception
        user code
          update
  Pause
  Ship
    user code
      insert
"""
PARTS = ("queue", "cold start", "waiting")


@dataclass
class Daemon:
    """Stand-in for X-Ray's daemon that keeps received segments."""

    address: str
    segments: list[dict[str, Any]] = field(default_factory=list)

    def named(self, name: str) -> list[dict[str, Any]]:
        return [each for each in self.segments if each["name"] == name]


@contextmanager
def listening() -> Iterator[Daemon]:
    """Take documents by UDP, as X-Ray's daemon does."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        daemon, ends = Daemon(f"127.0.0.1:{server.getsockname()[1]}"), threading.Event()

        def take() -> None:
            while not ends.is_set():
                try:
                    header, _, document = server.recv(65_536).partition(b"\n")
                except TimeoutError:
                    continue
                assert json.loads(header) == {"format": "json", "version": 1}
                daemon.segments.append(json.loads(document))

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield daemon
        ends.set()
        thread.join(10)


@dataclass
class Told:
    """A finished execution, and what the outside was told of it."""

    execution: str
    workflow: str
    collector: Collector
    daemon: Daemon


@pytest.fixture(scope="module")
def reply(bootstrapped: Emulator) -> Iterator[Told]:
    with collecting() as collector, listening() as daemon, pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNUM_TEST_COLLECTOR", collector.url)
        patch.setenv("UNUM_TEST_DAEMON", daemon.address)
        deployed = Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["Traced"], app=APP, cwd=ROOT))
        client = deployed.client("Traced")
        ended = client.run([1, 2], timeout_s=PATIENCE_S)
        assert (ended.status, ended.output) == (Status.SUCCEEDED, 3)
        until(lambda: any(span.name == "insert" for span in collector.spans))
        until(lambda: bool(daemon.named("Ship")) and bool(daemon.named("## ship")))
        yield Told(ended.name, client.workflow, collector, daemon)
        cdk.destroy(bootstrapped, ["Traced"], app=APP, cwd=ROOT)


def test_functions_and_the_table_make_one_trace(reply: Told, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--stack", "Traced", "--workflow", reply.workflow)
    assert main(["trace", reply.execution, *where, "--without-user-code", "--otlp", reply.collector.url]) == 0
    capsys.readouterr()
    spans = reply.collector.spans
    assert len({span.trace_id for span in spans}) == 1
    whole = sorted(spans, key=lambda span: (span.name not in PARTS, span.start_time_unix_nano))
    found = [line for line in tree(whole) if line.strip() not in PARTS]
    assert [line.split(" <-")[0] for line in found[1:]] == SPANS.strip("\n").splitlines()


def test_functions_name_themselves(reply: Told) -> None:
    (resource, *_) = [resource for request in reply.collector.requests for resource in request.resource_spans]
    assert facts(resource.resource)["service.name"] == reply.workflow


def test_each_attempt_is_a_subsegment_with_annotations(reply: Told) -> None:
    tried = sorted((each["annotations"]["attempt"], each.get("fault", False)) for each in reply.daemon.named("Price"))
    assert tried == [(1, False), (1, True), (2, False)]
    (ship,) = reply.daemon.named("Ship")
    assert ship["annotations"] == {
        "workflow": reply.workflow,
        "execution": reply.execution,
        "state": "Ship",
        "attempt": 1,
    }


def test_tracer_is_below_its_task(reply: Told) -> None:
    for task, handler in (("Receive", "## receive"), ("Ship", "## ship")):
        (outer,), (inner,) = reply.daemon.named(task), reply.daemon.named(handler)
        assert (inner["parent_id"], inner["trace_id"]) == (outer["id"], outer["trace_id"])


def test_the_trace_of_x_ray_survives_queues(reply: Told) -> None:
    roots = {each["trace_id"] for name in ("Receive", "Price", "Ship") for each in reply.daemon.named(name)}
    assert len(roots) == 1
