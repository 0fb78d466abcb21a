"""Workflows whose parts are under a key of the user's, or in nested stacks: with IAM enforced, they run."""

import pytest

from tests.e2e.conftest import Deployment
from tests.patience import PATIENCE_S
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("stack", ["Keyed", "Parted"])
def test_an_execution_waits_and_ends(deployment: Deployment, stack: str) -> None:
    ended = deployment.client(stack).run({"n": 1}, timeout_s=PATIENCE_S)
    assert (ended.status, ended.output) == (Status.SUCCEEDED, 20)


@pytest.mark.parametrize("stack", ["Keyed", "Parted"])
def test_an_execution_retries_and_fails(deployment: Deployment, stack: str) -> None:
    ended = deployment.client(stack).run({"n": -5}, timeout_s=PATIENCE_S)
    assert (ended.status, ended.error) == (Status.FAILED, "ValueError")


@pytest.mark.parametrize("stack", ["SharingFirst", "SharingSecond"])
@pytest.mark.parametrize(("n", "output"), [(1, 20), (-1, "caught")], ids=["succeeds", "dies"])
def test_workflows_of_two_stacks_share_a_function(deployment: Deployment, stack: str, n: int, output: object) -> None:
    """Lambda sends what it gave up to the first stack, which forwards what belongs to the second one."""
    ended = deployment.client(stack).run({"n": n}, timeout_s=PATIENCE_S)
    assert (ended.status, ended.output) == (Status.SUCCEEDED, output)


def test_queues_are_under_the_key(deployment: Deployment) -> None:
    """Of the others the emulator does not tell the key; `tests.synth.test_encryption` looks for it in the template."""
    key, queues = deployment.outputs["Keyed"]["KeyArn"], deployment.session.client("sqs")
    urls = [url for url in queues.list_queues()["QueueUrls"] if "Keyed" in url]
    assert len(urls) == 2, "what failed, and what waits"
    for url in urls:
        attributes = queues.get_queue_attributes(QueueUrl=url, AttributeNames=["KmsMasterKeyId"])["Attributes"]
        assert attributes["KmsMasterKeyId"] == key
