"""Answers for Tasks that wait, sent through the alias of a real workflow; activities on a queue in moto."""

import re
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.unit.client.alias_caller import ALIAS, AliasCaller
from tests.unit.client.conftest import PassingTime
from unum_client import Client
from unum_client.task_responses import Tasks
from unum_runtime.errors import (
    ActivityDoesNotExist,
    ClientError,
    InvalidOutput,
    InvalidToken,
    InvokeError,
    StatesError,
    TaskTimedOut,
)
from unum_runtime.features.activities import Activities
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.protocol.requests import respond


@pytest.fixture
def entry() -> AliasCaller:
    return AliasCaller.of_a_task_that_waits()


@pytest.fixture
def time() -> PassingTime:
    return PassingTime()


@pytest.fixture
def tasks(entry: AliasCaller, time: PassingTime) -> Tasks:
    return Tasks(caller=entry, response_alias=ALIAS, waiter=time.waiter)


def test_success(entry: AliasCaller, tasks: Tasks) -> None:
    tasks.send_task_success(entry.begun(), '{"n": [1, null]}')
    assert entry.outcome == Success({"n": [1, None]})


@pytest.mark.parametrize("output", ["", "no JSON", "NaN", "[1,", '"' + "x" * 380_000 + '"', "[" * 100_000])
def test_output_that_is_none(entry: AliasCaller, tasks: Tasks, output: str) -> None:
    token = entry.begun()
    with pytest.raises(InvalidOutput, match="expected JSON text of at most 380000 bytes"):
        tasks.send_task_success(token, output)
    assert entry.outcome is None


@pytest.mark.parametrize("failure", [("Bad", "because"), ("Bad", None), (None, None)])
def test_failure(entry: AliasCaller, tasks: Tasks, failure: tuple[str | None, str | None]) -> None:
    tasks.send_task_failure(entry.begun(), *failure)
    assert entry.outcome == Failure(*failure)


def test_a_long_cause_is_cut(entry: AliasCaller, tasks: Tasks) -> None:
    tasks.send_task_failure(entry.begun(), "E" * 300, "c" * 40_000)
    assert entry.outcome == Failure("E" * 256, "c" * 32_768)


def test_heartbeat(entry: AliasCaller, tasks: Tasks) -> None:
    token = entry.begun()
    tasks.send_task_heartbeat(token)
    tasks.send_task_success(token, "1")
    with pytest.raises(TaskTimedOut):
        tasks.send_task_heartbeat(token)


def test_a_token_is_used_once(entry: AliasCaller, tasks: Tasks) -> None:
    token = entry.begun()
    tasks.send_task_success(token, "1")
    with pytest.raises(TaskTimedOut):
        tasks.send_task_success(token, "1")


def test_no_token(tasks: Tasks) -> None:
    with pytest.raises(InvalidToken):
        tasks.send_task_success("made up", "1")


@pytest.mark.parametrize("failures", [["before"], ["after"], ["after", "before"], ["before", "after"]])
def test_a_call_is_repeated_until_it_is_answered(
    entry: AliasCaller, tasks: Tasks, time: PassingTime, failures: list[str]
) -> None:
    token = entry.begun()
    entry.failures = list(failures)
    tasks.send_task_success(token, "1")
    assert entry.outcome == Success(1)
    assert len(time.pauses) == len(failures)
    assert len({request["request"] for request in entry.requests}) == 1


def test_in_the_end_the_call_fails(entry: AliasCaller, tasks: Tasks) -> None:
    token = entry.begun()
    entry.failures = ["before"] * 3
    with pytest.raises(InvokeError, match="throttled"):
        tasks.send_task_success(token, "1")
    assert entry.outcome is None


@pytest.mark.parametrize(
    "content", [{}, {"output": 1}, {"error": "E"}, {"heartbeat": False}, {"worker": None}, {"error": 1, "cause": None}]
)
def test_a_request_that_says_nothing(entry: AliasCaller, content: dict[str, Any]) -> None:
    answer = respond.answer(entry.platform.runtime(), respond.request(entry.begun(), **content))
    assert answer["error"] == "ValidationException"
    assert 'expected "token" and one of "output" as JSON text' in answer["message"]


@pytest.mark.parametrize(
    ("wrong", "reply"), [({"$unum": 99}, r"event\.\$unum: expected wire version 1, got 99"), ({"request": 3}, "got 3")]
)
def test_a_request_of_another_version_does_nothing(entry: AliasCaller, wrong: dict[str, Any], reply: str) -> None:
    answer = respond.answer(entry.platform.runtime(), respond.request(entry.begun(), output="1") | wrong)
    assert answer["error"] == "ValidationException"
    assert re.search(reply, answer["message"])
    assert entry.outcome is None


@pytest.mark.parametrize("event", [None, "token", [], {}, {"token": "t"}, {"$unum": 1, "start": "e"}])
def test_what_is_no_request(event: Any) -> None:
    assert not respond.is_request(event)


def test_a_client_answers_as_well(entry: AliasCaller, tasks: Tasks) -> None:
    client = Client(store=entry.platform.memory, workflow="w", tasks=tasks)
    token = entry.begun()
    client.send_task_heartbeat(token)
    client.send_task_success(token, '"yes"')
    entry.platform.deliver_all()
    assert client.describe("e0").output == "yes"
    with pytest.raises(TaskTimedOut):
        client.send_task_failure(token)


def test_a_client_that_only_looks(entry: AliasCaller) -> None:
    client = Client(store=entry.platform.memory, workflow="w")
    with pytest.raises(ClientError, match="start_alias"):
        client.send_task_success("t", "1")


@pytest.fixture
def activities() -> Iterator[Activities]:
    with mock_aws():
        session = boto3.Session(region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
        client: Any = session.client("sqs")
        yield Activities(client, {"work": client.create_queue(QueueName="work")["QueueUrl"]})


@pytest.fixture
def worker(entry: AliasCaller, time: PassingTime, activities: Activities, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    def next_at_once(self: Activities, activity: str, wait_s: int) -> Any:
        offer = take(self, activity, 0)
        time.now_s += 0 if offer else wait_s
        return offer

    take = Activities.next
    monkeypatch.setattr(Activities, "next", next_at_once)
    return Tasks(caller=entry, response_alias=ALIAS, activities=activities, waiter=time.waiter)


def test_a_worker_gets_the_task(entry: AliasCaller, worker: Tasks, activities: Activities) -> None:
    activities.offer("work", entry.begun(), {"n": 1})
    task = worker.get_activity_task("work", "me")
    assert task == {"taskToken": entry.tokens[0], "input": '{"n":1}'}
    worker.send_task_success(task["taskToken"], task["input"])
    assert entry.outcome == Success({"n": 1})


def test_a_task_that_is_offered_twice_is_given_out_once(
    entry: AliasCaller, worker: Tasks, activities: Activities
) -> None:
    token = entry.begun()
    for _ in range(2):
        activities.offer("work", token, 1)
    assert worker.get_activity_task("work")
    assert worker.get_activity_task("work") == {}


def test_tasks_that_wait_no_longer_are_passed_over(entry: AliasCaller, worker: Tasks, activities: Activities) -> None:
    for n in range(2):
        activities.offer("work", entry.begun(), n)
    worker.send_task_failure(entry.tokens[0])
    assert worker.get_activity_task("work") == {"taskToken": entry.tokens[1], "input": "1"}


def test_nothing_to_do_for_a_minute(worker: Tasks, time: PassingTime) -> None:
    assert worker.get_activity_task("work") == {}
    assert time.now_s == 60


def test_an_answer_of_the_alias_that_got_lost_loses_no_task(
    entry: AliasCaller, worker: Tasks, activities: Activities
) -> None:
    activities.offer("work", entry.begun(), 1)
    entry.failures = ["after"]
    assert worker.get_activity_task("work")["taskToken"] == entry.tokens[0]


def test_no_such_activity(worker: Tasks, tasks: Tasks) -> None:
    with pytest.raises(ActivityDoesNotExist, match=r"'play': this client knows \['work'\]"):
        worker.get_activity_task("play")
    with pytest.raises(ActivityDoesNotExist, match="knows none"):
        tasks.get_activity_task("work")


def test_a_queue_that_takes_nothing_fails_the_task(activities: Activities) -> None:
    gone = Activities(activities.client, {"work": f"{activities.queues['work']}-gone"})
    with pytest.raises(StatesError, match="NonExistentQueue"):
        gone.offer("work", "t", 1)
