"""Requests by task token: which keys a token may lead to, whom an answer continues, and what a worker leaves."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.unit.protocol.callback_platform import asking
from tests.unit.protocol.counting_store import CountingStore
from unum_runtime.errors import InvalidToken, TaskTimedOut
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.naming import pending_key
from unum_runtime.protocol.requests import respond
from unum_runtime.protocol.requests.respond import answer, request
from unum_runtime.protocol.waiting.callback import DIGEST_LENGTH, taken_key


@pytest.mark.parametrize("token", ["", "é" * 100, "../" * 30, "a" * 63 + "/proof"])
def test_a_token_that_is_none_leads_to_no_key(token: str) -> None:
    platform = asking().platform
    platform.store = store = CountingStore(platform.memory)
    with pytest.raises(InvalidToken):
        respond.beat(platform.runtime(), token)
    assert store.calls == {}


def test_an_answer_continues_the_function_that_gave_out_the_token() -> None:
    waiting = asking()
    token = waiting.begun()
    addresses: list[str] = []

    class Sending:
        def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
            addresses.extend(address for address, _ in events)

    rt = replace(waiting.platform.runtime(), own_address="other", invoker=Sending())
    respond.send_result(rt, token, Success(1), "")
    assert addresses == ["F:1"]


def test_the_worker_of_a_task_is_stored_for_its_operators() -> None:
    waiting = asking()
    token = waiting.begun()
    assert answer(waiting.platform.runtime(), request(token, worker="me", request_id="r")) == {}
    key = taken_key(pending_key("w", token[:DIGEST_LENGTH]))
    assert waiting.platform.memory.read([key]) == {key: {"worker": "me", "request": "r"}}


def test_a_task_is_taken_twice_only_by_a_repeated_request() -> None:
    waiting = asking()
    token, rt = waiting.begun(), waiting.platform.runtime()
    for _ in range(2):
        respond.take(rt, token, "me", "r")
    for again in ("", "another"):
        with pytest.raises(TaskTimedOut, match="another worker"):
            respond.take(rt, token, "me", again)


def test_a_task_taken_without_a_request_is_not_taken_again() -> None:
    waiting = asking()
    token, rt = waiting.begun(), waiting.platform.runtime()
    respond.take(rt, token, "me", "")
    with pytest.raises(TaskTimedOut, match="another worker"):
        respond.take(rt, token, "me", "")


def test_a_late_result_writes_nothing() -> None:
    waiting = asking()
    token = waiting.begun()
    waiting.answer(token)
    waiting.platform.store = store = CountingStore(waiting.platform.memory)
    with pytest.raises(TaskTimedOut):
        waiting.answer(token, "other")
    assert store.calls["create"] == 0
