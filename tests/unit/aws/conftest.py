import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.unit.aws.control_platform import deployed  # noqa: F401 - a fixture
from tests.unit.aws.failure_platform import intake  # noqa: F401 - a fixture
from tests.unit.aws.scheduler import GROUP, Scheduler
from unum_runtime.aws import client_factory
from unum_runtime.features.timers.schedules import Schedules
from unum_runtime.features.timers.sqs_timer import SqsTimer

HERE: dict[str, Any] = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}


@dataclass
class Clock:
    """A clock that tests move."""

    ms: int = 1_800_000_000_000

    def now_ms(self) -> int:
        return self.ms


@dataclass
class Queue:
    """Queue in moto that notes requests."""

    client: Any
    url: str
    batches: list[list[dict[str, Any]]] = field(default_factory=list)

    def send_message_batch(self, **parameters: Any) -> Any:
        self.batches.append(parameters["Entries"])
        return self.client.send_message_batch(**parameters)

    @property
    def delays_s(self) -> list[int]:
        return [entry["DelaySeconds"] for batch in self.batches for entry in batch]

    def bodies(self) -> list[Any]:
        return [json.loads(body) for body in self.texts()]

    def texts(self) -> list[str]:
        texts = []
        while messages := self.client.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages"):
            texts += [message["Body"] for message in messages]
        return texts


@dataclass
class Functions:
    """Lambda, as far as it takes events; it refuses those for functions that are gone."""

    gone: set[str] = field(default_factory=set)
    events: list[tuple[str, Any]] = field(default_factory=list)
    on_failure: dict[str, str] = field(default_factory=dict)

    def invoke(self, **parameters: Any) -> Any:
        assert parameters["InvocationType"] == "Event"
        if parameters["FunctionName"] in self.gone:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "no"}}, "Invoke")
        self.events.append((parameters["FunctionName"], json.loads(parameters["Payload"])))

    def get_function_event_invoke_config(self, **parameters: Any) -> Any:
        address = parameters["FunctionName"]
        if address not in self.on_failure:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetFunctionEventInvokeConfig")
        return {"DestinationConfig": {"OnFailure": {"Destination": self.on_failure[address]}}}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """The clients, and the environment, of a function that runs in no other test."""
    forget_clients()
    yield
    forget_clients()


def forget_clients() -> None:
    for each in vars(client_factory).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue() -> Iterator[Queue]:
    with mock_aws():
        client = boto3.Session(**HERE).client("sqs")
        yield Queue(client, client.create_queue(QueueName="timer")["QueueUrl"])


@pytest.fixture
def functions() -> Functions:
    return Functions()


@pytest.fixture
def timer(queue: Queue, clock: Clock) -> SqsTimer:
    return SqsTimer(queue, queue.url, clock)


@pytest.fixture
def scheduler(queue: Queue) -> Scheduler:
    client = boto3.Session(**HERE).client("scheduler", region_name=queue.client.meta.region_name)
    client.create_schedule_group(Name=GROUP)
    return Scheduler(client)


@pytest.fixture
def schedules(scheduler: Scheduler) -> Schedules:
    queue, role = "arn:aws:sqs:us-east-1:123456789012:", "arn:aws:iam::123456789012:role/Schedules"
    return Schedules(lambda: scheduler, GROUP, f"{queue}timer", role, f"{queue}failures")
