"""Long delays: from the timer queue into a schedule of EventBridge Scheduler, and back in time."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Deployment, until
from tests.e2e.timers import forwarder_of, idle
from tests.patience import PATIENCE_S
from unum_client import Client
from unum_runtime.model.checkpoint import Status

pytestmark = pytest.mark.e2e

LONG_S = 3
"""What is long in these tests: longer than a delivery takes, and shorter than a test may."""

WAITS_MS = 12_000
TEXT = "<aws.scheduler.attempt-number> & <aws.scheduler.execution-id>"


@dataclass(frozen=True)
class Waiting:
    """The message of an event that waits, taken out of the timer's queue; its execution."""

    deployment: Deployment
    forwarder: Any
    body: str
    sender: str
    name: str

    @property
    def client(self) -> Client:
        return self.deployment.client("Language")

    def deliver(self) -> Any:
        """To the forwarder, as SQS does."""
        attributes = {"ApproximateReceiveCount": "1", "SenderId": self.sender}
        record = {"messageId": "only", "body": self.body, "attributes": attributes}
        return self.deployment.invoke(self.forwarder["FunctionName"], {"Records": [record]})

    def schedules(self) -> list[Any]:
        """Those that are kept."""
        environment = self.forwarder["Environment"]["Variables"]
        group = json.loads(environment["UNUM_SCHEDULES"])["group"]
        scheduler = self.deployment.session.client("scheduler")
        found: list[Any] = scheduler.list_schedules(GroupName=group)["Schedules"]
        return found


@pytest.fixture(scope="module")
def forwarder(deployment: Deployment) -> Iterator[Any]:
    """The function behind the timer of the stack Language, for which seconds are long."""
    found = forwarder_of(deployment, "Language")
    functions, variables = deployment.session.client("lambda"), found["Environment"]["Variables"]
    settings = json.loads(variables["UNUM_SCHEDULES"]) | {"longer_than_s": LONG_S}

    def set_to(environment: Any) -> None:
        functions.update_function_configuration(
            FunctionName=found["FunctionName"], Environment={"Variables": environment}
        )

    set_to({**variables, "UNUM_SCHEDULES": json.dumps(settings)})
    try:
        yield found
    finally:
        set_to(variables)


@pytest.fixture
def waiting(deployment: Deployment, forwarder: Any) -> Waiting:
    """An execution that waits for a second, of which the message says that it has to wait for longer."""
    queues = deployment.session.client("sqs")
    with idle(deployment, forwarder) as url:
        name = deployment.client("Language").start({"case": "long", "seconds": 1, "text": TEXT}).name
        messages: list[Any] = []
        while not messages:
            messages = queues.receive_message(QueueUrl=url, WaitTimeSeconds=20, AttributeNames=["SenderId"]).get(
                "Messages", []
            )
        (message,) = messages
        queues.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    body = json.loads(message["Body"]) | {"due_ms": round(time.time() * 1000) + WAITS_MS}
    return Waiting(deployment, forwarder, json.dumps(body), message["Attributes"]["SenderId"], name)


def test_an_event_waits_in_one_schedule_and_comes_when_it_is_due(waiting: Waiting) -> None:
    assert waiting.deliver() == {"batchItemFailures": []}
    (schedule,) = waiting.schedules()
    assert waiting.deliver() == {"batchItemFailures": []}, "the message came twice"
    assert [each["Name"] for each in waiting.schedules()] == [schedule["Name"]]
    ended = waiting.client.wait(waiting.name, timeout_s=PATIENCE_S)
    assert (ended.status, ended.output) == (Status.SUCCEEDED, {"text": TEXT})
    assert ended.stopped_at is not None
    assert ended.stopped_at.timestamp() * 1000 >= json.loads(waiting.body)["due_ms"]
    until(lambda: waiting.schedules() == [])


def test_what_scheduler_refuses_waits_in_the_queue(waiting: Waiting) -> None:
    roles, role = waiting.deployment.session.client("iam"), waiting.forwarder["Role"].rpartition("/")[2]
    statement = {"Effect": "Deny", "Action": "scheduler:CreateSchedule", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    roles.put_role_policy(RoleName=role, PolicyName="refused", PolicyDocument=policy)
    try:
        assert waiting.deliver() == {"batchItemFailures": []}
        assert waiting.schedules() == []
        ended = waiting.client.wait(waiting.name, timeout_s=PATIENCE_S)
    finally:
        roles.delete_role_policy(RoleName=role, PolicyName="refused")
    assert (ended.status, ended.output) == (Status.SUCCEEDED, {"text": TEXT})


def test_the_schedule_of_a_stopped_execution_wakes_nobody(waiting: Waiting) -> None:
    assert waiting.deliver() == {"batchItemFailures": []}
    assert len(waiting.schedules()) == 1
    waiting.client.stop(waiting.name, error="Enough")
    until(lambda: waiting.schedules() == [])
    time.sleep(LONG_S)  # for the rest of its delay
    ended = waiting.client.describe(waiting.name)
    assert (ended.status, ended.error) == (Status.ABORTED, "Enough")
    assert "After long pause" not in {step.state for step in waiting.client.steps(waiting.name)}


def test_other_groups_are_not_the_forwarders(waiting: Waiting) -> None:
    """IAM knows a schedule by its group."""
    waiting.deployment.session.client("scheduler").create_schedule_group(Name="other")
    functions, name = waiting.deployment.session.client("lambda"), waiting.forwarder["FunctionName"]
    variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    settings = json.loads(variables["UNUM_SCHEDULES"]) | {"group": "other"}
    moved = {"Variables": {**variables, "UNUM_SCHEDULES": json.dumps(settings)}}
    functions.update_function_configuration(FunctionName=name, Environment=moved)  # type: ignore[arg-type]  # by name
    try:
        assert waiting.deliver() == {"batchItemFailures": []}
        assert waiting.deployment.session.client("scheduler").list_schedules(GroupName="other")["Schedules"] == []
        assert waiting.client.wait(waiting.name, timeout_s=PATIENCE_S).status is Status.SUCCEEDED
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})


def test_the_role_of_schedules_sends_to_two_queues_and_does_nothing_else(
    deployment: Deployment, forwarder: Any
) -> None:
    settings = json.loads(forwarder["Environment"]["Variables"]["UNUM_SCHEDULES"])
    client = _as(deployment, settings["role"])
    allowed, refused = deployment.session.client("sqs"), client("sqs")
    urls = {
        name: allowed.get_queue_url(QueueName=settings[name].rpartition(":")[2])["QueueUrl"]
        for name in ("queue", "dead_letters")
    }
    for url in urls.values():
        assert refused.send_message(QueueUrl=url, MessageBody="{}", DelaySeconds=900)["MessageId"]
    target = {"Arn": settings["queue"], "RoleArn": settings["role"], "Input": "{}"}
    at = {"ScheduleExpression": "at(2099-01-01T00:00:00)", "FlexibleTimeWindow": {"Mode": "OFF"}}
    tries: list[Callable[[], Any]] = [
        lambda: refused.send_message(QueueUrl=deployment.outputs["Language"]["LettersUrl"], MessageBody="{}"),
        lambda: refused.receive_message(QueueUrl=urls["queue"]),
        lambda: refused.receive_message(QueueUrl=urls["dead_letters"]),
        lambda: client("lambda").invoke(FunctionName=forwarder["FunctionName"], InvocationType="DryRun"),
        lambda: client("scheduler").create_schedule(Name="more", GroupName=settings["group"], Target=target, **at),
        lambda: client("dynamodb").scan(TableName=deployment.outputs["Language"]["WorkflowTable"]),
    ]
    for attempt in tries:
        with pytest.raises(ClientError, match="AccessDenied"):
            attempt()


def _as(deployment: Deployment, role: str) -> Callable[[str], Any]:
    """Makes clients of `role`, which trusts this test as well from now on."""
    statement = {"Effect": "Allow", "Principal": {"AWS": role.split("/", maxsplit=1)[0].replace(":role", ":root")}}
    document = json.dumps({"Version": "2012-10-17", "Statement": [{**statement, "Action": "sts:AssumeRole"}]})
    deployment.session.client("iam").update_assume_role_policy(RoleName=role.split("/")[1], PolicyDocument=document)
    given = deployment.session.client("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    return boto3.Session(  # type: ignore[return-value]  # by name
        aws_access_key_id=given["AccessKeyId"],
        aws_secret_access_key=given["SecretAccessKey"],
        aws_session_token=given["SessionToken"],
        region_name=deployment.session.region_name,
    ).client
