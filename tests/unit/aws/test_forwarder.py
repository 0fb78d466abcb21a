"""The forwarder between the queue and functions."""

from typing import Any

import pytest

from unum_runtime.aws.forwarder import Forwarder
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.timer import Delayed, SqsTimer

ARN = "arn:aws:lambda:us-east-1:123456789012:function:f:7"


@pytest.fixture
def forwarder(functions: Any, timer: SqsTimer, clock: Any) -> Forwarder:
    return Forwarder(LambdaInvoker(functions), timer, clock)


def messages(*bodies: str) -> dict[str, Any]:
    """Messages as Lambda delivers them."""
    return {"Records": [{"messageId": f"m{number}", "body": body} for number, body in enumerate(bodies)]}


def delayed(due_ms: int, event: bytes = b'{"n":1}', address: str = ARN) -> str:
    return Delayed(address, event, due_ms).to_body()


def failed(*message_ids: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}


def test_what_is_due_is_handed_on(forwarder: Forwarder, functions: Any, queue: Any, clock: Any) -> None:
    assert forwarder.forward(messages(delayed(clock.ms), delayed(clock.ms - 60_000))) == failed()
    assert functions.events == [(ARN, {"n": 1})] * 2
    assert queue.batches == []


def test_what_is_not_due_waits_on(forwarder: Forwarder, functions: Any, queue: Any, clock: Any) -> None:
    assert forwarder.forward(messages(delayed(clock.ms + 1), delayed(clock.ms + 5_000_000))) == failed()
    assert functions.events == []
    assert sorted(queue.delays_s) == [1, 900]


def test_a_year_is_waited_for_in_parts(functions: Any, clock: Any) -> None:
    sent: list[dict[str, Any]] = []

    class Queue:
        def send_message_batch(self, **parameters: Any) -> Any:
            sent.extend(parameters["Entries"])
            return {}

    forwarder = Forwarder(LambdaInvoker(functions), SqsTimer(Queue(), "url", clock), clock)
    year_ms = 365 * 86_400_000
    due_ms = clock.ms + year_ms
    forwarder.timer.schedule([(ARN, b"1", due_ms)])
    while not functions.events:
        clock.ms += sent[-1]["DelaySeconds"] * 1000
        forwarder.forward(messages(sent[-1]["MessageBody"]))
    assert (clock.ms, len(sent)) == (due_ms, year_ms // 900_000)


def test_one_that_cannot_be_handed_on_does_not_hold_back_others(
    forwarder: Forwarder, functions: Any, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.gone.add(f"{ARN}8")
    bodies = delayed(clock.ms), delayed(clock.ms, address=f"{ARN}8"), "no JSON", '{"due_ms": 1}'
    assert forwarder.forward(messages(*bodies)) == failed("m1", "m2", "m3")
    assert functions.events == [(ARN, {"n": 1})]
    assert "m1: InvokeError: " in capsys.readouterr().out


def test_one_that_cannot_wait_on_is_delivered_again(
    functions: Any, queue: Any, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = SqsTimer(queue, f"{queue.url}-gone", clock)
    forwarder = Forwarder(LambdaInvoker(functions), gone, clock)
    assert forwarder.forward(messages(delayed(clock.ms + 1))) == failed("m0")
    assert "NonExistentQueue" in capsys.readouterr().out


def test_lambdas_own_clock_decides(forwarder: Forwarder, functions: Any, queue: Any, clock: Any) -> None:
    """A message that comes early, because clocks differ, waits for another second."""
    forwarder.forward(messages(delayed(clock.ms + 300)))
    clock.ms += 1_000
    forwarder.forward(messages(queue.batches[0][0]["MessageBody"]))
    assert functions.events == [(ARN, {"n": 1})]
