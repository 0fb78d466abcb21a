"""A function's role gains nothing by the timer queue beyond its own rights."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest

from tests.e2e.conftest import Deployment, until
from unum_client import Client
from unum_runtime.model.checkpoint import Status, Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Execution, Name

pytestmark = pytest.mark.e2e

STACK = "Callbacks"


@dataclass(frozen=True)
class Node:
    """The function Ask, as whoever has taken it over acts; it may invoke itself, and not the service function."""

    deployment: Deployment
    session: boto3.Session
    functions: dict[str, str]
    queues: dict[str, str]
    digest: str

    @property
    def client(self) -> Client:
        return self.deployment.client(STACK)

    def send(self, body: Any) -> None:
        text = body if isinstance(body, str) else json.dumps(body)
        self.session.client("sqs").send_message(QueueUrl=self.queues["Timer"], MessageBody=text)

    def letter(self, text: str) -> Any:
        """An event with which the service function would send a dead letter that no execution has asked for."""
        given = Success({"question": text})
        name = Name(Execution("forged", int(time.time() * 1000)), (), 1)
        forged = Envelope(
            workflow=self.deployment.outputs[STACK]["WorkflowWorkflow"],
            digest=self.digest,
            name=name,
            state="Send letter",
            input=Value(given, name.execution.started_ms),
            sent_s=int(time.time()),
            routes={},
        )
        return json.loads(forged.to_bytes())

    def timed(self, event: Any, function: str, delay_s: int = 0) -> Any:
        due_ms = int(time.time() * 1000) + delay_s * 1000
        return {"address": f"{self.functions[function]}:1", "event": event, "due_ms": due_ms}

    def letters(self) -> list[Any]:
        """Return the messages sent by the service function."""
        url = self.deployment.outputs[STACK]["LettersUrl"]
        received = self.deployment.session.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=1)
        return [json.loads(each["Body"]) for each in received.get("Messages", [])]

    def dead_letters(self) -> list[Any]:
        """Remove and return the messages in the failure queue."""
        queues, url = self.deployment.session.client("sqs"), self.queues["Failures"]
        found = queues.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        for each in found:
            queues.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
        return [json.loads(each["Body"]) for each in found]

    def dead_letter(self, text: str) -> Any:
        """The dead letter with `text` in the failure queue; removes those of other tests' attacks."""
        found: list[Any] = []

        def comes() -> bool:
            found.extend(each for each in self.dead_letters() if text in json.dumps(each))
            return bool(found)

        until(comes)
        return found[0]


@pytest.fixture(scope="module")
def node(deployment: Deployment) -> Iterator[Node]:
    session = deployment.session
    found = session.client("cloudformation").describe_stack_resources(StackName=STACK)["StackResources"]

    def named(prefix: str, kind: str) -> str:
        (name,) = {
            each["PhysicalResourceId"]
            for each in found
            if each["ResourceType"] == kind and each["LogicalResourceId"].startswith(prefix)
        }
        return str(name)

    prefixes = {"Ask": "Ask", "Services": "WorkflowServices", "Handler": "WorkflowOnFailureHandler"}
    configurations = {
        name: session.client("lambda").get_function_configuration(FunctionName=named(prefix, "AWS::Lambda::Function"))
        for name, prefix in prefixes.items()
    }
    roles, role = session.client("iam"), configurations["Ask"]["Role"]
    trust = roles.get_role(RoleName=role.rpartition("/")[2])["Role"]["AssumeRolePolicyDocument"]
    root = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{role.split(':')[4]}:root"}}
    statement = {**root, "Action": "sts:AssumeRole"}
    document = {"Version": "2012-10-17", "Statement": [statement, *trust["Statement"]]}
    roles.update_assume_role_policy(RoleName=role.rpartition("/")[2], PolicyDocument=json.dumps(document))
    given = session.client("sts").assume_role(RoleArn=role, RoleSessionName=configurations["Ask"]["FunctionName"])
    keys = given["Credentials"]
    client = deployment.client(STACK)
    client.start({"case": "ask", "question": "ready?"}, name="ready")
    prefix = f"definition:{deployment.outputs[STACK]['WorkflowWorkflow']}/"

    def digests() -> list[str]:
        items = deployment.table(STACK, "WorkflowTable").scan()["Items"]
        return [each["pk"].removeprefix(prefix) for each in items if each["pk"].startswith(prefix)]

    until(lambda: bool(digests()))
    yield Node(
        deployment,
        boto3.Session(
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"],
            region_name=session.region_name,
        ),
        {name: each["FunctionArn"] for name, each in configurations.items()},
        {
            "Timer": named("WorkflowTimerQueue", "AWS::SQS::Queue"),
            "Failures": named("WorkflowFailures", "AWS::SQS::Queue"),
        },
        digests()[0],
    )
    roles.update_assume_role_policy(RoleName=role.rpartition("/")[2], PolicyDocument=json.dumps(trust))
    client.stop("ready")


def test_a_forged_event_reaches_no_function_that_the_sender_may_not_invoke(node: Node) -> None:
    node.send(node.timed(node.letter("forged"), "Services"))
    # The intake refuses it three times: nothing that is committed leads to it.
    assert node.dead_letter("take_over")["requestPayload"]
    assert [each for each in node.letters() if each["text"] == "forged"] == [], "others are of other tests"


def test_a_forged_event_that_waits_is_still_its_senders(node: Node) -> None:
    node.send(node.timed(node.letter("late"), "Services", delay_s=2))
    assert node.dead_letter("take_over")["requestPayload"]
    assert [each for each in node.letters() if each["text"] == "late"] == [], "others are of other tests"


def test_another_workflows_event_is_a_dead_letter(node: Node) -> None:
    node.send(node.timed({**node.letter("other"), "workflow": "Other"}, "Ask"))
    assert node.dead_letter("expected an event of workflow")["refused"]


def test_a_forged_failure_record_stops_nothing(node: Node, deployment: Deployment) -> None:
    """The forwarder moves unreadable messages to the failure queue, and a sweep calls the failure handler with them."""
    stop = {"$unum": 1, "control": "stop", "execution": "ready"}
    record = {"requestContext": {"functionArn": f"{node.functions['Handler']}:1"}, "requestPayload": stop}
    before = letters_in(node)
    node.send(record)
    until(lambda: letters_in(node) > before)
    request = {"$unum": 1, "control": "sweep", "silent_ms": 10**9, "nudge": False, "letters": node.queues["Failures"]}
    outputs = deployment.outputs[STACK]
    sweeps = f"{outputs['WorkflowControlFunction']}:sweep-{outputs['WorkflowWorkflow']}"
    answer = deployment.invoke(sweeps, request)
    assert answer["is_done"], answer
    assert node.client.describe("ready").status is Status.RUNNING
    assert json.loads(node.dead_letter("functionArn")["body"]) == record


def letters_in(node: Node) -> int:
    asked = node.deployment.session.client("sqs").get_queue_attributes(
        QueueUrl=node.queues["Failures"], AttributeNames=["ApproximateNumberOfMessages"]
    )
    return int(asked["Attributes"]["ApproximateNumberOfMessages"])


def test_what_the_sender_may_invoke_itself_is_delivered(node: Node) -> None:
    """Its own event, which its runtime then judges: the execution does not exist, so nothing follows."""
    event = {**node.letter("own"), "state": "Ask", "input": {"question": "own?"}}
    node.send(node.timed(event, "Ask"))
    asked = node.deployment.table(STACK, "AskedTable")
    until(lambda: any(item["key"] == "own?" for item in asked.scan()["Items"]))
    assert [each for each in node.dead_letters() if "own?" in json.dumps(each)] == [], "nothing of it was refused"
