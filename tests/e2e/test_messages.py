"""Messages of a queue that start executions: one for each message, in whatever batch Lambda delivers it."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.conftest import Deployment, until
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e


def test_one_message_in_two_batches_starts_one_execution(deployment: Deployment) -> None:
    """As the mapping of a queue invokes the start alias; the messages name a case of the workflow that ends at once."""
    client, alias = deployment.client("Probes"), deployment.outputs["Probes"]["WorkflowStartAlias"]
    before = {each.name for each in client.list()[0]}
    ids = [uuid4().hex for _ in range(3)]

    def message(message_id: str) -> dict[str, Any]:
        source = {"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:orders"}
        return {**source, "messageId": message_id, "body": json.dumps({"case": "x"}), "attributes": {}}

    reply: list[str] = []
    for batch in (ids[:2], ids[1:], ids[1:2]):
        answer = deployment.invoke(alias, {"Records": [message(each) for each in batch]})
        reply += answer.get("executions", [answer.get("execution")])
    assert len({*reply}) == 3
    for name in {*reply}:
        until(lambda name=name: _has_ended(client, name))  # type: ignore[misc]
    assert {each.name for each in client.list()[0]} - before == {*reply}


def _has_ended(client: Any, name: str) -> bool:
    return name in {each.name for each in client.list()[0] if each.status is not Status.RUNNING}
