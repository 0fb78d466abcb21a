"""Reserved concurrency of 0 pauses functions: executions wait, go on, and keep their versions; others are pruned."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment, until
from unum_cli.main import main
from unum_client import Client
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.errors import InvokeError
from unum_runtime.model.checkpoint import Status

NUMBERS = ("1", "2", "3")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments and pauses on a busy machine


@pytest.fixture(scope="module")
def deploy(bootstrapped: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Deployment]:
    folder = tmp_path_factory.mktemp("throttled")
    subprocess.run([sys.executable, "-m", "tests.e2e.throttled.app", str(folder), *NUMBERS], cwd=ROOT, check=True)  # noqa: S603 - ours

    def deployed(number: str) -> Deployment:
        return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["--all"], app=str(folder / number), cwd=ROOT))

    return deployed


@contextmanager
def paused(*functions: str) -> Iterator[None]:
    """Reserve no concurrency for `functions`, as operators do to stop them."""
    client = boto3.client("lambda")
    for function in functions:
        client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    try:
        yield
    finally:
        for function in functions:
            client.delete_function_concurrency(FunctionName=function)


def waits(client: Client, name: str, state: str) -> bool:
    """Return True if the execution exists, and waits for concurrency in all that it needs."""
    if name not in {each.name for each in client.list().executions}:
        return False
    found = client.why(name).missing
    return bool(found) and all(each.state == state and each.throttled_since is not None for each in found)


def unum(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    code = main([*arguments, "--stack", "Throttled", "--json"])
    read = capsys.readouterr()
    assert code == 0, read.err
    return json.loads(read.out)


def versions_of(function: str) -> list[int]:
    pages = boto3.client("lambda").get_paginator("list_versions_by_function").paginate(FunctionName=function)
    return [int(each["Version"]) for page in pages for each in page["Versions"] if each["Version"].isdecimal()]


def test_paused_executions_go_on_and_keep_their_versions(
    deploy: Callable[[str], Deployment], capsys: pytest.CaptureFixture[str]
) -> None:
    deployed = deploy("1")
    client, outputs = deployed.client("Throttled"), deployed.outputs["Throttled"]
    first, each, last = (outputs[f"{name}Name"] for name in ("First", "Each", "Last"))
    with paused(first):
        # The events of the starts are given up first, and then those of the first Task.
        for payload in (b'["x"]', b'["y", "z"]'):
            alias = outputs["WorkflowStartAlias"]
            boto3.client("lambda").invoke(FunctionName=alias, InvocationType="Event", Payload=payload)
        with pytest.raises(InvokeError, match="TooManyRequestsException"):
            client.start([], name="refused")  # a start that waits for an answer is refused at once
        until(lambda: len(client.list().executions) == 2)
        names = [execution.name for execution in client.list().executions]
        until(lambda: all(waits(client, name, "First") for name in names))
        assert {execution.status for execution in client.list().executions} == {Status.RUNNING}
    with paused(each, last):
        until(lambda: all(waits(client, name, "Each") for name in names))
        client.start(["a", "b"], name="branches")
        until(lambda: waits(client, "branches", "Each"))
        assert len(client.why("branches").missing) == 2
        deploy("2")
        deploy("3")
        pruned = unum(capsys, "versions", "prune", "--keep", "1", "--yes")
        assert {version["function"].rpartition(":")[2] for version in pruned["versions"]} >= {first, each, last}
        assert all(versions_of(function) == [1, 3] for function in (first, each, last))
    for name in (*names, "branches"):
        ended = client.wait(name, timeout_s=300)
        assert ended.status is Status.SUCCEEDED
        assert all("by code 1, each by code 1" in result for result in ended.output)
        # No attempt was counted, and no catcher has been used.
        assert {step.state for step in client.steps(name)} <= {"First", "Map", "Each", "Last"}
        assert not [step for step in client.steps(name) if step.checkpoint.continuation.retries]
    shown = unum(capsys, "versions", "prune", "--keep", "1")
    assert (shown["deleted"], versions_of(each)) == (False, [1, 3])
    assert shown["bytes"] > 0
    unum(capsys, "versions", "prune", "--keep", "1", "--yes")
    assert all(versions_of(function) == [3] for function in (first, each, last))
    assert client.wait(client.start(["z"]).name, timeout_s=120).output == ["z by code 3, each by code 3"]
