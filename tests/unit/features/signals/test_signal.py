"""Signals to executions: who gets which, what is refused, what explains a wait, and what a deletion finds."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import pytest

from tests.unit.protocol.platform import Platform, chain, exactly
from tests.unit.protocol.stranded_platform import Denying
from unum_compiler import compile_workflow
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import ExecutionDoesNotExist, RouteGone, SignalRefused
from unum_runtime.features.signals import mailbox as mailbox_module
from unum_runtime.features.signals import signal, signal_slots, signal_wait
from unum_runtime.features.signals.mailbox import Mailbox, mailbox_key, result_key, wait_key
from unum_runtime.features.signals.signal import Delivered, request
from unum_runtime.model.checkpoint import Failure
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import NAME_RULE, Execution
from unum_runtime.protocol.control import take_over
from unum_runtime.protocol.control.deletions import delete
from unum_runtime.protocol.control.deletions.deletion_marks import QUIET_MS
from unum_runtime.protocol.control.nudge import missing
from unum_runtime.protocol.control.operator_requests import ValidationException
from unum_runtime.protocol.control.platform_failure import fail_invocation
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.history.pending import WaitsFor
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.planning.plan import WITHOUT_BUCKET
from unum_runtime.protocol.requests.definition_records import write_definition
from unum_runtime.protocol.runtime import CallbackPending
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

WAIT = {"Type": "Task", "Resource": "unum:signal:go"}
KEYED = {**WAIT, "Parameters": {"Key.$": "$.order"}}
TWICE = {"StartAt": "A", "States": {"A": {**WAIT, "ResultPath": "$.a", "Next": "B"}, "B": {**WAIT, "End": True}}}
ONE = {"StartAt": "A", "States": {"A": {**WAIT, "End": True}}}
WITH_KEY = {"StartAt": "A", "States": {"A": {**KEYED, "End": True}}}
BRANCHES = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": WITH_KEY, "End": True}}}
OTHER = {
    "StartAt": "A",
    "States": {
        "A": {**WAIT, "Resource": "unum:signal:more", "Next": "B"},
        "B": {**WAIT, "Resource": "unum:signal:halt", "End": True},
    },
}
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
    cause = "state 'A': Key: expected a text of 1 to 256 bytes, got 7"
    assert ending.outcome == Failure("Unum.InvalidSignalKey", cause)


def test_ended_and_unknown_executions_and_unknown_signals_are_refused() -> None:
    platform = waiting(ONE)
    with pytest.raises(SignalRefused, match=r"no Task of workflow .* waits for 'gone'; signals of it: go"):
        send(platform, 1, name="gone")
    send(platform, 1)
    with pytest.raises(SignalRefused, match=exactly("execution 'e' has ended (SUCCEEDED), so nothing waits for 'go'")):
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
        ({"id": "\ud800"}, "id"),
        ({"phase": "left"}, "phase"),
        ({"value": "x" * 400_000}, "value"),
        ({"execution": 1}, "execution"),
        ({"$unum": 7}, "wire version"),
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
    cause = "state 'A': 'go': a mailbox takes 3 waits; use a key for each round"
    assert ending.outcome == Failure("Unum.TooManySignals", cause)


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


def test_wait_whose_key_is_no_key_takes_no_slot_for_a_failure() -> None:
    platform = before_its_wait(WITH_KEY)
    (event,) = platform.sent
    entered = event.input
    assert isinstance(entered, Value)
    task = platform.workflow.task(event.state)
    assert signal_wait.take_own_slot(platform.runtime(), event, task, entered) == event


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
    slots = [wait_key("w", box.slot(number)).partition for number in range(2)]
    used = [slot for slot in slots if platform.store.query(slot)]
    assert used
    delete.delete(platform.runtime(), "e")
    taken = [[*platform.store.query(slot).values()] for slot in used]
    assert taken == [[{"by": "nobody"}]] * len(used), "slots stay taken for deliveries that run"
    platform.clock.ms += QUIET_MS
    delete.delete(platform.runtime(), "e")
    for number in range(2):
        assert not platform.store.query(wait_key("w", box.slot(number)).partition)
    assert not platform.store.read([mailbox_key("w", box)])


def test_a_deletion_that_was_cut_off_finds_the_other_slots_again() -> None:
    platform = waiting(TWICE, {})
    for number in ("1", "2"):
        send(platform, "yes", id=number)
    box = Mailbox(execution_of(platform), "go", "")
    slots = [wait_key("w", box.slot(number)).partition for number in range(2)]
    delete.delete(platform.runtime(), "e")
    platform.clock.ms += QUIET_MS
    erase = platform.memory.erase

    def dying(partition: str, *, keep: Collection[str] = ()) -> int:
        erase(partition, keep=keep)
        if partition in slots:
            raise _Died
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platform.memory, "erase", dying)
        with pytest.raises(_Died):
            delete.delete(platform.runtime(), "e")
    assert any(platform.store.query(slot) for slot in slots)
    delete.delete(platform.runtime(), "e")
    assert not any(platform.store.query(slot) for slot in slots)


def test_a_deletion_finds_signals_of_an_earlier_version() -> None:
    platform = before_its_wait(ONE)
    platform.deliver_all()
    write_definition(platform.runtime())
    send(platform, "one")
    box = Mailbox(execution_of(platform), "go", "")
    platform.workflow = compile_workflow(chain("Z"), name="w", functions=["Z"])
    for _ in range(2):
        delete.delete(platform.runtime(), "e")
        platform.clock.ms += QUIET_MS
    assert not platform.store.query(wait_key("w", box.slot(0)).partition)


def test_a_signal_is_handed_over_by_a_role_that_may_not_send() -> None:
    platform = waiting(ONE)
    handed: list[Any] = []
    denied = replace(platform.runtime(), invoker=Denying())
    asked = request(execution_of(platform).name, "go", "yes", id="1")
    with pytest.raises(RouteGone):
        signal.answer(denied, asked)
    found = signal.answer(replace(denied, hand_over=handed.append), asked)
    assert found == {"is_new": False, "is_awaited": True}
    (request_,) = handed
    assert (request_.address, str(request_.name), request_.state) == ("services", f"{execution_of(platform)}#1", "A")
    assert platform.logged[-1][0] == "handed over"
    addressed = Addressed()
    take_over.take_over(replace(platform.runtime(), invoker=addressed), request_, {})
    assert addressed.to == ["services"]
    platform.sent = addressed.sent
    platform.deliver_all()
    assert outcome(platform) == "yes"


def test_the_event_goes_to_the_function_that_waits() -> None:
    platform, addressed = waiting(ONE), Addressed()
    rt = replace(platform.runtime(), invoker=addressed, own_address="another")
    signal.answer(rt, request(execution_of(platform).name, "go", "yes", id="1"))
    assert addressed.to == ["services"]


class Addressed:
    """Keeps events, and where they were sent."""

    def __init__(self) -> None:
        self.to: list[str] = []
        self.sent: list[Envelope] = []

    def invoke(self, events: Sequence[tuple[str, bytes]]) -> None:
        self.to += [address for address, _ in events]
        self.sent += [Envelope.from_json(json.loads(payload)) for _, payload in events]


@pytest.mark.parametrize("is_stored", [True, False])
def test_an_execution_of_another_version_gets_the_signals_of_its_own(*, is_stored: bool) -> None:
    platform = before_its_wait(ONE)
    platform.deliver_all()
    if is_stored:
        write_definition(platform.runtime())
    platform.workflow = compile_workflow(after_a_task(OTHER), name="w", functions=["Z"])
    assert send_early(platform, "yes", "1") == Delivered(is_new=True, is_awaited=True)
    unknown = request(execution_of(platform).name, "gone", 1, id="1")
    if is_stored:
        with pytest.raises(SignalRefused, match="no Task of workflow 'w' waits for 'gone'; signals of it: halt, more"):
            signal.answer(platform.runtime(), unknown)
    else:  # nobody can tell
        assert signal.answer(platform.runtime(), unknown) == {"is_new": True, "is_awaited": False}


def test_a_workflow_without_signals_says_so() -> None:
    platform = Platform.of(chain("Y", "X"), Y=lambda event: event, X=lambda event: event)
    platform.start(value={})
    with pytest.raises(SignalRefused, match=r"waits for 'go'; signals of it: none$"):
        send_early(platform, 1, "1")


LARGEST = 380_000 - 2
LIMIT = f"value: expected at most 380000 bytes, got 380001{WITHOUT_BUCKET}"


def test_the_largest_value_is_taken_and_a_larger_one_needs_a_bucket() -> None:
    platform = waiting(ONE)
    asked = request(execution_of(platform).name, "go", "x" * (LARGEST + 1), id="1")
    with pytest.raises(ValidationException, match=exactly(LIMIT)):
        signal.answer(platform.runtime(), asked)
    assert send_early(platform, "x" * LARGEST, "1") == Delivered(is_new=True, is_awaited=True)
    platform = waiting(ONE)
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w")
    assert send(platform, "x" * 400_000) == Delivered(is_new=True, is_awaited=True)


def test_a_value_that_is_no_json_is_refused() -> None:
    platform = waiting(ONE)
    with pytest.raises(ValidationException, match=r"^value: .+"):
        signal.answer(platform.runtime(), request(execution_of(platform).name, "go", float("nan"), id="1"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": "x" * 129}, f"id: expected a text of 1 to 128 characters, got {'x' * 129!r:.100}"),
        ({"key": 7}, "key: expected a text of 1 to 256 bytes, or nothing, got 7"),
        ({"execution": 1}, "execution: expected the name of an execution, got 1"),
        ({"signal": "a b"}, f"signal: expected {NAME_RULE}, got 'a b'"),
    ],
)
def test_a_refusal_names_the_field_and_what_it_has(change: dict[str, Any], says: str) -> None:
    platform = waiting(ONE)
    with pytest.raises(ValidationException, match=exactly(says)):
        signal.answer(platform.runtime(), {**request(execution_of(platform).name, "go", 1, id="1"), **change})
    assert send(platform, 1, id="x" * 128) == Delivered(is_new=True, is_awaited=True)


def test_a_request_without_a_key_has_no_such_field() -> None:
    assert "key" not in request("e", "go", 1, id="1")
    assert request("e", "go", 1, id="1", key="k")["key"] == "k"


def test_a_request_without_a_field_is_told_which() -> None:
    platform = waiting(ONE)
    asked = request(execution_of(platform).name, "go", 1, id="1")
    fields = sorted((*asked, "key"))
    del asked["id"]
    with pytest.raises(ValidationException, match=exactly(f"expected the fields {fields}, got none of ['id']")):
        signal.answer(platform.runtime(), asked)


def test_a_slot_in_which_nobody_waits_any_more_is_closed() -> None:
    branches = [ONE, {"StartAt": "F", "States": {"F": {"Type": "Task", "Resource": "Z", "End": True}}}]
    caught = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}], "Next": "B"}
    states = {"P": {"Type": "Parallel", "Branches": branches, **caught}, "B": {**WAIT, "End": True}}

    def fail(_event: Any) -> Any:
        raise ValueError

    platform = Platform.of(
        {"StartAt": "P", "States": states}, {}, **{"Z": fail, "$services": lambda _: CallbackPending()}
    )
    platform.options["own_address"] = "services"
    platform.start(value={})
    platform.deliver_all()
    assert send(platform, "yes") == Delivered(is_new=True, is_awaited=True)
    assert outcome(platform) == "yes"
    closed = result_key("w", Mailbox(execution_of(platform), "go", "").slot(0))
    assert platform.store.read([closed]) == {closed: {"by": "nobody"}}


def test_deletion_finds_a_signal_that_came_before_any_wait() -> None:
    platform = before_its_wait(WITH_KEY)
    signal.answer(platform.runtime(), request("e", "go", "early", id="1", key="x"))
    box = Mailbox(execution_of(platform), "go", "x")
    assert platform.store.query(wait_key("w", box.slot(0)).partition)
    stop(platform.runtime(), execution_of(platform), Failure("Stop", None))
    for _ in range(2):
        delete.delete(platform.runtime(), "e")
        platform.clock.ms += QUIET_MS
    assert not platform.store.query(wait_key("w", box.slot(0)).partition)
