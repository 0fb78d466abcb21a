"""The forwarder between the queue and functions."""

import json
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from tests.unit.aws.forwarding import INTAKE, MACHINERY, MAX_RECEIVES, ROLE, FailureQueue, event, forwarder_of, messages
from unum_runtime.aws.invoker import LambdaInvoker
from unum_runtime.aws.senders import Senders
from unum_runtime.features.timers.schedules import to_input
from unum_runtime.features.timers.sqs_timer import Delayed, SqsTimer
from unum_runtime.features.timers.timer_function import Forwarder, RefusedMessages, Undelivered
from unum_runtime.functions.operations.failure_function import GivenUp
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.wire.api import _trace

EVENT = event(1)
ARN = "arn:aws:lambda:us-east-1:123456789012:function:f:7"
HANDLER = INTAKE


@pytest.fixture
def forwarder(functions: Any, timer: SqsTimer, clock: Any) -> Forwarder:
    return forwarder_of(functions, timer, clock)


def delayed(due_ms: int, address: str = ARN, of: Any = EVENT) -> str:
    return Delayed(address, json.dumps(of).encode(), due_ms).to_body()


def failed(*message_ids: str) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}


def test_what_is_due_is_handed_on(forwarder: Forwarder, functions: Any, queue: Any, clock: Any) -> None:
    assert forwarder.forward(messages(delayed(clock.ms), delayed(clock.ms - 60_000))) == failed()
    assert functions.events == [(ARN, EVENT)] * 2
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
    forwarder.timer.schedule([(ARN, json.dumps(EVENT).encode(), due_ms)])
    while not functions.events:
        clock.ms += sent[-1]["DelaySeconds"] * 1000
        forwarder.forward(messages(sent[-1]["MessageBody"]))
    assert (clock.ms, len(sent)) == (due_ms, month_ms // 900_000)


def test_one_that_cannot_be_handed_on_does_not_hold_back_others(
    forwarder: Forwarder, functions: Any, clock: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    functions.gone.add(f"{ARN}8")
    bodies = delayed(clock.ms), delayed(clock.ms, address=f"{ARN}8"), "no JSON", '{"due_ms": 1}'
    assert forwarder.forward(messages(*bodies)) == failed("m1")
    assert functions.events == [(ARN, EVENT)]
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
    assert functions.events == [(ARN, EVENT)]


def test_events_that_cannot_be_handed_on_fail_as_lambdas_own_events_do(
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
    assert (address, given_up.address, given_up.event) == (HANDLER, ARN, EVENT)
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
    forwarder = forwarder_of(functions, timer, clock, invoker=LambdaInvoker(Unreachable()), undelivered=undelivered)
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


# Senders: who may send what, and what becomes of the rest.

OTHER = ARN.replace(":f:", ":g:")
FAR = ARN.replace(":f:", ":h:")


@pytest.mark.parametrize(
    ("sender", "address", "delivered"),
    [
        (f"{ROLE}:f", ARN, True),
        (f"{ROLE}:f", OTHER, True),
        (f"{ROLE}:f", FAR, False),
        (f"{ROLE}:g", ARN, False),
        (f"{ROLE}:g", OTHER, True),
        (f"{ROLE}:stranger", ARN, False),
        (f"{ROLE}:", ARN, False),
        ("123456789012", ARN, False),
        (f"{MACHINERY}:anybody", FAR, True),
        (f"{MACHINERY}more:anybody", FAR, False),
        (f"{ROLE}:f", f"{ARN}:7", False),
        (f"{ROLE}:f", "f", False),
    ],
)
def test_function_reaches_those_that_its_role_may_invoke_and_names_others(
    forwarder: Forwarder, functions: Any, clock: Any, sender: str, address: str, *, delivered: bool
) -> None:
    assert forwarder.forward(messages(delayed(clock.ms, address), sender=sender)) == failed()
    ((target, sent),) = functions.events
    if delivered:
        assert (target, sent) == (address, EVENT)
    else:
        request = TakeOver.from_json(sent)
        assert (target, request.address, request.name.step, request.state) == (INTAKE, address, 2, "B")
        assert "input" not in json.dumps(sent)


def test_who_sent_first_decides_after_a_wait(functions: Any, queue: Any, timer: SqsTimer, clock: Any) -> None:
    forwarder = forwarder_of(functions, timer, clock)
    forwarder.forward(messages(delayed(clock.ms + 60_000, FAR), sender=f"{ROLE}:f"))
    clock.ms += 60_000
    (entry,) = queue.batches[-1]
    forwarder.forward(messages(entry["MessageBody"], sender=f"{MACHINERY}:forwarder"))
    assert [target for target, _ in functions.events] == [INTAKE]


@pytest.mark.parametrize("stated", ["", f"{ROLE}:g", f"{MACHINERY}:on-failure"])
def test_nobody_states_another_origin(forwarder: Forwarder, functions: Any, clock: Any, stated: str) -> None:
    body = Delayed(FAR, json.dumps(EVENT).encode(), clock.ms, stated).to_body()
    forwarder.forward(messages(body, sender=f"{ROLE}:f"))
    assert [target for target, _ in functions.events] == [INTAKE]


def test_messages_without_an_origin_are_delivered(forwarder: Forwarder, functions: Any, clock: Any) -> None:
    """The first sender of what the forwarder sends again without one is trusted, such as the failure handler."""
    forwarder.forward(messages(delayed(clock.ms, FAR), sender=f"{MACHINERY}:forwarder"))
    forwarder.forward(messages(delayed(clock.ms, OTHER), sender=f"{ROLE}:f"))
    assert [target for target, _ in functions.events] == [FAR, OTHER]


@pytest.mark.parametrize(
    "body",
    [
        "no JSON",
        "[" * 100_000,
        "{}",
        '{"address": 1, "event": {}, "due_ms": 1}',
        '{"address": "f", "event": {}, "due_ms": "1"}',
        json.dumps({"address": ARN, "event": EVENT, "due_ms": 10**30}),
        json.dumps({"address": ARN, "event": {"n": 1}, "due_ms": 1}),
        json.dumps({"address": ARN, "event": event(workflow="Other"), "due_ms": 1}),
        json.dumps({"address": ARN, "event": {**EVENT, "execution": 1}, "due_ms": 1}),
        json.dumps({"address": ARN, "event": {**EVENT, "$unum": 2}, "due_ms": 1}),
        json.dumps({"address": ARN, "event": {"$unum": 1, "workflow": "Flow"}, "due_ms": 1}),
    ],
)
def test_foreign_events_become_dead_letters_with_their_reason(
    functions: Any, timer: SqsTimer, queue: Any, clock: Any, body: str
) -> None:
    failures, logged = FailureQueue(), []
    parts = {"refused": RefusedMessages(failures, "failures"), "log": lambda *line: logged.append(line)}
    forwarder = forwarder_of(functions, timer, clock, **parts)
    sound = delayed(clock.ms)
    assert forwarder.forward(messages(body, sound, sender=f"{ROLE}:f")) == failed()
    (letter,) = map(json.loads, failures.letters)
    assert (letter["sender"], letter["body"]) == (f"{ROLE}:f", body)
    assert letter["refused"]
    assert [(workflow, sender) for workflow, _, sender in logged] == [("Flow", f"{ROLE}:f")]
    assert (functions.events, queue.batches) == ([(ARN, EVENT)], [])


def test_a_refused_message_that_no_queue_takes_stays(functions: Any, timer: SqsTimer, clock: Any) -> None:
    class Full:
        def send_message_batch(self, **_parameters: Any) -> Any:
            return {"Failed": [{"Id": "0", "Code": "TooLong"}]}

    forwarder = forwarder_of(functions, timer, clock, refused=RefusedMessages(Full(), "failures"))
    assert forwarder.forward(messages("no JSON")) == failed("m0")


def deaf(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Senders, "may_send", lambda *_: True)


def credulous(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Senders, "origin", lambda _self, _sender, stated: stated)


def forgetful(patch: pytest.MonkeyPatch) -> None:
    parse = Delayed.from_body
    patch.setattr(Delayed, "from_body", lambda body: parse(body)._replace(origin=""))


@pytest.mark.parametrize("break_it", [deaf, credulous, forgetful])
def test_a_forwarder_that_believes_its_senders_would_be_noticed(
    break_it: Any, functions: Any, queue: Any, timer: SqsTimer, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    with pytest.raises(AssertionError):  # noqa: PT012 - one of the two notices
        test_who_sent_first_decides_after_a_wait(functions, queue, timer, clock)
        functions.events.clear()
        test_nobody_states_another_origin(forwarder_of(functions, timer, clock), functions, clock, "")


TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
"""Tracing header of the function that sent an event."""


def traced(clock: Any, monkeypatch: pytest.MonkeyPatch, due_ms: int) -> str:
    """Return the message that a function in a kept trace sends."""
    sent: list[str] = []
    monkeypatch.setenv("_X_AMZN_TRACE_ID", f"{TRACE};Lineage=1:a:4")

    class Queue:
        def send_message_batch(self, **parameters: Any) -> Any:
            sent.extend(entry["MessageBody"] for entry in parameters["Entries"])
            return {}

    SqsTimer(Queue(), "url", clock).schedule([(ARN, json.dumps(EVENT).encode(), due_ms)])
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-000000000000000000000000;Sampled=0;Lineage=2:b:1")
    return sent[0]


def test_an_event_keeps_its_trace_through_the_queue(
    functions: Any, timer: SqsTimer, clock: Any, queue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count of invocations, by which Lambda detects loops, is the forwarder's own."""
    headers: list[str] = []

    class Watched:
        def invoke(self, **parameters: Any) -> Any:
            headers.append(_trace()["x-amzn-trace-id"])
            return functions.invoke(**parameters)

    forwarder = forwarder_of(Watched(), timer, clock)
    body = traced(clock, monkeypatch, clock.ms + 60_000)
    forwarder.forward(messages(body))
    again = queue.batches[0][0]["MessageBody"]
    assert json.loads(again)["trace"] == json.loads(body)["trace"] == TRACE
    clock.ms += 60_000
    forwarder.forward(messages(again, delayed(clock.ms)))
    own = "Root=1-5759e988-000000000000000000000000;Sampled=0;Lineage=2:b:1"
    assert sorted(headers) == [own, f"{TRACE};Lineage=2:b:1"]
    assert _trace()["x-amzn-trace-id"] == own


@pytest.mark.parametrize("header", ["", TRACE.replace("Sampled=1", "Sampled=0"), "Root=1"])
def test_traces_that_x_ray_drops_add_nothing_to_a_message(
    clock: Any, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", header)
    sent: list[str] = []

    class Queue:
        def send_message_batch(self, **parameters: Any) -> Any:
            sent.extend(entry["MessageBody"] for entry in parameters["Entries"])
            return {}

    SqsTimer(Queue(), "url", clock).schedule([(ARN, json.dumps(EVENT).encode(), clock.ms)])
    assert sent == [delayed(clock.ms)]


@pytest.mark.parametrize("trace", [f"{TRACE}\r\nhost: other", f"{TRACE};Self=1", 7, "x" * 9_000])
def test_headers_of_other_senders_are_no_traces(trace: Any) -> None:
    body = json.dumps({**json.loads(delayed(1)), "trace": trace})
    assert Delayed.from_body(body).trace == ""


def test_a_schedule_has_the_same_name_in_every_trace(schedules: Any) -> None:
    def named(trace: str) -> str:
        kept = Delayed(ARN, json.dumps(EVENT).encode(), 1_900_000_000_000, trace=trace)
        return str(schedules._request(kept, to_input(kept))["Name"])

    assert named("") == named(TRACE)
