"""Waits for signals at their functions: keys, slots, time limits, and what is stored of them."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.unit.features.signals.test_signal import after_a_task
from tests.unit.protocol.counting_store import CountingStore
from tests.unit.protocol.platform import MovableClock, Platform, chain, exactly
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import RefusedDelivery
from unum_runtime.features.signals import signal, signal_wait
from unum_runtime.features.signals.mailbox import MOST_SLOTS, Mailbox, mailboxes_partition, result_key
from unum_runtime.features.signals.signal_slots import event_of, slots, used_slots
from unum_runtime.features.task_tokens.given_tokens import next_check
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import Execution, Key
from unum_runtime.model.states import Pattern, Wait
from unum_runtime.protocol.control.nudge import missing, nudge
from unum_runtime.protocol.delivery.ingress import _refuse_late_check
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.history.pending import Resend
from unum_runtime.protocol.history.start_records import start_record
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, WITHOUT_BUCKET
from unum_runtime.protocol.runtime import Call, CallbackPending, JobPending
from unum_runtime.protocol.waiting import callback
from unum_runtime.protocol.waiting.callback import By, Limits
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects

WAIT: dict[str, Any] = {"Type": "Task", "Resource": "unum:signal:go", "End": True}
JSONATA = {"QueryLanguage": "JSONata"}


def one(**fields: Any) -> dict[str, Any]:
    return {"StartAt": "A", "States": {"A": {**WAIT, **fields}}}


def later() -> dict[str, Any]:
    """A wait behind a Task, which has run when the execution has begun."""
    first = {"Type": "Task", "Resource": "Z", "Next": "A"}
    return {"StartAt": "Z", "States": {"Z": first, "A": WAIT}}


def each(**fields: Any) -> dict[str, Any]:
    """A Map, of which each branch waits."""
    return {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": one(**fields), "End": True}}}


def begun(definition: dict[str, Any], value: Any = None) -> Platform:
    """An execution whose first events were not delivered yet."""
    functions: dict[str, Any] = {"Z": lambda event: event, "$services": lambda _: CallbackPending()}
    platform = Platform.of(definition, {}, **functions)
    platform.options["own_address"] = "services"
    platform.start(value=value)
    return platform


def waiting(definition: dict[str, Any], value: Any = None) -> Platform:
    platform = begun(definition, value)
    platform.deliver_all()
    return platform


def execution_of(platform: Platform) -> Execution:
    return start_record(platform.store, "w", "e").name.execution


def send(platform: Platform, value: Any, identity: str = "1", key: str | None = None) -> Any:
    return signal.answer(platform.runtime(), signal.request("e", "go", value, id=identity, key=key))


def outcome(platform: Platform) -> Any:
    ending = platform.ending()
    return ending and (ending.outcome.error if isinstance(ending.outcome, Failure) else ending.outcome.value)


def keys(platform: Platform) -> list[str]:
    return sorted(each.signal.key for each in missing(platform.runtime(), "e") if each.signal is not None)


def used(platform: Platform, key: str = "") -> int:
    return len(used_slots(platform.memory, "w", Mailbox(execution_of(platform), "go", key)))


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"Parameters": {"Key.$": "$.order"}}, "o1"),
        ({"Parameters": {"Key.$": "$$.State.Name"}}, "A"),
        ({"Parameters": {"Key.$": "$$.Execution.Name"}}, "e"),
        ({**JSONATA, "Arguments": {"Key": "{% $states.input.order %}"}}, "o1"),
    ],
)
def test_a_key_comes_from_the_input_or_the_context(fields: dict[str, Any], key: str) -> None:
    platform = waiting(one(**fields), {"order": "o1"})
    assert keys(platform) == [key]
    send(platform, "yes", key=key)
    platform.deliver_all()
    assert outcome(platform) == "yes"


def test_a_key_comes_from_variables() -> None:
    first = {"Type": "Task", "Resource": "Z", "Assign": {"order.$": "$.order"}, "Next": "A"}
    second = {**WAIT, "Parameters": {"Key.$": "$order"}}
    platform = waiting({"StartAt": "Z", "States": {"Z": first, "A": second}}, {"order": "o1"})
    assert keys(platform) == ["o1"]


def test_random_keys_differ_in_branches_and_are_equal_in_every_delivery() -> None:
    platform = begun(each(Parameters={"Key.$": "States.UUID()"}), [1, 2])
    events = [*platform.sent]
    platform.deliver_all()
    found = keys(platform)
    assert len({*found}) == 2
    for event in events:
        platform.deliver(event)
    assert [used(platform, key) for key in found] == [1, 1]


def test_each_slot_is_read_once_in_growing_blocks() -> None:
    platform = waiting(one())
    store = CountingStore(platform.memory)
    platform.store = store
    box = Mailbox(execution_of(platform), "go", "")
    store.calls.clear()
    store.keys_read = 0
    found = [*slots(platform.runtime(), box)]
    assert [slot.number for slot in found] == [*range(MOST_SLOTS)]
    assert [slot.digest for slot in found] == [box.slot(number) for number in range(MOST_SLOTS)]
    assert (store.keys_read, store.calls["read"]) == (2 * MOST_SLOTS, 5 + 31), "1, 2, 4, 8, 16, and 32 thereafter"


def test_a_delivery_that_comes_again_takes_no_second_slot() -> None:
    platform = begun(each(), [1, 2])
    events = [*platform.sent]
    platform.deliver_all()
    for event in events * 2:
        platform.deliver(event)
    assert used(platform) == 2
    send(platform, "one", "1")
    send(platform, "two", "2")
    platform.deliver_all()
    assert sorted(outcome(platform)) == ["one", "two"]


def test_the_second_wait_of_a_mailbox_reads_the_second_slot_first(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = begun(each(), [1, 2])
    first, second = platform.sent
    platform.deliver(first)
    read: list[Any] = []
    inner = platform.memory.read

    def note(wanted: Iterable[Key]) -> Any:
        read.append([*wanted])
        return inner(read[-1])

    monkeypatch.setattr(platform.memory, "read", note)
    platform.deliver(second)
    box = Mailbox(execution_of(platform), "go", "")
    slot = [wanted for wanted in read if any(box.slot(0) in key.partition for key in wanted)]
    assert slot == []


RETRY = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 3}]


def test_each_try_has_a_slot_of_its_own() -> None:
    platform = waiting(one(TimeoutSeconds=10, Retry=RETRY), {})
    for _ in range(2):
        platform.deliver(platform.pass_to_next())  # its time is over
        platform.deliver(platform.pass_to_next())  # the next try
    assert used(platform) == 3
    assert missing(platform.runtime(), "e")
    send(platform, "yes")
    platform.deliver_all()
    assert outcome(platform) == "yes"


def test_time_limit_begins_with_the_wait_and_outlasts_an_early_check() -> None:
    platform = waiting(one(TimeoutSeconds=10), {})
    ((due_ms, check),) = platform.waiting
    assert due_ms == platform.clock.ms + 10_000
    platform.waiting = []
    platform.deliver(check)
    ((again_ms, check),) = platform.waiting
    assert again_ms == due_ms
    send(platform, "in time")
    platform.sent = []  # the sender died
    platform.clock.ms = due_ms
    platform.deliver(check)
    platform.deliver_all()
    assert outcome(platform) == "in time"


@pytest.mark.parametrize("by", [By.CLOCK, By.NOBODY])
def test_the_first_event_continues_from_no_result_of_another_event(by: By) -> None:
    platform = begun(later())
    (event,) = platform.sent
    rt, box = platform.runtime(), Mailbox(execution_of(platform), "go", "")
    assert signal_wait.begin_wait(rt, event, box, Limits(9)) == JobPending(box.slot(0), 9_000)
    item = callback.result_item(Failure("States.Timeout", None), by)
    platform.memory.create(result_key("w", box.slot(0)), item, expires_at_s=rt.expires_at_s())
    assert signal_wait.begin_wait(rt, event, box, Limits(9)) == CallbackPending()


def test_the_last_try_is_told_with_its_address() -> None:
    platform = begun(later())
    (event,) = platform.sent
    rt, box = platform.runtime(), Mailbox(execution_of(platform), "go", "")
    signal_wait.begin_wait(rt, event, box, Limits())
    found = signal_wait.last_wait(rt, box, event.name, "A")
    assert found is not None
    assert (found[0].address, found[0].answered_by, found[1]) == ("services", None, box.slot(0))
    # A task token has no slot.
    assert pending._resuming_event(rt, found[0], By.CLOCK).job == {"since": platform.clock.ms}


def test_a_stored_event_is_the_first_of_its_try() -> None:
    """Waits and jobs of its deliveries would be taken for those of the event that a signal sends."""
    platform = begun(later())
    (event,) = platform.sent
    rt, box = platform.runtime(), Mailbox(execution_of(platform), "go", "")
    signal_wait.begin_wait(rt, replace(event, job={"since": 1}, waiting_since_ms=5), box, Limits())
    (slot, *_) = slots(rt, box)
    assert slot.wait is not None
    assert event_of(slot.wait) == (replace(event, job=None, waiting_since_ms=None), "services")


def test_event_too_large_to_be_stored_fails_its_wait_without_a_bucket() -> None:
    platform = begun(later(), "")
    (event,) = platform.sent
    rt, box = platform.runtime(), Mailbox(execution_of(platform), "go", "")
    large = filled(event, MAX_OUTCOME_BYTES)
    larger = filled(event, MAX_OUTCOME_BYTES + 1)
    cause = f"its event has 380001 bytes; at most 380000 are stored for a wait{WITHOUT_BUCKET}"
    with pytest.raises(signal_wait.StatesError) as failed:
        signal_wait.begin_wait(rt, larger, box, Limits())
    assert (failed.value.error, failed.value.cause) == ("States.DataLimitExceeded", cause)
    assert signal_wait.begin_wait(rt, large, box, Limits()) == CallbackPending()
    platform.store = LargeItems(platform.memory, MemoryObjects(), "w")
    wide = replace(larger, retries=(1,))
    assert signal_wait.begin_wait(platform.runtime(), wide, box, Limits()) == CallbackPending()


def test_the_job_of_a_nudge_names_a_slot_only_if_there_is_one() -> None:
    assert callback.nudge_job() == {"is_over": True}
    assert callback.nudge_job("slot") == {"is_over": True, "handle": "slot"}


def test_a_collected_result_is_refused_as_such() -> None:
    says = "the result was collected, because what follows from it is committed"
    with pytest.raises(RefusedDelivery, match=exactly(says)):
        callback.parse_result({TOMBSTONE: 1})


@pytest.mark.parametrize(("by", "sent"), [(By.CODE, 0), (By.NOBODY, 0), (By.RESPONDER, 1)])
def test_only_the_result_of_a_responder_sends_an_event_again(by: By, sent: int) -> None:
    platform = begun(later())
    event = platform.sent.pop()
    item = callback.result_item(Failure("Stop", None), by)
    assert callback.take_result(platform.runtime(), event, item, By.CLOCK) == CallbackPending()
    assert len(platform.sent) == sent


def test_only_checks_of_given_tokenss_look_for_a_result() -> None:
    platform = begun(later())
    (event,) = platform.sent
    platform.store = store = CountingStore(platform.memory)
    rt, task = platform.runtime(), platform.workflow.task("A")
    check = replace(event, job={"since": 1})
    no_task = Wait(name="W", scope=None, data={}, next=None)
    for state, sent in ((no_task, check), (replace(task, pattern=Pattern.SYNC), check), (task, event)):
        _refuse_late_check(rt, sent, state)
    assert store.calls == {}
    _refuse_late_check(rt, check, task)
    assert store.calls == {"read": 1}


def filled(event: Envelope, size: int) -> Envelope:
    """Return `event` with an empty text as its input, filled up to `size` bytes."""
    assert isinstance(event.input, Value)
    missing_bytes = size - len(to_text(event.to_json()).encode())
    return replace(event, input=Value(Success("x" * missing_bytes), event.input.entered_ms))


def test_a_stand_in_of_a_test_answers_in_place_of_a_signal() -> None:
    """It has no token, and gets the arguments of the wait as of the time at which that began."""
    asked: list[tuple[Call, Any]] = []

    def stand_in(call: Call, event: Any) -> Any:
        asked.append((call, event))
        return "stood in"

    key = "{% $string($millis()) & ($exists($states.context.Task) ? ' with a token' : '') %}"
    platform = Platform.of(one(**JSONATA, Arguments={"Key": key}), {}, **{"$services": print})
    platform.options["own_address"] = "services"
    platform._call = stand_in
    platform.clock = Ticking()
    platform.start(value={})
    platform.deliver_all()
    assert outcome(platform) == "stood in"
    ((call, event),) = asked
    assert call.token == ""
    (wait,) = (item for item, _ in platform.memory._items.values() if "waiter" in item)
    assert event == {"Key": str(event_of(wait)[0].begun_ms)}


class Ticking(MovableClock):
    """A clock that goes on whenever somebody looks at it."""

    def now_ms(self) -> int:
        self.ms += 1
        return self.ms


def test_a_stored_wait_tells_when_it_began() -> None:
    platform = waiting(later())
    (slot, *_) = slots(platform.runtime(), Mailbox(execution_of(platform), "go", ""))
    assert slot.wait is not None
    assert event_of(slot.wait)[0].begun_ms == platform.clock.ms


@pytest.mark.parametrize("by", [By.CLOCK, By.RESPONDER])
def test_a_result_whose_event_was_lost_is_continued_from_its_slot(by: By) -> None:
    platform = waiting(later())
    box = Mailbox(execution_of(platform), "go", "")
    item = callback.result_item(Failure("Over", None), by)
    platform.memory.create(result_key("w", box.slot(0)), item, expires_at_s=platform.runtime().expires_at_s())
    platform.clock.pass_seconds(1)
    (found,) = missing(platform.runtime(), "e")
    assert isinstance(found.effect, Resend)
    since = {"since": platform.clock.ms, callback.SLOT: box.slot(0)}
    job = since if by is By.CLOCK else callback.nudge_job(box.slot(0))
    assert (found.effect.envelope.job, found.effect.address) == (job, "services")
    nudge(platform.runtime(), "e")
    platform.deliver_all()
    assert outcome(platform) == "Over"


@pytest.mark.parametrize("key", ["", "x"])
def test_nudge_continues_an_expired_wait_whose_check_has_died(key: str) -> None:
    fields: dict[str, Any] = {"TimeoutSeconds": 9} | ({"Parameters": {"Key": key}} if key else {})
    platform = waiting(one(**fields))
    event, box = platform.pass_to_next(), Mailbox(execution_of(platform), "go", key)
    item = callback.result_item(Failure("States.Timeout", None), By.CLOCK)
    expires_at_s = platform.runtime().expires_at_s()
    platform.memory.create(result_key("w", box.slot(0)), item, expires_at_s=expires_at_s)  # the check died behind this
    platform.clock.pass_seconds(7)
    nudge(platform.runtime(), "e")
    (sent,) = platform.sent
    assert sent.job == {"since": platform.clock.ms, "handle": box.slot(0)}
    assert is_of_same_try(sent, event)
    platform.deliver_all()
    assert outcome(platform) == "States.Timeout"


def is_of_same_try(one: Envelope, other: Envelope) -> bool:
    return (one.name, one.state, one.retries) == (other.name, other.state, other.retries)


def test_try_after_two_retriers_takes_a_slot_of_its_own() -> None:
    platform = begun(later())
    (event,) = platform.sent
    rt, box, task = platform.runtime(), Mailbox(execution_of(platform), "go", ""), platform.workflow.task("A")
    tries = [replace(event, retries=retries) for retries in ((0, 0), (1, 0), (1, 1))]
    for each_try in tries:
        signal_wait.begin_wait(rt, each_try, box, Limits())
    assert isinstance(event.input, Value)
    found = [signal_wait.in_own_slot(rt, each_try, task, event.input).job for each_try in tries]
    assert found == [{callback.SLOT: box.slot(number)} for number in range(3)]
    last = signal_wait.last_wait(rt, box, event.name, "A")
    assert last is not None
    assert (last[0].envelope.retries, last[1]) == ((1, 1), box.slot(2))


def test_late_check_starts_no_second_retry() -> None:
    platform = waiting(one(TimeoutSeconds=10, Retry=RETRY), {})
    check = platform.pass_to_next()
    platform.deliver(check)
    platform.deliver(platform.pass_to_next())  # the next try, which waits
    ((_, next_check),) = platform.waiting
    platform.deliver(check)
    assert [event for _, event in platform.waiting] == [next_check]


def test_signal_that_came_before_its_wait_is_taken_without_a_call() -> None:
    platform = begun(later())
    send(platform, "early")
    platform.deliver_all()
    assert (outcome(platform), platform.calls["A"]) == ("early", 0)


def test_collected_result_sends_no_event_again() -> None:
    platform = begun(later())
    event = platform.sent.pop()
    item = {**callback.result_item(Success(1), By.RESPONDER), TOMBSTONE: 1}
    assert callback.take_result(platform.runtime(), event, item, By.CLOCK) == CallbackPending()
    assert platform.sent == []


def test_overdue_try_is_checked_at_once() -> None:
    assert next_check(Limits(timeout_s=1), 2_500) == JobPending(None, 0)


def test_nothing_is_collected_of_a_wait_for_a_signal() -> None:
    platform = begun(one())
    platform.collection = Collection.EAGER
    collected: list[Key] = []
    platform.store = Watched(platform.memory, collected)
    platform.deliver_all()
    signal.answer(platform.runtime(), signal.request("e", "go", 1, id="1"))
    platform.deliver_all()
    assert platform.ending() is not None
    assert not [key for key in collected if key.partition.startswith("token:")]


def test_nothing_is_asked_or_collected_of_tasks_that_wait_for_nothing() -> None:
    platform = Platform.of(chain("A", "B"), A=lambda event: event, B=lambda event: event)
    platform.collection = Collection.EAGER
    collected: list[Key] = []
    platform.store = watched = Watched(platform.memory, collected)
    platform.run("e", 1)
    partitions = [*watched.queried, *(key.partition for key in collected)]
    assert not [each for each in partitions if each.startswith(("token:", "job:"))]


def test_a_wait_without_a_key_lists_no_mailbox() -> None:
    platform = waiting(one())
    execution = start_record(platform.memory, "w", "e").name.execution
    assert platform.memory.query(mailboxes_partition("w", execution)) == {}


def test_a_failed_try_whose_key_is_no_key_has_no_slot() -> None:
    platform = begun(after_a_task({"StartAt": "A", "States": {"A": {**WAIT, "Parameters": {"Key.$": "$.no"}}}}), {})
    (event,) = platform.sent
    task, entered = platform.workflow.task("A"), event.input.own()
    assert signal_wait.in_own_slot(platform.runtime(), event, task, entered) is event


class Watched:
    """A store that notes what is queried and collected."""

    def __init__(self, store: Any, collected: list[Key]) -> None:
        self._store, self._collected = store, collected
        self.queried: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def query(self, partition: str, *, newest: int | None = None) -> Any:
        self.queried.append(partition)
        return self._store.query(partition, newest=newest)

    def collect(self, keys: Iterable[Key]) -> None:
        wanted = [*keys]
        self._collected += wanted
        self._store.collect(wanted)
