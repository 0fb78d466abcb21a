"""Signals to executions: who gets which, what is refused, what explains a wait, and what a deletion finds."""

from typing import Any

import pytest

from tests.unit.protocol.platform import Platform
from unum_runtime.errors import ExecutionDoesNotExist, SignalRefused
from unum_runtime.model import mailbox as mailbox_module
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.mailbox import Mailbox, mailbox_key, wait_key
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.control import delete, signal
from unum_runtime.protocol.control.nudge import missing
from unum_runtime.protocol.control.operator_requests import ValidationException
from unum_runtime.protocol.control.signal import Delivered, request
from unum_runtime.protocol.delivery.platform_failure import fail_invocation
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.runtime import CallbackPending
from unum_runtime.protocol.waiting import signal_slots, signal_wait

WAIT = {"Type": "Task", "Resource": "unum:signal:go"}
KEYED = {**WAIT, "Parameters": {"Key.$": "$.order"}}
TWICE = {"StartAt": "A", "States": {"A": {**WAIT, "ResultPath": "$.a", "Next": "B"}, "B": {**WAIT, "End": True}}}
ONE = {"StartAt": "A", "States": {"A": {**WAIT, "End": True}}}
WITH_KEY = {"StartAt": "A", "States": {"A": {**KEYED, "End": True}}}
BRANCHES = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": WITH_KEY, "End": True}}}
LOOP = {
    "StartAt": "A",
    "States": {
        "A": {**WAIT, "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Variable": "$.end", "IsPresent": True, "Next": "E"}], "Default": "A"},
        "E": {"Type": "Succeed"},
    },
}


def after_a_task(definition: Any) -> Any:
    """The definition behind a Task, which has run when the execution has begun."""
    first = {"Type": "Task", "Resource": "Z", "Next": definition["StartAt"]}
    return {"StartAt": "Z", "States": {"Z": first, **definition["States"]}}


def execution_of(platform: Platform) -> Execution:
    return start_record(platform.store, "w", "e").name.execution


def before_its_wait(definition: Any) -> Platform:
    """An execution whose first wait has not begun."""
    functions: dict[str, Any] = {"Z": lambda event: event, "$services": lambda _: CallbackPending()}
    platform = Platform.of(after_a_task(definition), {}, **functions)
    platform.options["own_address"] = "services"
    platform.start(value={})
    return platform


def waiting(definition: Any, value: Any = None) -> Platform:
    """An execution that has begun, and waits."""
    functions: dict[str, Any] = {"$services": lambda _: CallbackPending()}
    platform = Platform.of(definition, {}, **functions)
    platform.options["own_address"] = "services"
    platform.start(value={} if value is None else value)
    platform.deliver_all()
    return platform


def send(platform: Platform, value: Any, *, id: str = "1", key: str | None = None, name: str = "go") -> Delivered:  # noqa: A002
    execution = execution_of(platform).name
    found = signal.answer(platform.runtime(), request(execution, name, value, id=id, key=key))
    platform.deliver_all()
    return Delivered(**found)


def outcome(platform: Platform) -> Any:
    ending = platform.ending()
    return ending and ending.outcome.value


def test_signals_end_waits_in_the_order_in_which_they_come() -> None:
    platform = waiting(TWICE)
    assert send(platform, "one", id="1") == Delivered(is_new=True, is_awaited=True)
    assert send(platform, "two", id="2") == Delivered(is_new=True, is_awaited=True)
    assert outcome(platform) == "two"


def test_an_early_signal_is_kept_and_a_repeated_one_counts_once() -> None:
    platform = before_its_wait(TWICE)
    assert send_early(platform, "one", "1") == Delivered(is_new=True, is_awaited=False)
    assert send_early(platform, "one", "1") == Delivered(is_new=False, is_awaited=False)
    platform.deliver_all()
    assert platform.ending() is None
    assert send(platform, "one", id="1") == Delivered(is_new=False, is_awaited=False)
    assert platform.ending() is None
    send(platform, "two", id="2")
    assert outcome(platform) == "two"


def send_early(platform: Platform, value: Any, identity: str) -> Delivered:
    execution = execution_of(platform).name
    return Delivered(**signal.answer(platform.runtime(), request(execution, "go", value, id=identity)))


def test_keys_tell_branches_apart() -> None:
    platform = waiting(BRANCHES, [{"order": "x"}, {"order": "y"}])
    send(platform, "of y", id="1", key="y")
    send(platform, "of x", id="1", key="x")
    assert outcome(platform) == ["of x", "of y"]


def test_a_key_that_is_no_text_fails_the_wait() -> None:
    platform = waiting(WITH_KEY, {"order": 7})
    ending = platform.ending()
    assert ending is not None
    assert ending.outcome.error == "Unum.InvalidSignalKey"


def test_an_ended_execution_an_unknown_one_and_an_unknown_signal_are_refused() -> None:
    platform = waiting(ONE)
    with pytest.raises(SignalRefused, match=r"no Task of workflow .* waits for 'gone'; signals of it: go"):
        send(platform, 1, name="gone")
    send(platform, 1)
    with pytest.raises(SignalRefused, match="has ended"):
        send(platform, 2, id="2")
    with pytest.raises(ExecutionDoesNotExist):
        signal.answer(platform.runtime(), request("never", "go", 1, id="1"))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"signal": "a b"}, "signal"),
        ({"key": ""}, "key"),
        ({"key": "x" * 257}, "key"),
        ({"key": "\ud800"}, "key"),
        ({"id": ""}, "id"),
        ({"id": 7}, "id"),
        ({"phase": "left"}, "phase"),
        ({"value": "x" * 400_000}, "value"),
        ({"execution": 1}, "execution"),
    ],
)
def test_only_names_ids_and_values_enter(change: dict[str, Any], what: str) -> None:
    platform = waiting(TWICE)
    with pytest.raises(ValidationException, match=what):
        signal.answer(platform.runtime(), {**request(execution_of(platform).name, "go", 1, id="1"), **change})
    assert send(platform, 1, id="later") == Delivered(is_new=True, is_awaited=True)


def test_a_mailbox_has_so_many_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (mailbox_module, signal_slots, signal_wait):
        monkeypatch.setattr(module, "MOST_SLOTS", 3)
    platform = waiting(LOOP)
    for number in range(3):
        send(platform, {}, id=str(number))
    ending = platform.ending()
    assert ending is not None
    assert ending.outcome.error == "Unum.TooManySignals"


def test_too_many_signals_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (signal_slots, signal_wait):
        monkeypatch.setattr(module, "MOST_SLOTS", 2)
    platform = before_its_wait(TWICE)
    for number in range(2):
        send_early(platform, {}, str(number))
    with pytest.raises(SignalRefused, match="2 signals or waits are kept"):
        send_early(platform, {}, "2")


def test_what_an_execution_waits_for_names_signal_and_key() -> None:
    platform = waiting(WITH_KEY, {"order": "x"})
    (found,) = missing(platform.runtime(), execution_of(platform).name)
    assert found.waits_for is WaitsFor.ANSWER
    assert found.signal == Mailbox(execution_of(platform), "go", "x")


def test_the_failure_of_the_last_delivery_leaves_a_signal_that_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = before_its_wait(ONE)
    (event,) = platform.sent
    platform.sent = []
    take_slot = signal_wait._take_slot

    def dies(*given: Any) -> str:
        take_slot(*given)
        raise _Died

    monkeypatch.setattr(signal_wait, "_take_slot", dies)
    with pytest.raises(_Died):
        platform.deliver(event)
    monkeypatch.undo()
    send_early(platform, "yes", "1")
    platform.sent = []
    fail_invocation(platform.runtime(), event, Failure("Sandbox.Timedout", None))
    platform.deliver_all()
    assert outcome(platform) == "yes"


class _Died(BaseException):
    """The end of a sandbox."""


@pytest.mark.parametrize("definition", [TWICE, BRANCHES], ids=["without a key", "keys"])
def test_a_deletion_finds_waits_and_signals(definition: Any) -> None:
    platform = waiting(definition, [{"order": "x"}] if definition is BRANCHES else {})
    key = "x" if definition is BRANCHES else None
    send(platform, "one", id="1", key=key)
    if platform.ending() is None:
        send(platform, "two", id="2", key=key)
    box = Mailbox(execution_of(platform), "go", key or "")
    assert platform.store.query(wait_key("w", box.slot(0)).partition)
    delete.delete(platform.runtime(), execution_of(platform).name)
    for number in range(2):
        assert not platform.store.query(wait_key("w", box.slot(number)).partition)
    assert not platform.store.read([mailbox_key("w", box)])
