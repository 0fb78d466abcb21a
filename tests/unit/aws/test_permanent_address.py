"""Start alias and run alias of the control function, which send on what arrives."""

from typing import Any

import pytest

from tests.unit.aws.control_platform import CONTROL, Context, Deployed, at, deployed
from unum_runtime.functions.operations import control_entry, failure_function
from unum_runtime.model.checkpoint import Status
from unum_runtime.model.envelope import start_event, start_request

__all__ = ["deployed"]  # the fixture

UUID = "01234567-0123-0123-0123-0123456789ab"
PLACED = {
    "version": "0", "id": UUID, "detail-type": "Placed", "source": "shop", "account": "1", "time": "t", "region": "r",
    "resources": [], "detail": {},
}  # fmt: skip
MESSAGE = {"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:r:1:q", "messageId": UUID, "body": "{}"}
INTAKE = Context(at("on-failure", "start-intake-Flow"), "1")


def send(deployed: Deployed, kind: str, event: Any) -> Any:
    deployed.functions.use("control")
    return control_entry.handle(event, Context(f"{CONTROL}:{kind}-Flow", "1"))


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ({"n": 1}, "request"),
        (None, "request"),
        (PLACED, f"Placed-{UUID}"),
        ({"Records": [MESSAGE]}, f"q-{UUID}"),
        ({"Records": [MESSAGE, {}]}, "request"),
        ({"$unum": 1, "start": "mine", "input": 1}, "request"),
        ({"$unum": 1, "start": "mine", "answer": True, "input": 1}, "request"),
        ({"$unum": 1, "control": "stop", "execution": "e"}, "request"),
        ({"$unum": 1, "workflow": "Flow", "execution": ["e", 1], "state": "B"}, "request"),
        ({"RequestType": "Delete", "ResponseURL": "https://elsewhere"}, "request"),
        ({"token": "t", "output": "1"}, "request"),
    ],
)
def test_whatever_arrives_is_input_of_an_execution_of_its_name(deployed: Deployed, event: Any, name: str) -> None:
    assert send(deployed, "start", event) == {"workflow": "Flow", "execution": name}
    assert deployed.functions.sent() == [(at("A", "run-Flow"), start_event(name, event))]


def test_messages_wait_for_the_answer_that_says_which_come_again(deployed: Deployed) -> None:
    answer = {"batchItemFailures": [{"itemIdentifier": UUID}]}
    deployed.functions.answers[at("A", "start-Flow")] = answer
    assert send(deployed, "start", {"Records": [MESSAGE, {**MESSAGE, "messageId": "b"}]}) == answer
    assert deployed.functions.sent() == []


@pytest.mark.parametrize(
    "event", [start_event("named", 1), start_event("named", 1, {"a": "b"}), start_request("named")]
)
def test_start_by_name_is_sent_on_as_it_is(deployed: Deployed, event: Any) -> None:
    assert send(deployed, "run", event) == {"workflow": "Flow", "execution": "named"}
    assert deployed.functions.sent() == [(at("A", "run-Flow"), event)]


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("run", {"$unum": 1, "start": "named", "answer": True, "input": 1}),
        ("run", {"$unum": 1, "upload": "0" * 64, "bytes": 7}),
    ],
)
def test_requests_are_answered(deployed: Deployed, kind: str, event: Any) -> None:
    answer = {"error": "InvalidName", "message": "no"}
    deployed.functions.answers[at("A", f"{kind}-Flow")] = answer
    assert send(deployed, kind, event) == answer
    assert deployed.functions.called == [at("A", f"{kind}-Flow")]


def test_large_input_of_a_waiting_caller_is_sent_on_by_a_call(deployed: Deployed) -> None:
    deployed.functions.answers[at("A", "run-Flow")] = {"workflow": "Flow", "execution": "request"}
    assert send(deployed, "start", "x" * 1_000_000)["execution"] == "request"
    assert deployed.functions.sent() == []


def test_deployment_that_moves_the_start_is_noticed(deployed: Deployed) -> None:
    functions = deployed.functions
    send(deployed, "start", 1)
    functions.start_alias, functions.gone = at("B", "start-Flow"), {at("A", "run-Flow")}
    send(deployed, "start", 2)
    assert [address for address, _ in functions.sent()] == [at("A", "run-Flow"), at("B", "run-Flow")]


def test_start_that_was_given_up_keeps_its_name(deployed: Deployed) -> None:
    def give_up(kind: str, event: Any) -> None:
        context = {"requestId": "given-up", "functionArn": f"{CONTROL}:{kind}-Flow", "condition": "RetriesExhausted"}
        record = {"requestContext": context, "requestPayload": event, "responsePayload": {"errorType": "InvokeError"}}
        deployed.functions.use("on-failure")
        failure_function.handle(record, INTAKE)

    give_up("start", {"n": 1})
    give_up("start", {"n": 1})
    give_up("run", start_event("named", {"n": 2}))
    found = {each.name: each.status for each in deployed.client.list().executions}
    assert found == {"given-up": Status.RUNNING, "named": Status.RUNNING}
    assert deployed.client.describe("given-up").input == {"n": 1}
