"""Signals by key: whom they reach and when, what is kept, what dies half way, and what is cleaned up."""

from typing import Any

import pytest

from tests.unit.features.signals.test_signal import LOOP, OTHER, WAIT, after_a_task
from tests.unit.protocol.platform import Platform, chain, exactly
from unum_client.reading import stored_steps
from unum_compiler import compile_workflow
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import SignalRefused
from unum_runtime.features.signals import listeners, signal_by_key, signal_wait
from unum_runtime.features.signals.mailbox import (
    Mailbox,
    kept_partition,
    listener_key,
    listeners_partition,
    result_key,
    wait_key,
)
from unum_runtime.features.signals.signal import request as to_one
from unum_runtime.features.signals.signal_by_key import KEEP_S, Reached, request
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.control import nudge, operator_requests, stop
from unum_runtime.protocol.control.deletions import delete
from unum_runtime.protocol.control.operator_requests import Control, ValidationException
from unum_runtime.protocol.control.walk import RESERVE_MS
from unum_runtime.protocol.history.pending import Resend, WaitsFor
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.runtime import DEFAULT_RETENTION_S, CallbackPending
from unum_runtime.protocol.waiting import callback
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

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
    platform.clock.pass_seconds(60)
    platform.start("in-time", {})
    platform.deliver_all()
    platform.clock.ms += 1
    platform.start("late", {})
    platform.deliver_all()
    assert outcome(platform, "in-time") == "early"
    assert platform.ending("late") is None


def test_oldest_of_several_kept_signals_comes_first_and_needs_no_event() -> None:
    platform = platform_of({"StartAt": "A", "States": {"A": {**KEYED, "Next": "B"}, "B": {**KEYED, "End": True}}})
    send(platform, "older", id="2")
    platform.clock.pass_seconds(1)
    send(platform, "newer", id="1")
    platform.start("a", {})
    platform.deliver(platform.sent.pop())
    assert platform.sent == []  # a wait that has read its signal is told by nobody
    assert [step.outcome.value for step in platform.steps("a")] == ["older", "newer"]


def test_repetition_counts_once_per_execution_with_the_first_value() -> None:
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
    from unum_runtime.features.signals import signal  # noqa: PLC0415 - the name is that of a fixture elsewhere

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
    assert (first.is_new, first.reached) == (True, signal_by_key.PAGE)
    reached, asked = first.reached, first.rest
    while asked is not None:
        assert "value" not in asked
        for again in (False, True):
            found = signal_by_key.send(short, asked)
            assert again is False or found.reached == 0
            assert not found.is_new
            reached += found.reached
        asked = found.rest
    platform.deliver_all()
    assert reached == MANY
    assert {outcome(platform, name) for name in names} == {"yes"}


def test_all_are_reached_at_once_while_the_time_that_is_left_suffices() -> None:
    platform = waiting(ONE, *(f"e{number}" for number in range(MANY)))
    pages: list[int] = []
    page = platform.memory.page

    def counted(*given: Any, **named: Any) -> Any:
        found = page(*given, **named)
        pages.append(len(found))
        return found

    vars(platform.memory)["page"] = counted
    enough = replace(platform.runtime(), remaining_ms=lambda: RESERVE_MS)
    assert signal_by_key.send(enough, request("go", "x", "yes", id="1")) == Reached(
        is_new=True, reached=MANY, rest=None
    )
    assert sum(pages) == MANY, "each listener is read once"


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
    assert isinstance(found.effect, Resend)
    assert found.effect.address == "services"
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
    reply = operator_requests.answer(
        platform.runtime(), operator_requests.parse(operator_requests.request(Control.WHY, "a")), None
    )
    assert [each["signal"] for each in reply["missing"]] == [{"name": "go", "key": "x"}]


def test_a_branch_that_finds_a_signal_for_another_one_continues_that() -> None:
    platform = waiting(BRANCHES, "a", value=[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_by_key, "_reach_all", lambda *_: (0, None))
        send(platform, "one")
    (found,) = nudge.missing(platform.runtime(), "a")
    box = Mailbox(execution_of(platform, "a"), "go", "x")
    from unum_runtime.features.signals import listeners  # noqa: PLC0415 - beside its use

    # As the wait of a second branch does, in the slot after.
    listeners.listen(platform.runtime(), box, box.slot(1))
    platform.deliver_all()
    assert found.state == "A"
    assert outcome(platform, "a") == ["one"]


def test_ended_wait_is_taken_out_and_an_ended_execution_gets_nothing() -> None:
    platform = waiting(ONE, "a", "b", "c")
    stop.stop(platform.runtime(), execution_of(platform, "a"), Failure(None, None))
    listeners = listeners_partition("w", "go", "x")
    assert send(platform, "one").reached == 2
    assert len(platform.store.query(listeners)) == 2
    assert send(platform, "two", id="2").reached == 0
    assert not platform.store.query(listeners)
    assert all(isinstance(expires_at_s, int) for _, expires_at_s in platform.memory._items.values())


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
    text = "expected an execution, or the key of the executions, got neither"
    with pytest.raises(ValidationException, match=exactly(text)):
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
        ({"keep_s": DEFAULT_RETENTION_S + 1}, "keep_s"),
        ({"keep_s": True}, "keep_s"),
        ({"keep_s": 10**9}, "keep_s"),
        ({"keep_s": 60.5}, "keep_s"),
        ({"keep_s": "60"}, "keep_s"),
        ({"$unum": 7}, "wire version"),
        ({"after": "f"}, "value"),
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


def test_a_signal_is_kept_for_as_long_as_results() -> None:
    platform = waiting(ONE, "a")
    assert send(platform, keep_s=DEFAULT_RETENTION_S).reached == 1
    (kept,) = platform.store.query(kept_partition("w", "go", "x")).values()
    assert kept["until"] - kept["at"] == DEFAULT_RETENTION_S * 1000


@pytest.mark.parametrize(("retention_s", "kept_s"), [(3600, 3600), (DEFAULT_RETENTION_S, KEEP_S)])
def test_signal_is_kept_for_a_day_or_the_retention_by_default(retention_s: int, kept_s: int) -> None:
    platform = waiting(ONE, "a")
    platform.options["retention_s"] = retention_s
    assert send(platform).reached == 1
    (kept,) = platform.store.query(kept_partition("w", "go", "x")).values()
    assert kept["until"] - kept["at"] == kept_s * 1000


def test_an_answer_tells_whether_anything_is_left() -> None:
    assert Reached(is_new=True, reached=2, rest=None).to_json() == {"is_new": True, "reached": 2, "is_done": True}
    assert Reached(is_new=False, reached=0, rest={}).to_json() == {"is_new": False, "reached": 0, "is_done": False}


def test_executions_of_earlier_definitions_hear_signals_without_a_task() -> None:
    platform = waiting(ONE, "a")
    platform.workflow = compile_workflow(OTHER, name="w", functions=["Z"])
    names = "workflow 'w' waits for 'go'; signals of it: halt, more"
    with pytest.raises(SignalRefused, match=exactly(f"signal: no Task of {names}")):
        signal_by_key.send(platform.runtime(), request("go", "y", 1, id="1"))
    assert signal_by_key.send(platform.runtime(), request("go", "x", 1, id="1")).reached == 1


def test_a_workflow_without_signals_says_that_it_has_none() -> None:
    platform = Platform.of(chain("Z"), Z=lambda event: event)
    with pytest.raises(
        SignalRefused, match=exactly("signal: no Task of workflow 'w' waits for 'go'; signals of it: none")
    ):
        signal_by_key.send(platform.runtime(), request("go", "x", 1, id="1"))


def test_rest_of_a_signal_does_not_reach_waits_begun_after_its_time() -> None:
    platform = platform_of(ONE)
    send(platform, "early", keep_s=60)
    platform.clock.pass_seconds(61)
    platform.start("late", {})
    platform.deliver_all()
    rest = {name: value for name, value in request("go", "x", 1, id="1").items() if name != "value"} | {"after": "~"}
    assert signal_by_key.send(platform.runtime(), rest) == Reached(is_new=False, reached=0, rest=None)
    assert platform.ending("late") is None


def test_who_has_a_full_mailbox_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = waiting(ONE, "a", "b")
    store_signal = signal_by_key.store_signal

    def full(rt: Any, mailbox: Mailbox, signal: Any) -> Any:
        if mailbox.execution.name == "a":  # another signal came between
            raise SignalRefused("full")
        return store_signal(rt, mailbox, signal)

    monkeypatch.setattr(signal_by_key, "store_signal", full)
    assert send(platform, "yes").reached == 1
    assert [platform.ending(name) is None for name in "ab"] == [True, False]


def test_a_wait_that_died_before_it_listened_is_found_and_listens() -> None:
    class Dead(Exception):
        pass

    def dies(*_: Any) -> Any:
        raise Dead

    platform = platform_of(ONE)
    send(platform, "early")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_wait, "listen", dies)
        with pytest.raises(Dead):
            platform.start("a", {})
    (found,) = nudge.missing(platform.runtime(), "a")
    assert found.waits_for is WaitsFor.DELIVERY
    nudge.nudge(platform.runtime(), "a")
    platform.deliver_all()
    assert outcome(platform, "a") == "early"


def test_who_has_taken_another_signal_is_taken_out_even_if_its_sender_died() -> None:
    platform = waiting(ONE, "a")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_by_key, "continue_wait", lambda *_: None)
        assert send(platform, "one").reached == 1
    assert send(platform, "two", id="2").reached == 0
    assert not platform.store.query(listeners_partition("w", "go", "x"))
    assert platform.ending("a") is None
    nudge.nudge(platform.runtime(), "a")
    platform.deliver_all()
    assert outcome(platform, "a") == "one"


def test_a_signal_by_key_has_a_value_of_any_size_where_there_is_a_bucket() -> None:
    platform = platform_of(ONE)
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w", least_bytes=20)
    platform.start("a", {})
    platform.deliver_all()
    assert send(platform, "x" * 100).reached == 1
    ended = stored_steps.ending(platform.store, "w", execution_of(platform, "a"))
    assert ended is not None
    assert ended.outcome == Success("x" * 100)
    assert not any("x" * 100 in repr(item) for item in platform.memory._items.values())


def test_a_signal_whose_id_is_a_word_is_heard_like_any_other() -> None:
    twice = {"StartAt": "A", "States": {"A": {**KEYED, "Next": "B"}, "B": {**KEYED, "End": True}}}
    platform = waiting(twice, "a")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_by_key, "_reach_all", lambda *_: (0, None))
        send(platform, "lost", id="None")
    (found,) = nudge.nudge(platform.runtime(), "a")
    platform.deliver_all()
    assert found.waits_for is WaitsFor.DELIVERY
    assert [step.outcome.value for step in platform.steps("a")] == ["lost"]


def test_what_a_wait_that_has_ended_leaves_open_is_not_heard() -> None:
    """A branch's wait whose time is over leaves a result that is no signal behind a slot without a result."""
    limited = {"StartAt": "B", "States": {"B": {**KEYED, "TimeoutSeconds": 60, "End": True}}}
    both = {"StartAt": "P", "States": {"P": {"Type": "Parallel", "Branches": [ONE, limited], "End": True}}}
    platform = waiting(both, "a")
    box = Mailbox(execution_of(platform, "a"), "go", "x")
    rt = platform.runtime()
    item = callback.result_item(Failure("States.Timeout", None), callback.By.CLOCK)
    platform.memory.create(result_key("w", box.slot(1)), item, expires_at_s=rt.expires_at_s())
    assert listeners.is_unheard(rt, box, box.slot(0)) is False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_by_key, "_reach_all", lambda *_: (0, None))
        send(platform, "lost")
    assert listeners.is_unheard(rt, box, box.slot(0)) is True
    signal_by_key.send(rt, request("go", "x", "lost", id="1"))
    assert listeners.is_unheard(rt, box, box.slot(0)) is False


def test_a_wait_that_has_met_its_signal_is_taken_out_before_it_continues() -> None:
    platform = waiting(ONE, "a")
    assert signal_by_key.send(platform.runtime(), request("go", "x", "one", id="1")).reached == 1
    assert signal_by_key.send(platform.runtime(), request("go", "x", "two", id="2")).reached == 0
    assert not platform.store.query(listeners_partition("w", "go", "x"))
    platform.deliver_all()
    assert outcome(platform, "a") == "one"


def test_late_waiter_gets_the_signal_if_its_own_read_has_not_happened() -> None:
    platform = platform_of(ONE)
    send(platform, "early", keep_s=60)
    platform.clock.pass_seconds(60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listeners, "_kept_for", lambda *_: [])
        platform.start("a", {})
        platform.deliver_all()
    assert outcome(platform, "a") is None
    rest = {name: value for name, value in request("go", "x", 1, id="1").items() if name != "value"} | {"after": "~"}
    assert signal_by_key.send(platform.runtime(), rest) == Reached(is_new=False, reached=1, rest=None)
    platform.deliver_all()
    assert outcome(platform, "a") == "early"


def test_listener_whose_wait_is_gone_is_taken_out() -> None:
    platform = waiting(ONE, "a", "b")
    box = Mailbox(execution_of(platform, "a"), "go", "x")
    del platform.memory._items[wait_key("w", box.slot(0))]
    assert send(platform, "yes").reached == 1
    assert not platform.store.read([listener_key("w", box, box.slot(0))])
    assert [outcome(platform, name) for name in "ab"] == [None, "yes"]


def test_signal_is_kept_for_as_long_as_results_that_are_kept_longer() -> None:
    platform = waiting(ONE, "a")
    platform.options["result_retention_s"] = 2 * DEFAULT_RETENTION_S
    assert send(platform, keep_s=2 * DEFAULT_RETENTION_S).reached == 1
