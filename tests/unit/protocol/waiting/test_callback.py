"""Tasks that wait for somebody: one result for each try, whoever is late, dies or comes twice."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.callback_platform import AGAIN, ASKING, Asking, asking, broken
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import Platform, exactly
from unum_compiler.parsing.task_resources import SERVICES
from unum_runtime.errors import InconsistentHistory, InvalidToken, InvokeError, StoreError, TaskTimedOut
from unum_runtime.features.task_tokens import given_tokens
from unum_runtime.model.checkpoint import Failure, Status, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Key
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.runtime import Call, CallbackPending
from unum_runtime.protocol.waiting import callback
from unum_runtime.protocol.waiting.callback import hash_of, last_try, taken_key
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects


@pytest.fixture
def plain() -> Asking:
    return asking()


def test_the_result_is_what_is_handed_in(plain: Asking) -> None:
    token = plain.begun()
    assert plain.outcome is None
    assert not plain.platform.sent
    assert not plain.later
    plain.answered(token, {"n": 1})
    assert plain.outcome == Success({"n": 1})
    assert plain.platform.calls == {"Before": 1, "Ask": 1, "After": 1}


def test_a_token_tells_nothing(plain: Asking) -> None:
    token = plain.begun()
    assert token.isalnum()
    assert len(token) == 96


def test_the_store_has_no_token(plain: Asking) -> None:
    token = plain.begun()
    assert token[:64] in str(plain.platform.memory._items)
    assert token[64:] not in str(plain.platform.memory._items)


@pytest.mark.parametrize(
    "mend",
    [lambda t: t[:-1], lambda t: t[:64] + "0" * 32, lambda t: "0" * 64 + t[64:], lambda _t: "", lambda _t: "é/x"],
)
def test_a_token_cannot_be_made_up(plain: Asking, mend: Callable[[str], str]) -> None:
    token = plain.begun()
    for use in (plain.answer, plain.beat):
        with pytest.raises(InvalidToken, match=exactly("no Task gave out this token, or its retention has passed")):
            use(mend(token))
    assert plain.outcome is None


def test_a_token_is_used_once(plain: Asking) -> None:
    token = plain.begun()
    plain.answer(token, "first")
    is_over = "the Task does not wait any more: it has a result, or its time is over"
    with pytest.raises(TaskTimedOut, match=exactly(is_over)):
        plain.answer(token, "second")
    plain.platform.deliver_all()
    with pytest.raises(TaskTimedOut):
        plain.answer(token, "third")
    assert plain.outcome == Success("first")
    assert not plain.platform.sent  # the Task is done, and nobody is sent for it any more


def test_a_call_that_is_repeated_is_the_same_call(plain: Asking) -> None:
    token = plain.begun()
    plain.answer(token, "yes", request="1")
    plain.answer(token, "yes", request="1")
    plain.platform.deliver_all()
    plain.answer(token, "yes", request="1")
    with pytest.raises(TaskTimedOut):
        plain.answer(token, "yes", request="2")
    assert plain.outcome == Success("yes")


@pytest.mark.parametrize("which", [0, 1, 2])
def test_each_delivery_of_the_event_gives_out_a_token_that_counts(plain: Asking, which: int) -> None:
    event = plain.event()
    for _ in range(3):
        plain.platform.deliver(event)
    assert len({*plain.tokens}) == 3
    plain.beat(plain.tokens[which])
    plain.answered(plain.tokens[which])
    assert plain.outcome == Success("yes")
    for token in plain.tokens:
        with pytest.raises(TaskTimedOut):
            plain.answer(token)


def test_whoever_reads_the_store_cannot_answer(plain: Asking) -> None:
    """Neither stored tokens nor leases and other items about deliveries help."""
    event = plain.event()
    plain.platform.deliver(event)
    plain.platform.deliver(event)
    stored = {str(text) for key, (item, _) in stored_items(plain) for text in (*key, *item.values())}
    texts = stored | {part for text in stored for part in re.findall(r"[0-9a-f]{32,}", text)}
    for token in plain.tokens:
        assert not any(token[64:] in text for text in texts)
    digest = plain.tokens[0][:64]
    for text in texts:
        for guess in (text, text[:32], text[-32:], hash_of(text), hash_of(text)[:32]):
            with pytest.raises(InvalidToken):
                plain.answer(digest + guess)
    assert plain.outcome is None


def in_clear(patch: pytest.MonkeyPatch) -> None:
    for module in (callback, given_tokens):
        patch.setattr(module, "hash_of", lambda proof: proof)


@pytest.mark.parametrize("break_it", [in_clear])
def test_a_store_that_tells_would_be_noticed(
    break_it: Callable[[pytest.MonkeyPatch], None], plain: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        test_whoever_reads_the_store_cannot_answer(plain)


def stored_items(asking: Asking) -> list[Any]:
    return [*asking.platform.memory._items.items()]


def test_nobody_is_asked_again_when_the_answer_is_there(plain: Asking) -> None:
    event = plain.event()
    plain.platform.deliver(event)
    plain.answer(plain.tokens[0])
    plain.platform.deliver(event)
    assert plain.platform.calls["Ask"] == 1
    plain.platform.deliver_all()
    assert plain.outcome == Success("yes")


def test_a_duplicate_of_the_nudge(plain: Asking) -> None:
    token = plain.begun()
    plain.answer(token)
    (nudge,) = plain.platform.sent
    plain.platform.deliver_all()
    plain.platform.deliver(nudge)
    plain.platform.deliver_all()
    assert plain.outcome == Success("yes")
    assert plain.platform.calls["Ask"] == 1


def test_a_crash_between_the_answer_and_the_nudge(plain: Asking) -> None:
    token = plain.begun()
    with broken(plain.platform, "invoke", InvokeError("throttled")):
        plain.answer(token, request="1")
    assert not plain.platform.sent
    plain.answered(token, request="1")
    assert plain.outcome == Success("yes")


def test_after_that_crash_even_a_second_answer_lets_the_first_go_on(plain: Asking) -> None:
    token = plain.begun()
    with broken(plain.platform, "invoke", InvokeError("throttled")):
        plain.answer(token, "first")
    is_over = "the Task does not wait any more: it has a result, or its time is over"
    with pytest.raises(TaskTimedOut, match=exactly(is_over)):
        plain.answer(token, "second")
    plain.platform.deliver_all()
    assert plain.outcome == Success("first")


def test_a_store_that_does_not_answer_is_no_result(plain: Asking) -> None:
    token = plain.begun()
    with broken(plain.platform.memory, "create", StoreError("throttled")):
        plain.answer(token)
    plain.answered(token)
    assert plain.outcome == Success("yes")


def test_a_failure_is_handed_in() -> None:
    waiting = asking(Catch=[{"ErrorEquals": ["No"], "ResultPath": "$", "Next": "After"}])
    waiting.answered(waiting.begun(), Failure("No", "not today"))
    assert waiting.outcome == Success({"Error": "No", "Cause": "not today"})


# Recorded by AWS.
def test_a_failure_without_error_and_cause_gives_its_catcher_nulls() -> None:
    waiting = asking(Catch=[{"ErrorEquals": ["States.ALL"], "ResultPath": "$", "Next": "After"}])
    waiting.answered(waiting.begun(), Failure(None, None))
    assert waiting.outcome == Success({"Error": None, "Cause": None})


def test_a_new_try_has_a_new_token_and_the_old_one_is_dead() -> None:
    waiting = asking(Retry=AGAIN)
    first = waiting.begun()
    waiting.answered(first, Failure("Again", None))
    with pytest.raises(TaskTimedOut):
        waiting.answered(first, "old")
    waiting.pass_time(5)
    assert len(waiting.tokens) == 2
    with pytest.raises(TaskTimedOut):
        waiting.answered(first, "old")
    waiting.answered(waiting.tokens[1], "new")
    assert waiting.outcome == Success("new")
    assert waiting.platform.calls["Ask"] == 2


def test_a_token_of_user_code_that_failed_is_dead() -> None:
    def code(_event: Any) -> Any:
        if len(waiting.tokens) == 1:
            raise RuntimeError("after the token was given out")
        return CallbackPending()

    waiting = asking(code, Retry=[{"ErrorEquals": ["RuntimeError"], "IntervalSeconds": 1}])
    first = waiting.begun()
    with pytest.raises(TaskTimedOut):
        waiting.answer(first)
    assert not waiting.platform.sent
    waiting.pass_time(5)
    waiting.answered(waiting.tokens[1])
    assert waiting.outcome == Success("yes")


def test_an_answer_is_faster_than_the_failure_of_user_code() -> None:
    def code(event: Any) -> Any:
        waiting.answer(event["token"], "in time")
        raise RuntimeError

    waiting = asking(code)
    waiting.begun()
    assert waiting.outcome == Success("in time")


def test_user_code_that_failed_and_died_then() -> None:
    """Its next delivery goes on from the failure, though user code would succeed now."""
    failures = [RuntimeError()]

    def code(_event: Any) -> Any:
        if failures:
            raise failures.pop()
        return CallbackPending()

    waiting = asking(code, Retry=[{"ErrorEquals": ["RuntimeError"], "IntervalSeconds": 1}])
    event = waiting.event()
    with broken(waiting, "schedule", InvokeError("throttled")):
        waiting.platform.deliver(event)
    waiting.platform.deliver(event)
    waiting.pass_time(5)
    waiting.answered(waiting.tokens[1])
    assert waiting.outcome == Success("yes")


def test_a_token_of_user_code_that_was_killed_is_dead() -> None:
    waiting = asking(Retry=[{"ErrorEquals": ["Killed"], "IntervalSeconds": 1}])
    event = waiting.event()
    waiting.platform.deliver(event)
    for _ in range(2):
        fail_invocation(waiting.platform.runtime(), event, Failure("Killed", None))
    with pytest.raises(TaskTimedOut):
        waiting.answer(waiting.tokens[0])
    waiting.pass_time(5)
    waiting.answered(waiting.tokens[1])
    assert waiting.outcome == Success("yes")


def test_an_answer_counts_though_user_code_was_killed(plain: Asking) -> None:
    event = plain.event()
    plain.platform.deliver(event)
    plain.answer(plain.tokens[0])
    fail_invocation(plain.platform.runtime(), event, Failure("Killed", None))
    plain.platform.deliver_all()
    assert plain.outcome == Success("yes")


def test_branches_have_tokens_of_their_own() -> None:
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": ASKING, "End": True}}}
    tokens: dict[Any, str] = {}

    def ask(event: Any) -> Any:
        tokens[event["input"]] = event["token"]
        return CallbackPending()

    waiting = Asking(Platform.of(definition, F=ask), [])
    waiting.platform.start(value=[0, 1, 2])
    waiting.platform.deliver_all()
    for n in (2, 0, 1):
        waiting.answered(tokens[n], n * 10)
    assert waiting.outcome == Success([0, 10, 20])


def test_an_answer_for_an_execution_that_has_ended_is_too_late() -> None:
    fails = {"Type": "Task", "Resource": "B", "Next": "Fails"}
    broken = {"StartAt": "B", "States": {"B": fails, "Fails": {"Type": "Fail", "Error": "Broken"}}}
    both = {"Type": "Parallel", "Branches": [ASKING, broken], "End": True}
    definition = {"StartAt": "Both", "States": {"Both": both}}
    tokens: list[str] = []

    def ask(event: Any) -> CallbackPending:
        tokens.append(event["token"])
        return CallbackPending()

    waiting = Asking(Platform.of(definition, F=ask, B=lambda event: event), tokens)
    token = waiting.begun()
    assert waiting.outcome == Failure("Broken", None)
    with pytest.raises(TaskTimedOut):
        waiting.answered(token)
    ending = waiting.platform.ending()
    assert ending
    assert ending.status is Status.FAILED


def test_a_token_expires_with_the_execution(plain: Asking) -> None:
    token = plain.begun()
    plain.platform.clock.pass_seconds(8 * 24 * 3600)
    with pytest.raises(InvalidToken):
        plain.answer(token)


def test_eager_collection_leaves_no_value() -> None:
    waiting = asking(Retry=AGAIN)
    waiting.platform.collection = Collection.EAGER
    waiting.platform.start(value="secret of the start")
    waiting.platform.deliver_all()
    first = waiting.tokens[0]
    waiting.answered(first, Failure("Again", "secret of the first"))
    waiting.pass_time(2)
    waiting.answer(waiting.tokens[1], "secret of the second")
    (nudge,) = waiting.platform.sent
    waiting.platform.deliver_all()
    assert waiting.outcome == Success("secret of the second")
    kept = [item for key, (item, _) in waiting.platform.memory._items.items() if key.partition.startswith("token:")]
    assert len(kept) == 4
    assert "secret" not in str(kept)
    for token in waiting.tokens:
        with pytest.raises(TaskTimedOut):
            waiting.answer(token)
    waiting.deliver(nudge)
    waiting.platform.deliver_all()
    assert waiting.platform.calls == {"Before": 1, "Ask": 2, "After": 1}


def test_a_repeated_call_whose_result_was_collected_is_the_same_call(plain: Asking) -> None:
    plain.platform.collection = Collection.EAGER
    token = plain.begun()
    plain.answer(token, 1, request="first")
    plain.platform.deliver_all()
    plain.answer(token, 1, request="first")
    with pytest.raises(TaskTimedOut):
        plain.answer(token, 1, request="second")


def test_an_event_too_large_to_be_kept_fails_the_task() -> None:
    waiting = asking(Parameters={"FunctionName": "F", "Payload": {"token.$": "$$.Task.Token"}})
    waiting.platform.start(value="x" * 379_900)
    waiting.platform.deliver_all()
    assert waiting.outcome.error == "States.DataLimitExceeded"
    assert re.fullmatch(
        r"state 'Ask': its event has \d+ bytes; at most 380000 are stored for who waits: give the workflow a bucket "
        r'for larger ones, payload="s3", or pass large data by reference',
        waiting.outcome.cause,
    )


def test_a_nudge_whose_answer_is_gone_is_no_silence(plain: Asking) -> None:
    event = plain.event()
    with pytest.raises(
        InconsistentHistory,
        match=exactly("e:1a3185c5000#2: expected the stored result that this event announces, got none"),
    ):
        plain.deliver(replace(event, job={"is_over": True}))


def test_a_task_of_an_activity_is_taken_once_and_beats_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    work = {"Type": "Task", "Resource": "arn:aws:states:::activity:work", "HeartbeatSeconds": 10, "End": True}
    platform = Platform.of({"StartAt": "Work", "States": {"Work": work}})
    platform.functions[SERVICES] = lambda event: event
    waiting = Asking(platform, [])
    platform.options["timer"] = waiting

    def offer(call: Call, _input: Any) -> CallbackPending:
        waiting.tokens.append(call.token)
        return CallbackPending()

    monkeypatch.setattr(platform, "_call", offer)
    token = waiting.begun()
    waiting.pass_time(35)
    assert waiting.outcome is None
    respond.take(platform.runtime(), token, "one", "1")
    respond.take(platform.runtime(), token, "one", "1")
    with pytest.raises(TaskTimedOut, match=exactly("another worker has taken the task")):
        respond.take(platform.runtime(), token, "two", "2")
    waiting.pass_time(21)
    assert waiting.outcome == Failure("States.HeartbeatTimeout", None)
    with pytest.raises(TaskTimedOut):
        respond.take(platform.runtime(), token, "three", "3")


def test_the_secret_part_of_a_token_may_be_any_text() -> None:
    assert hash_of("\ud800") == hash_of("?")


def test_what_a_worker_has_taken_keeps_its_place() -> None:
    """Functions of two releases share it."""
    assert taken_key(Key("p", "pending")) == Key("p", "taken")


@pytest.mark.parametrize("digest", ["é" * 64, "/" * 64, "a/../b" + "0" * 58, "٣" * 64])
def test_token_with_signs_outside_its_alphabet_is_looked_up_nowhere(digest: str) -> None:
    asked = asking()
    asked.begun()
    counting = CountingStore(asked.platform.memory)
    asked.platform.store = counting
    with pytest.raises(InvalidToken):
        asked.answer(digest + "proof")
    assert counting.calls == {}


def test_event_of_a_try_is_stored_with_its_address_as_if_it_had_not_waited(plain: Asking) -> None:
    event = replace(plain.event(), waiting_since_ms=5)
    plain.platform.deliver(event)
    found = last_try(plain.platform.runtime(), event.name, "Ask")
    assert found is not None
    assert (found.envelope.waiting_since_ms, found.envelope.job, found.address) == (None, None, "F:1")


def test_a_nudge_goes_to_the_version_that_waits_and_is_not_delayed(plain: Asking) -> None:
    event = replace(plain.event(), due_ms=plain.platform.clock.ms + 5_000)
    plain.platform.deliver(event)
    plain.answer(plain.tokens[-1])
    plain.platform.sent.clear()
    sent: list[tuple[str, bytes]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain.platform, "invoke", sent.extend)
        plain.platform.deliver(event)
    ((address, nudge),) = sent
    assert address == "F:1"
    assert Envelope.from_json(json.loads(nudge)).due_ms is None


def test_event_of_any_size_waits_if_there_is_a_bucket() -> None:
    waiting = asking(Parameters={"FunctionName": "F", "Payload": {"token.$": "$$.Task.Token"}})
    waiting.platform.store = LargeItems(waiting.platform.memory, MemoryObjects(), "w")
    waiting.platform.start(value="x" * 379_900)
    waiting.platform.deliver_all()
    assert len(waiting.tokens) == 1


def test_try_whose_token_was_collected_is_no_last_try(plain: Asking) -> None:
    event = plain.event()
    plain.platform.deliver(event)
    assert last_try(plain.platform.runtime(), event.name, "Ask") is not None
    plain.platform.memory.collect(key for key in plain.platform.memory._items if key.partition.startswith("token:"))
    assert last_try(plain.platform.runtime(), event.name, "Ask") is None
