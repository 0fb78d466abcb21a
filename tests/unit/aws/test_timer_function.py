"""The forwarder between the queue and functions."""

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.timer import Delayed, SqsTimer
from unum_runtime.aws.undelivered import Undelivered
from unum_runtime.functions.failure_function import GivenUp
from unum_runtime.functions.timer_function import Forwarder

ARN = "arn:aws:lambda:us-east-1:123456789012:function:f:7"
HANDLER = "arn:aws:lambda:us-east-1:123456789012:function:on-failure:3"
MAX_RECEIVES = 10


@pytest.fixture
def forwarder(functions: Any, timer: SqsTimer, clock: Any) -> Forwarder:
    return forwarder_of(functions, timer, clock)


def forwarder_of(functions: Any, timer: SqsTimer, clock: Any) -> Forwarder:
    invoker = LambdaInvoker(functions)
    return Forwarder(invoker, timer, clock, Undelivered(invoker, lambda: functions), MAX_RECEIVES)


def messages(*bodies: str, receives: int = 1) -> dict[str, Any]:
    """Messages as Lambda delivers them."""
    attributes = {"ApproximateReceiveCount": str(receives)}
    records = [{"messageId": f"m{n}", "body": body, "attributes": attributes} for n, body in enumerate(bodies)]
    return {"Records": records}


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


def test_a_month_is_waited_for_in_parts(functions: Any, clock: Any) -> None:
    sent: list[dict[str, Any]] = []

    class Queue:
        def send_message_batch(self, **parameters: Any) -> Any:
            sent.extend(parameters["Entries"])
            return {}

    forwarder = forwarder_of(functions, SqsTimer(Queue(), "url", clock), clock)
    month_ms = 30 * 86_400_000
    due_ms = clock.ms + month_ms
    forwarder.timer.schedule([(ARN, b"1", due_ms)])
    while not functions.events:
        clock.ms += sent[-1]["DelaySeconds"] * 1000
        forwarder.forward(messages(sent[-1]["MessageBody"]))
    assert (clock.ms, len(sent)) == (due_ms, month_ms // 900_000)


def test_one_that_cannot_be_handed_on_does_not_hold_back_others(
    forwarder: Forwarder, functions: Any, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.gone.add(f"{ARN}8")
    bodies = delayed(clock.ms), delayed(clock.ms, address=f"{ARN}8"), "no JSON", '{"due_ms": 1}'
    assert forwarder.forward(messages(*bodies)) == failed("m1", "m2", "m3")
    assert functions.events == [(ARN, {"n": 1})]
    assert "m1: RouteGone: " in capsys.readouterr().out


def test_one_that_cannot_wait_on_is_delivered_again(
    functions: Any, queue: Any, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = SqsTimer(queue, f"{queue.url}-gone", clock)
    forwarder = forwarder_of(functions, gone, clock)
    assert forwarder.forward(messages(delayed(clock.ms + 1))) == failed("m0")
    assert "NonExistentQueue" in capsys.readouterr().out


def test_lambdas_own_clock_decides(forwarder: Forwarder, functions: Any, queue: Any, clock: Any) -> None:
    """A message that comes early, because clocks differ, waits for another second."""
    forwarder.forward(messages(delayed(clock.ms + 300)))
    clock.ms += 1_000
    forwarder.forward(messages(queue.batches[0][0]["MessageBody"]))
    assert functions.events == [(ARN, {"n": 1})]


def test_what_cannot_be_handed_on_in_the_end_fails_as_lambdas_own_events_do(
    forwarder: Forwarder, functions: Any, clock: Any
) -> None:
    functions.gone.add(ARN)
    functions.on_failure[ARN] = HANDLER
    message = delayed(clock.ms)
    assert forwarder.forward(messages(message, receives=MAX_RECEIVES - 1)) == failed("m0")
    assert functions.events == []
    assert forwarder.forward(messages(message, receives=MAX_RECEIVES)) == failed()
    ((address, record),) = functions.events
    given_up = GivenUp.from_record(record)
    assert (address, given_up.address, given_up.event) == (HANDLER, ARN, {"n": 1})
    assert given_up.failure.error == "Lambda.ResourceNotFoundException"
    assert ARN in (given_up.failure.cause or "")


def test_what_could_not_be_sent_at_all_fails_as_step_functions_calls_it(
    functions: Any, timer: SqsTimer, clock: Any
) -> None:
    class Unreachable:
        def invoke(self, **_parameters: Any) -> Any:
            raise EndpointConnectionError(endpoint_url="nowhere")

    functions.on_failure[ARN] = HANDLER
    undelivered = Undelivered(LambdaInvoker(functions), lambda: functions)
    forwarder = Forwarder(LambdaInvoker(Unreachable()), timer, clock, undelivered, MAX_RECEIVES)
    assert forwarder.forward(messages(delayed(clock.ms), receives=MAX_RECEIVES)) == failed()
    ((_, record),) = functions.events
    assert GivenUp.from_record(record).failure.error == "Lambda.SdkClientException"


@pytest.mark.parametrize(("on_failure", "gone"), [({}, {ARN}), ({ARN: ""}, {ARN}), ({ARN: HANDLER}, {ARN, HANDLER})])
def test_it_is_a_dead_letter_where_nobody_can_be_told(
    forwarder: Forwarder, functions: Any, clock: Any, on_failure: dict[str, str], gone: set[str]
) -> None:
    functions.gone |= gone
    functions.on_failure |= on_failure
    assert forwarder.forward(messages(delayed(clock.ms), receives=MAX_RECEIVES)) == failed("m0")
    assert functions.events == []


def test_what_is_not_due_fails_no_task(functions: Any, queue: Any, clock: Any) -> None:
    """It would fail before its time."""
    functions.on_failure[ARN] = HANDLER
    gone = SqsTimer(queue, f"{queue.url}-gone", clock)
    event = messages(delayed(clock.ms + 1), receives=MAX_RECEIVES)
    assert forwarder_of(functions, gone, clock).forward(event) == failed("m0")
    assert functions.events == []
