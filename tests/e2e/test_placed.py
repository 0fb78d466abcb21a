"""Workflows whose parts are under a key of the user's, or in nested stacks: with IAM enforced, they run."""

import shlex
import sys

import boto3
import pytest

from tests.e2e.conftest import ROOT, Deployment
from unum_emulator import cdk
from unum_emulator.process import Emulator
from unum_runtime.model.checkpoint import Status

APP = f"{shlex.quote(sys.executable)} -m tests.e2e.placed.app"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # deployments on a busy machine


@pytest.fixture(scope="module")
def placed(bootstrapped: Emulator) -> Deployment:
    return Deployment(boto3.Session(), cdk.deploy(bootstrapped, ["Keyed", "Parted"], app=APP, cwd=ROOT))


@pytest.mark.parametrize("stack", ["Keyed", "Parted"])
def test_an_execution_waits_and_ends(placed: Deployment, stack: str) -> None:
    ended = placed.client(stack).run({"n": 1}, timeout_s=120)
    assert (ended.status, ended.output) == (Status.SUCCEEDED, 20)


@pytest.mark.parametrize("stack", ["Keyed", "Parted"])
def test_an_execution_retries_and_fails(placed: Deployment, stack: str) -> None:
    ended = placed.client(stack).run({"n": -5}, timeout_s=120)
    assert (ended.status, ended.error) == (Status.FAILED, "ValueError")


def test_queues_are_under_the_key(placed: Deployment) -> None:
    """Of the others the emulator does not tell the key; `tests.synth.test_encryption` looks for it in the template."""
    key, queues = placed.outputs["Keyed"]["KeyArn"], placed.session.client("sqs")
    urls = [url for url in queues.list_queues()["QueueUrls"] if "Keyed" in url]
    assert len(urls) == 2, "what failed, and what waits"
    for url in urls:
        attributes = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["KmsMasterKeyId"])["Attributes"]
        assert attributes["KmsMasterKeyId"] == key
