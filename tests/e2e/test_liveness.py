"""Events that are lost, late, foreign or dead: their executions end without anybody's help."""

import json
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import Deployment, until
from tests.e2e.lost_starts import start_lost
from tests.e2e.role_sessions import session_of
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_runtime.features.timers.sqs_timer import Delayed
from unum_runtime.model.checkpoint import Status, Success
from unum_runtime.model.envelope import Envelope, Value, start_request, with_alias
from unum_runtime.model.naming import Execution, Name, run_alias

LONG_AGO_S = 9 * 3600
"""Events used to be refused after 8 hours."""

pytestmark = pytest.mark.e2e


class Earlier:
    """A clock that shows how late it was long ago."""

    def now_ms(self) -> int:
        return int((time.time() - LONG_AGO_S) * 1000)


@dataclass(frozen=True)
class Lost:
    """An execution that started long ago, whose first event never arrived."""

    client: Client
    name: str
    address: str
    event: Envelope

    @classmethod
    def of(cls, deployment: Deployment, workflow: str) -> "Lost":
        client = deployment.client("Control", workflow)
        # What a first event looks like is known from an execution that went well.
        (step, *_) = client.steps(client.run({"n": 0}, timeout_s=PATIENCE_S).name)
        name, value = uuid.uuid4().hex, {"n": 1}
        begun = start_lost(client, value, name, Earlier())
        started_ms = round(begun.started_at.timestamp() * 1000)
        event = Envelope(
            workflow=client.workflow,
            digest=str(step.checkpoint.digest),
            name=Name(Execution(name, started_ms), (), 1),
            state="Once",
            input=Value(Success(value), started_ms),
            sent_s=started_ms // 1000,
            routes={},
        )
        assert step.checkpoint.began is not None
        return cls(client, name, step.checkpoint.began.address, event)

    def end(self) -> tuple[Status, Any]:
        """Wait for the end of the execution; return its status and output."""
        ended = self.client.wait(self.name, timeout_s=PATIENCE_S)
        return ended.status, ended.output


RIGHT = (Status.SUCCEEDED, {"n": 1})
"""End of every execution that goes on."""


def put(deployment: Deployment, workflow: str, letter: str, sender: boto3.Session | None = None) -> str:
    """Put a dead letter into the failure queue, and return its URL."""
    url = deployment.outputs["Control"][f"{workflow}FailureQueue"]
    (sender or deployment.session).client("sqs").send_message(QueueUrl=url, MessageBody=letter)
    return url


def is_empty(deployment: Deployment, url: str) -> bool:
    asked = deployment.session.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return asked["ApproximateNumberOfMessages"] == asked["ApproximateNumberOfMessagesNotVisible"] == "0"


def test_a_letter_with_an_event_that_waited_for_long_is_sent_by_itself(deployment: Deployment) -> None:
    lost = Lost.of(deployment, "Reported")
    delayed = Delayed(lost.address, lost.event.to_bytes(), lost.event.sent_s * 1000)
    url = put(deployment, "Reported", delayed.to_body())
    assert lost.end() == RIGHT  # the sweep of this workflow sends nothing but dead letters
    until(lambda: is_empty(deployment, url))


def test_a_letter_of_the_failure_handler_is_tried_again_by_itself(deployment: Deployment) -> None:
    lost = Lost.of(deployment, "Reported")
    alias = with_alias(str(lost.client.start_alias), run_alias(lost.client.workflow))
    handler = deployment.session.client("lambda").get_function_event_invoke_config(FunctionName=alias)
    context = {"requestId": "start", "functionArn": alias, "condition": "RetriesExhausted"}
    record = {"requestContext": context, "requestPayload": start_request(lost.name)}
    around = {"functionArn": handler["DestinationConfig"]["OnFailure"]["Destination"], "condition": "RetriesExhausted"}
    letter = json.dumps({"requestContext": around, "requestPayload": record})
    with session_of(deployment, around["functionArn"].split(":")[6]) as intake:
        url = put(deployment, "Reported", letter, intake)
    assert lost.end() == RIGHT
    until(lambda: is_empty(deployment, url))


def test_an_event_of_a_version_that_there_is_not_nudges_its_execution(deployment: Deployment) -> None:
    lost = Lost.of(deployment, "Unlisted")
    payload = replace(lost.event, digest="of-nobody").to_bytes()
    deployment.session.client("lambda").invoke(FunctionName=lost.address, InvocationType="Event", Payload=payload)
    assert lost.end() == RIGHT


def test_event_of_an_unknown_workflow_is_a_dead_letter_with_an_alarm(deployment: Deployment) -> None:
    lost = Lost.of(deployment, "Unlisted")
    payload = replace(lost.event, workflow="Unheard").to_bytes()
    deployment.session.client("lambda").invoke(FunctionName=lost.address, InvocationType="Event", Payload=payload)
    queue, url = deployment.session.client("sqs"), deployment.outputs["Control"]["UnlistedFailureQueue"]
    received: list[Any] = []

    def has_come() -> bool:
        received.extend(queue.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages", []))
        return bool(received)

    until(has_come)
    letter = json.loads(received[0]["Body"])
    assert "got 'Unheard'" in letter["responsePayload"]["errorMessage"]
    queue.delete_message(QueueUrl=url, ReceiptHandle=received[0]["ReceiptHandle"])


def test_the_sweep_that_nobody_asked_for_finds_an_event_that_was_lost(deployment: Deployment) -> None:
    client = deployment.client("Control")
    run = uuid.uuid4().hex
    start_lost(client, {"run": run, "items": [1]}, run, Earlier())
    assert [each.name for each in client.list("RUNNING").executions] == [run]
    scheduler = deployment.session.client("scheduler")
    schedules = [
        scheduler.get_schedule(Name=each["Name"], GroupName=each["GroupName"])
        for page in scheduler.get_paginator("list_schedules").paginate()
        for each in page["Schedules"]
    ]
    outputs = deployment.outputs["Control"]
    control = f"{outputs['WorkflowControlFunction']}:sweep-{outputs['WorkflowWorkflow']}"
    (hourly,) = [each for each in schedules if each["Target"]["Arn"] == control]
    assert hourly["ScheduleExpression"] == "rate(1 hour)"
    swept = deployment.invoke(control, json.loads(hourly["Target"]["Input"]))
    assert swept == {"looked_at": 1, "silent": 1, "is_done": True}
    assert client.wait(run, timeout_s=PATIENCE_S).output == [1]
    assert [each.status for each in client.list(limit=1).executions] == [Status.SUCCEEDED]
