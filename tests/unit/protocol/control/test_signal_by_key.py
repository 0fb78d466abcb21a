"""Signals by key: whom they reach and when, what is kept, what dies half way, and what is cleaned up."""

from typing import Any

import pytest

from tests.unit.protocol.control.test_signal import LOOP, WAIT, after_a_task
from tests.unit.protocol.platform import Platform
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import SignalRefused
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.mailbox import Mailbox, kept_partition, listener_key, listeners_partition
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.control import delete, nudge, signal_by_key, stop
from unum_runtime.protocol.control.operator_requests import ValidationException
from unum_runtime.protocol.control.signal import request as to_one
from unum_runtime.protocol.control.signal_by_key import Reached, request
from unum_runtime.protocol.control.walk import RESERVE_MS
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.runtime import CallbackPending

KEYED = {**WAIT, "Parameters": {"Key": "x"}}
ONE = {"StartAt": "A", "States": {"A": {**KEYED, "End": True}}}
BRANCHES = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": ONE, "End": True}}}
MANY = 150


def platform_of(definition: Any) -> Platform:
    functions: dict[str, Any] = {"Z": lambda event: event, "$services": lambda _: CallbackPending()}
    platform = Platform.of(definition, {}, **functions)
    platform.options["own_address"] = "services"
    return platform


def waiting(definition: Any, *names: str, value: Any = None) -> Platform:
    """Executions that wait."""
    platform = platform_of(definition)
    for name in names:
        platform.start(name, {} if value is None else value)
    platform.deliver_all()
    return platform


def send(platform: Platform, value: Any = 1, *, id: str = "1", key: str = "x", **more: Any) -> Reached:  # noqa: A002
    found = signal_by_key.send(platform.runtime(), request("go", key, value, id=id, **more))
    platform.deliver_all()
    return found


def execution_of(platform: Platform, name: str) -> Execution:
    return start_record(platform.store, "w", name).name.execution


def outcome(platform: Platform, name: str) -> Any:
    ending = platform.ending(name)
    return ending and ending.outcome.value


def test_it_reaches_every_execution_that_waits_with_its_key_and_no_other() -> None:
    platform = waiting(ONE, "a", "b")
    assert send(platform, "other", id="0", key="y").reached == 0
    assert send(platform, "yes") == Reached(is_new=True, reached=2, rest=None)
    assert [outcome(platform, name) for name in "ab"] == ["yes", "yes"]


def test_one_that_begins_to_wait_later_hears_it_until_its_time_is_over() -> None:
    platform = platform_of(ONE)
    assert send(platform, "early", keep_s=60).reached == 0
    platform.clock.pass_seconds(59)
    platform.start("in-time", {})
    platform.clock.pass_seconds(2)
    platform.start("late", {})
    platform.deliver_all()
    assert outcome(platform, "in-time") == "early"
    assert platform.ending("late") is None


def test_of_several_that_are_kept_the_oldest_comes_first_and_needs_no_event() -> None:
    platform = platform_of({"StartAt": "A", "States": {"A": {**KEYED, "Next": "B"}, "B": {**KEYED, "End": True}}})
    send(platform, "older", id="2")
    platform.clock.pass_seconds(1)
    send(platform, "newer", id="1")
    platform.start("a", {})
    platform.deliver(platform.sent.pop())
    assert platform.sent == []  # a wait that has read its signal is told by nobody
    assert [step.outcome.value for step in platform.steps("a")] == ["older", "newer"]


def test_a_repetition_counts_once_in_each_execution_and_has_the_value_of_the_first() -> None:
    twice = {"StartAt": "A", "States": {"A": {**KEYED, "Next": "B"}, "B": {**KEYED, "End": True}}}
    platform = waiting(twice, "a")
    assert send(platform, "first") == Reached(is_new=True, reached=1, rest=None)
    assert send(platform, "second") == Reached(is_new=False, reached=0, rest=None)
    assert platform.ending("a") is None
    platform.start("b", {})
    platform.deliver_all()
    assert send(platform, "third", id="2") == Reached(is_new=True, reached=2, rest=None)
    assert [outcome(platform, name) for name in "ab"] == ["third", "third"]


def test_a_signal_by_name_with_the_same_id_is_the_same_signal() -> None:
    from unum_runtime.protocol.control import signal  # noqa: PLC0415 - the name is that of a fixture elsewhere

    twice = {"StartAt": "A", "States": {"A": {**KEYED, "Next": "B"}, "B": {**KEYED, "End": True}}}
    platform = waiting(twice, "a")
    signal.answer(platform.runtime(), to_one("a", "go", "by name", id="1", key="x"))
    platform.deliver_all()
    assert send(platform, "by key").reached == 0
    assert platform.ending("a") is None


def test_branches_with_one_key_share_it() -> None:
    platform = waiting(BRANCHES, "a", value=[1, 2])
    assert send(platform, "one").reached == 1
    assert platform.ending("a") is None
    send(platform, "two", id="2")
    assert outcome(platform, "a") == ["one", "two"]


def test_thousands_are_reached_in_parts_each_of_which_may_be_repeated() -> None:
    names = [f"e{number}" for number in range(MANY)]
    platform = waiting(ONE, *names)
    short = replace(platform.runtime(), remaining_ms=lambda: 0)
    first = signal_by_key.send(short, request("go", "x", "yes", id="1"))
    reached, asked = first.reached, first.rest
    while asked is not None:
        assert "value" not in asked
        for again in (False, True):
            found = signal_by_key.send(short, asked)
            assert again is False or found.reached == 0
            reached += found.reached
        asked = found.rest
    platform.deliver_all()
    assert reached == MANY
    assert {outcome(platform, name) for name in names} == {"yes"}


def test_all_are_reached_at_once_while_the_time_that_is_left_suffices() -> None:
    platform = waiting(ONE, *(f"e{number}" for number in range(MANY)))
    enough = replace(platform.runtime(), remaining_ms=lambda: RESERVE_MS)
    assert signal_by_key.send(enough, request("go", "x", "yes", id="1")) == Reached(
        is_new=True, reached=MANY, rest=None
    )


def test_when_its_sender_has_died_each_nudge_continues_who_was_not_reached() -> None:
    platform = waiting(ONE, "a")

    class Dead(Exception):
        pass

    def dies(*_: Any) -> Any:
        raise Dead

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_by_key, "_reach_all", dies)
        with pytest.raises(Dead):
            send(platform, "half way", keep_s=60)
    platform.clock.pass_seconds(100)
    (found,) = nudge.missing(platform.runtime(), "a")
    assert found.waits_for is WaitsFor.DELIVERY
    nudge.nudge(platform.runtime(), "a")
    assert [event.sent_s for event in platform.sent] == [platform.runtime().sent_s()]
    platform.deliver_all()
    assert outcome(platform, "a") == "half way"


def test_nudges_send_nothing_to_who_has_heard_everything() -> None:
    states: Any = LOOP["States"]
    platform = waiting({**LOOP, "States": {**states, "A": {**KEYED, "Next": "C"}}}, "a")
    send(platform, {})
    (found,) = nudge.missing(platform.runtime(), "a")
    assert found.waits_for is WaitsFor.ANSWER
    assert found.signal == Mailbox(execution_of(platform, "a"), "go", "x")


def test_a_branch_that_finds_a_signal_for_another_one_continues_that() -> None:
    platform = waiting(BRANCHES, "a", value=[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_by_key, "_reach_all", lambda *_: (0, None))
        send(platform, "one")
    (found,) = nudge.missing(platform.runtime(), "a")
    box = Mailbox(execution_of(platform, "a"), "go", "x")
    from unum_runtime.protocol.waiting import listeners  # noqa: PLC0415 - beside its use

    # As the wait of a second branch does, in the slot after.
    listeners.listen(platform.runtime(), box, box.slot(1))
    platform.deliver_all()
    assert found.state == "A"
    assert outcome(platform, "a") == ["one"]


def test_who_waits_no_more_is_taken_out_and_an_ended_execution_gets_nothing() -> None:
    platform = waiting(ONE, "a", "b", "c")
    stop.stop(platform.runtime(), execution_of(platform, "a"), Failure(None, None))
    listeners = listeners_partition("w", "go", "x")
    assert send(platform, "one").reached == 2
    assert len(platform.store.query(listeners)) == 2
    assert send(platform, "two", id="2").reached == 0
    assert not platform.store.query(listeners)


def test_a_deletion_takes_its_entries_out() -> None:
    platform = waiting(ONE, "a")
    box = Mailbox(execution_of(platform, "a"), "go", "x")
    assert platform.store.read([listener_key("w", box, box.slot(0))])
    send(platform)
    delete.delete(platform.runtime(), "a")
    assert not platform.store.query(listeners_partition("w", "go", "x"))


def test_waits_without_a_key_pay_nothing_and_are_not_reached() -> None:
    platform = waiting({"StartAt": "A", "States": {"A": {**WAIT, "End": True}}}, "a")
    assert not any("started" in item for item, _ in platform.memory._items.values())
    with pytest.raises(ValidationException, match="execution, or the key"):
        signal_by_key.send(platform.runtime(), {**request("go", "x", 1, id="1"), "key": None})


def test_what_is_kept_goes_when_its_time_is_over() -> None:
    platform = waiting(ONE, "a")
    send(platform, keep_s=60)
    assert platform.store.query(kept_partition("w", "go", "x"))
    platform.clock.pass_seconds(60 + 3_600)
    assert not platform.store.query(kept_partition("w", "go", "x"))
    assert send(platform, "again").is_new


def test_a_rest_whose_signal_is_gone_is_done() -> None:
    platform = waiting(ONE, "a")
    rest = {name: value for name, value in request("go", "x", 1, id="1").items() if name != "value"} | {"after": "f"}
    assert signal_by_key.send(platform.runtime(), rest) == Reached(is_new=False, reached=0, rest=None)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"signal": "a b"}, "signal"),
        ({"key": ""}, "key"),
        ({"key": 7}, "key"),
        ({"id": ""}, "id"),
        ({"keep_s": 59}, "keep_s"),
        ({"keep_s": True}, "keep_s"),
        ({"keep_s": 10**9}, "keep_s"),
        ({"phase": "left"}, "phase"),
        ({"value": "x" * 400_000}, "value"),
    ],
)
def test_only_names_keys_ids_and_values_enter(change: dict[str, Any], what: str) -> None:
    platform = waiting(ONE, "a")
    with pytest.raises(ValidationException, match=what):
        signal_by_key.send(platform.runtime(), {**request("go", "x", 1, id="1"), **change})
    assert platform.ending("a") is None


def test_a_signal_that_nothing_waits_for_and_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = waiting(after_a_task(ONE), "a")
    with pytest.raises(SignalRefused, match="waits for 'gone'; signals of it: go"):
        signal_by_key.send(platform.runtime(), request("gone", "x", 1, id="1"))
    monkeypatch.setattr(signal_by_key, "MOST_KEPT", 1)
    send(platform, id="1")
    send(platform, id="1")
    with pytest.raises(SignalRefused, match="1 signals with this key are kept"):
        send(platform, id="2")
