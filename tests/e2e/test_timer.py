"""An event that waited, and then cannot be handed on: its Task fails, and the execution does not stand still."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.conftest import Deployment
from tests.e2e.timers import forwarder_of, idle
from tests.patience import PATIENCE_S
from unum_constructs.resources.timer_queue import MAX_RECEIVES
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def forwarder(deployment: Deployment) -> Any:
    """Return Lambda's configuration of the function behind the timer queue of the stack Language."""
    return forwarder_of(deployment, "Language")


@contextmanager
def refused(deployment: Deployment, forwarder: Any, address: str) -> Iterator[None]:
    """The forwarder must not invoke the function at `address` meanwhile."""
    iam, role = deployment.session.client("iam"), forwarder["Role"].rpartition("/")[2]
    statement = {"Effect": "Deny", "Action": "lambda:InvokeFunction", "Resource": address}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=role, PolicyName="refused", PolicyDocument=policy)
    try:
        yield
    finally:
        iam.delete_role_policy(RoleName=role, PolicyName="refused")


def test_what_cannot_be_handed_on_fails_its_task_after_the_last_attempt(deployment: Deployment, forwarder: Any) -> None:
    client, queues = deployment.client("Language"), deployment.session.client("sqs")
    with idle(deployment, forwarder) as url:
        name = client.start({"case": "wait"}).name
        messages: list[Any] = []
        while not messages:  # for the 5 seconds that the event has to wait
            messages = queues.receive_message(QueueUrl=url, WaitTimeSeconds=20, AttributeNames=["SenderId"]).get(
                "Messages", []
            )
        (message,) = messages
        queues.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def deliver(receives: int) -> Any:
        attributes = {**message["Attributes"], "ApproximateReceiveCount": str(receives)}
        record = {"messageId": "only", "body": message["Body"], "attributes": attributes}
        return deployment.invoke(forwarder["FunctionName"], {"Records": [record]})

    with refused(deployment, forwarder, json.loads(message["Body"])["address"]):
        assert deliver(MAX_RECEIVES - 1) == {"batchItemFailures": [{"itemIdentifier": "only"}]}
        assert client.describe(name).status is Status.RUNNING
        assert deliver(MAX_RECEIVES) == {"batchItemFailures": []}
    ended = client.wait(name, timeout_s=PATIENCE_S)
    assert (ended.status, ended.error) == (Status.FAILED, "Lambda.AccessDeniedException")
