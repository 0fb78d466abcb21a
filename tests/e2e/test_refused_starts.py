"""Refused starts in the emulator with permissions: function errors for who waits, dead letters for the others."""

import json
from collections.abc import Iterator
from typing import Any, Literal
from uuid import uuid4

import pytest

from tests.e2e.conftest import Deployment, until
from unum_client import Client
from unum_runtime.errors import ExecutionAlreadyExists
from unum_runtime.model.envelope import start_event, start_request
from unum_runtime.model.requests import INPUT, run_request

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def client(deployment: Deployment) -> Client:
    return deployment.client("Named")


@pytest.fixture(scope="module")
def used(client: Client) -> str:
    """The name of an execution that has ended."""
    name = f"used-{uuid4().hex}"
    client.run({"n": 1}, name=name, timeout_s=60)
    return name


@pytest.fixture(scope="module")
def deleted(client: Client) -> str:
    """The name of an execution that was deleted."""
    name = f"deleted-{uuid4().hex}"
    client.run({"n": "of a person"}, name=name, timeout_s=60)
    client.delete_execution(name)
    return name


def invoke(deployment: Deployment, event: Any, kind: Literal["Event", "RequestResponse"] = "RequestResponse") -> Any:
    address = deployment.outputs["Named"]["WorkflowRunAlias"]
    function = deployment.session.client("lambda")
    return function.invoke(FunctionName=address, Payload=json.dumps(event), InvocationType=kind)


def requests(used: str, deleted: str) -> dict[str, tuple[Any, str | None]]:
    """Requests at the run alias, each with the error that a caller gets; None without one."""
    return {
        "no start": ({"foo": 1}, "ValidationException"),
        "an unknown field": ({**start_event(used, {"n": 1}), "more": 1}, "ValidationException"),
        "an answer that is not asked for": ({**start_event(used, {"n": 2}), "answer": False}, "ValidationException"),
        "another input": (start_event(used, {"n": 2}), "ExecutionAlreadyExists"),
        "the same input": (start_event(used, {"n": 1}), None),
        "a new name": (start_event(f"new-{uuid4().hex}", {"n": 1}), None),
        "a deleted name": (start_event(deleted, {"n": 2}), "ExecutionAlreadyExists"),
        "a deleted start": (start_request(deleted), "ExecutionAlreadyExists"),
        "no start record": (start_request("nobody"), "ExecutionDoesNotExist"),
    }


CASES = [*requests("", "")]


@pytest.mark.parametrize("case", CASES)
def test_caller_that_waits_gets_a_function_error(deployment: Deployment, used: str, deleted: str, case: str) -> None:
    event, error = requests(used, deleted)[case]
    response = invoke(deployment, event)
    answer = json.load(response["Payload"])
    assert response.get("FunctionError") == (error and "Unhandled"), answer
    if error is None:
        assert answer["execution"] == event["start"]
    else:
        assert answer["errorType"] == error
        assert "expected" in answer["errorMessage"] or event.get("start", "nobody") in answer["errorMessage"]


def test_caller_that_asks_for_an_answer_reads_the_error_in_it(
    deployment: Deployment, used: str, client: Client
) -> None:
    response = invoke(deployment, run_request(used, {INPUT: {"n": 2}}))
    assert "FunctionError" not in response
    assert json.load(response["Payload"])["error"] == "ExecutionAlreadyExists"
    with pytest.raises(ExecutionAlreadyExists, match="another input"):
        client.start({"n": 2}, name=used)


def letters(deployment: Deployment) -> Iterator[str]:
    """Yield the messages in the failure queue, which stay there."""
    url = deployment.outputs["Named"]["WorkflowFailureQueue"]
    queue = deployment.session.client("sqs")
    for _ in range(3):
        found = queue.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=1)
        yield from (message["Body"] for message in found.get("Messages", []))


def test_events_that_nobody_waits_for_become_dead_letters_by_their_kind(
    deployment: Deployment, used: str, deleted: str, client: Client
) -> None:
    mark = uuid4().hex
    invoke(deployment, {"foo": mark}, "Event")
    client.submit({"n": mark}, name=used)
    client.submit({"n": 1}, name=used)  # the same start again
    invoke(deployment, start_event(deleted, {"n": f"person {mark}"}), "Event")
    invoke(deployment, start_request(deleted), "Event")

    seen: set[str] = set()

    def refused() -> set[str]:
        """Return the errors in all dead letters so far; one receive shows some of a queue's messages."""
        found = [json.loads(each) for each in letters(deployment) if mark in each]
        seen.update(each["responsePayload"]["errorType"] for each in found)
        return seen

    until(lambda: refused() == {"ValidationException", "ExecutionAlreadyExists"})
    kept = [each for each in letters(deployment) if f"person {mark}" in each or deleted in each]
    assert kept == []
    assert client.describe(used).input == {"n": 1}
