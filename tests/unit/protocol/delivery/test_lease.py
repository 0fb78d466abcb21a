"""Leases: who waits for whom, what expires when, and that no failure of one changes a result."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.protocol.platform import MovableClock, Platform, chain
from unum_compiler.options import FunctionOptions
from unum_runtime.clock import SystemClock
from unum_runtime.errors import LeaseHeldError, LeaseStolenError, StoreError
from unum_runtime.model.checkpoint import Ending, Failure, Status, Success, start_record
from unum_runtime.model.envelope import START, Envelope, Writer, start_request, start_writer
from unum_runtime.model.naming import Execution, Key, Name, checkpoint_key, lease_key, start_key
from unum_runtime.model.states import Guard
from unum_runtime.protocol.delivery.lease import LEASE_MS, REPEATED_MS, Lease, claim_start, maintain_by_default
from unum_runtime.protocol.delivery.start import resume
from unum_runtime.protocol.runtime import MAX_DELIVERY_MS, NoTimer
from unum_simulator.memory_store import MemoryStore

LEASE = FunctionOptions(guard=Guard.LEASE)
MINUTE_S = 60


def leased(**functions: Callable[[Any], Any]) -> Platform:
    """A before B under a lease before C."""
    given = {"A": lambda event: event, "B": lambda event: event + 1, "C": lambda event: event, **functions}
    return Platform.of(chain("A", "B", "C"), {"B": LEASE}, **given)


def at_b(platform: Platform) -> Envelope:
    """The event for B, which is not delivered yet."""
    platform.start("e", 1)
    (event,) = platform.sent
    platform.sent.clear()
    assert event.state == "B"
    return event


def lease_of(event: Envelope) -> Key:
    return lease_key(checkpoint_key("w", event.name))


def hold(platform: Platform, event: Envelope, seconds: float) -> None:
    """Give another delivery the lease for that time."""
    until_ms = platform.clock.ms + int(seconds * 1000)
    assert platform.memory.acquire(lease_of(event), "other", expires_at_ms=until_ms) == "other"


def is_free(platform: Platform, key: Key) -> bool:
    return key not in platform.memory._leases


def test_duplicate_waits_for_the_running_delivery_and_uses_its_outcome() -> None:
    events: list[Envelope] = []

    def run(event: int) -> int:
        platform.deliver(events[0])
        return event + 1

    platform = leased(B=run)
    events.append(at_b(platform))
    platform.deliver(events[0])
    assert platform.calls["B"] == 1
    (first,) = platform.sent
    platform.deliver(platform.pass_to_next())
    assert platform.waiting == []
    assert platform.calls["B"] == 1
    assert [event.name for event in platform.sent] == [first.name, first.name]
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success(2))


def test_committed_outcome_is_used_even_if_its_dead_author_holds_the_lease() -> None:
    platform = leased()
    event = at_b(platform)
    platform.deliver(event)
    hold(platform, event, 900)
    platform.sent.clear()
    platform.deliver(event)
    assert [sent.state for sent in platform.sent] == ["C"]
    assert platform.calls["B"] == 1


def test_dead_deliverys_lease_is_free_when_the_platform_delivers_again() -> None:
    platform = leased()
    event = at_b(platform)
    hold(platform, event, LEASE_MS / 1000)
    platform.deliver(event)
    assert platform.calls["B"] == 0
    platform.clock.pass_seconds(MINUTE_S)
    platform.deliver(event)
    assert platform.calls["B"] == 1


def test_start_that_finds_the_first_lease_held_waits_with_the_tasks_event() -> None:
    platform = Platform.of(chain("A"), {"A": LEASE}, A=lambda event: event)
    key = lease_key(checkpoint_key("w", Name(Execution("e", platform.clock.ms), (), 1)))
    platform.memory.acquire(key, "other", expires_at_ms=platform.clock.ms + 3_000)
    platform.start("e", 1)
    assert platform.calls["A"] == 0
    while platform.waiting:
        platform.deliver(platform.pass_to_next())
    assert platform.ending() == Ending(Status.SUCCEEDED, Success(1))


@pytest.mark.parametrize(
    ("remaining_ms", "maintain", "expected_ms"),
    [(10_000, False, 10_000), (600_000, False, 600_000), (600_000, True, LEASE_MS), (10_000, True, 10_000)],
)
def test_lease_lasts_as_long_as_the_delivery_may_or_less_if_renewed(
    *, remaining_ms: int, maintain: bool, expected_ms: int
) -> None:
    seen: list[Any] = []
    platform = leased(B=lambda _: seen.extend(platform.memory._leases.values()))
    platform.options = {"remaining_ms": lambda: remaining_ms, "maintain_leases": maintain}
    event = at_b(platform)
    platform.deliver(event)
    ((_, until_ms),) = seen
    assert until_ms - platform.clock.ms == expected_ms


def test_a_lease_is_released_after_the_commit() -> None:
    platform = leased()
    event = at_b(platform)
    platform.deliver(event)
    assert is_free(platform, lease_of(event))
    assert [step.state for step in platform.steps()] == ["A", "B"]


def test_lease_is_released_when_user_code_or_the_commit_fails() -> None:
    def fail(_event: Any) -> Any:
        raise LookupError

    platform = leased(B=fail)
    event = at_b(platform)
    platform.deliver(event)
    assert is_free(platform, lease_of(event))

    class NoCreate(MemoryStore):
        def create(self, *_args: Any, **_named: Any) -> Any:
            raise StoreError("down")

    platform = leased()
    event = at_b(platform)
    memory = platform.memory
    platform.store = NoCreate(platform.clock, memory._items, memory._sets, memory._leases)
    with pytest.raises(StoreError):
        platform.deliver(event)
    assert is_free(platform, lease_of(event))


def test_other_guards_have_no_leases() -> None:
    for guard in (Guard.READ, Guard.COMMIT):
        platform = Platform.of(chain("A", "B"), {"B": FunctionOptions(guard=guard)}, A=abs, B=abs)
        platform.run(value=1)
        assert platform.memory._leases == {}


def test_two_branches_have_two_leases() -> None:
    branch = {"StartAt": "B", "States": {"B": {"Type": "Task", "Resource": "B", "End": True}}}
    definition = {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": branch, "End": True}}}
    seen: set[Any] = set()
    platform = Platform.of(definition, {"B": LEASE}, B=lambda event: seen.update(platform.memory._leases) or event)
    assert platform.run(value=[1, 2, 3]) == Ending(Status.SUCCEEDED, Success([1, 2, 3]))
    assert len(seen) == 3


class Broken(MemoryStore):
    """A store whose leases fail, with or without effect."""

    has_effect = True

    def acquire(self, *args: Any, **named: Any) -> str:
        if self.has_effect:
            super().acquire(*args, **named)
        raise StoreError("acquire")

    def renew(self, *_args: Any, **_named: Any) -> bool:
        raise StoreError("renew")

    def release(self, *args: Any) -> None:
        if self.has_effect:
            super().release(*args)
        raise StoreError("release")


@pytest.mark.parametrize("has_effect", [True, False])
def test_a_store_that_fails_at_leases_changes_nothing(*, has_effect: bool) -> None:
    platform = leased()
    platform.store = platform.memory = Broken(platform.clock)
    platform.memory.has_effect = has_effect
    assert platform.run(value=1) == Ending(Status.SUCCEEDED, Success(2))
    failures = [fields["error"] for message, fields in platform.logged if message == "lease failed"]
    assert failures == ["acquire", "release"]


def lease(store: MemoryStore, duration_ms: int, **options: Any) -> Lease:
    key = Key("p/lease", "s")
    return Lease(store=store, clock=store.clock, key=key, owner="a", duration_ms=duration_ms, **options)


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited for 4 s")


def test_a_thread_renews_a_lease_until_the_block_is_left() -> None:
    store = MemoryStore(SystemClock())
    own = lease(store, 3000)
    assert own.acquire()
    _, first_ms = store._leases[own.key]
    with own.held(maintain=True):
        wait_until(lambda: store._leases[own.key][1] > first_ms)
        assert store.acquire(own.key, "b", expires_at_ms=0) == "a"
    assert store._leases == {}


def test_without_renewal_a_lease_expires() -> None:
    store = MemoryStore(SystemClock())
    own = lease(store, 20)
    assert own.acquire()
    with own.held(maintain=False):
        wait_until(lambda: store.acquire(own.key, "b", expires_at_ms=2**60) == "b")
    assert store._leases[own.key][0] == "b", "released by its owner alone"


def test_renewal_goes_on_after_a_failure_and_ends_when_the_lease_is_lost() -> None:
    asked: list[str] = []
    logged: list[str] = []

    class Flaky(MemoryStore):
        def renew(self, *_args: Any, **_named: Any) -> bool:
            asked.append("renew")
            if len(asked) == 1:
                raise StoreError("throttled")
            return len(asked) < 3

    store = Flaky(SystemClock())
    own = lease(store, 30, log=lambda _message, /, **fields: logged.append(fields["error"]))
    own.acquire()
    with own.renewed(maintain=True):
        wait_until(lambda: len(asked) == 3)
        time.sleep(0.1)
    assert len(asked) == 3
    assert logged == ["throttled"]


@pytest.mark.parametrize("maintain", [True, False])
def test_a_lease_is_renewed_by_a_thread_that_keeps_no_process_alive(*, maintain: bool) -> None:
    own = replace(lease(MemoryStore(SystemClock()), 60_000), key=Key("p/lease", f"of its own {maintain}"))
    own.acquire()
    with own.held(maintain=maintain):
        threads = [each for each in threading.enumerate() if each.name == f"lease of {own.key}"]
        assert [each.daemon for each in threads] == [True] * maintain
    assert own.store.acquire(own.key, "b", expires_at_ms=2**60) == "b", "released"


def test_a_renewed_lease_lasts_as_long_again() -> None:
    clock = MovableClock()
    own = replace(lease(MemoryStore(clock), 60_000), clock=clock)
    assert own.acquire()
    clock.pass_seconds(50)
    assert own.renew()
    clock.pass_seconds(59)
    assert own.store.acquire(own.key, "b", expires_at_ms=2**60) == own.owner
    clock.pass_seconds(1)
    assert own.store.acquire(own.key, "b", expires_at_ms=2**60) == "b"
    assert not own.renew()


@pytest.mark.parametrize(("value", "expected"), [(None, True), ("1", True), ("0", False)])
def test_the_environment_switches_renewal_off(
    monkeypatch: pytest.MonkeyPatch, *, value: str | None, expected: bool
) -> None:
    monkeypatch.delenv("UNUM_MAINTAIN_LEASES", raising=False)
    if value is not None:
        monkeypatch.setenv("UNUM_MAINTAIN_LEASES", value)
    assert maintain_by_default() is expected


def write_start_record(platform: Platform) -> Key:
    """Write the start record of `e` as a client, and return the key of its lease."""
    record = start_record(Execution("e", platform.clock.ms), 1)
    key = start_key("w", "e")
    platform.memory.create(key, record.to_item(), expires_at_s=platform.clock.ms // 1000 + 86_400)
    return lease_key(key)


def begin(platform: Platform, writer: str, sent_ms: int | None = None) -> None:
    sent_ms = platform.clock.ms if sent_ms is None else sent_ms
    resume(platform.runtime(), "e", Writer(writer, sent_ms))


def test_entry_function_works_for_the_current_writer_and_frees_its_lease() -> None:
    seen: list[Any] = []
    platform = leased(A=lambda event: seen.append(platform.memory._leases[key]) or event)
    key = write_start_record(platform)
    platform.memory.acquire(key, "client", expires_at_ms=platform.clock.ms + 60_000)
    begin(platform, "client")
    ((owner, until_ms),) = seen
    assert (owner, until_ms) == ("client", platform.clock.ms + 900_000), "so the client may die"
    assert is_free(platform, key)
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success(2))


def test_entry_function_works_where_the_lease_expired_and_nobody_took_it() -> None:
    platform = leased()
    key = write_start_record(platform)
    platform.memory.acquire(key, "client", expires_at_ms=platform.clock.ms + 60_000)
    platform.clock.pass_seconds(MINUTE_S)
    begin(platform, "client")
    assert platform.calls["A"] == 1


def test_start_with_a_replaced_writer_is_stolen_and_the_last_writer_wins() -> None:
    platform = leased()
    key = write_start_record(platform)
    platform.memory.acquire(key, "first", expires_at_ms=platform.clock.ms + 60_000)
    platform.clock.pass_seconds(MINUTE_S)
    assert platform.memory.acquire(key, "second", expires_at_ms=platform.clock.ms + 60_000) == "second"
    with pytest.raises(LeaseStolenError, match="another client than first is starting it"):
        begin(platform, "first")
    assert platform.calls["A"] == 0
    begin(platform, "second")
    assert platform.calls["A"] == 1


def test_replaced_writer_starts_if_the_last_one_died_before_it_could() -> None:
    platform = leased()
    key = write_start_record(platform)
    sent_ms = platform.clock.ms
    platform.memory.acquire(key, "second", expires_at_ms=sent_ms + 60_000)
    with pytest.raises(LeaseStolenError):
        begin(platform, "first", sent_ms)
    platform.clock.pass_seconds(MINUTE_S)
    begin(platform, "first", sent_ms)
    platform.deliver_all()
    assert platform.ending() == Ending(Status.SUCCEEDED, Success(2))


def test_a_start_that_may_be_delivered_for_the_last_time_is_not_refused() -> None:
    platform = leased()
    key = write_start_record(platform)
    sent_ms = platform.clock.ms
    platform.memory.acquire(key, "second", expires_at_ms=sent_ms + 900_000)
    platform.clock.pass_seconds(3 * MINUTE_S)
    begin(platform, "first", sent_ms)
    assert platform.calls["A"] == 1


def test_the_start_lease_is_released_when_the_entry_function_fails() -> None:
    platform = leased()
    key = write_start_record(platform)

    class Closed:
        def invoke(self, _events: Any) -> None:
            raise StoreError("down")

    with pytest.raises(StoreError):
        resume(replace(platform.runtime(), invoker=Closed()), "e", Writer("client", platform.clock.ms))
    assert is_free(platform, key)


def test_start_with_a_replaced_writer_waits_in_the_timer_if_there_is_one() -> None:
    platform = leased()
    key = write_start_record(platform)
    kept: list[tuple[str, bytes, int]] = []

    class Queue:
        def schedule(self, events: Any) -> None:
            kept.extend(events)

    def deliver(request: Any) -> None:
        routes = {**platform.runtime().routes, START: "function:start-w"}
        rt = replace(platform.runtime(), routes=routes, timer=Queue())
        resume(rt, request["start"], start_writer(request))

    sent_ms = platform.clock.ms
    platform.memory.acquire(key, "second", expires_at_ms=sent_ms + 900_000)
    deliver(start_request("e", Writer("first", sent_ms)))
    while kept:
        assert platform.calls["A"] == 0
        address, payload, due_ms = kept.pop()
        assert address == "function:run-w"
        platform.clock.ms = due_ms
        deliver(json.loads(payload))
    assert 900_000 <= platform.clock.ms - sent_ms <= 960_000
    assert platform.calls["A"] == 1, "the second writer died before its start"
    assert "goes on without a lease" not in platform.messages()


def test_a_start_without_a_writer_asks_for_no_lease() -> None:
    platform = leased()
    key = write_start_record(platform)
    platform.memory.acquire(key, "other", expires_at_ms=platform.clock.ms + 60_000)
    resume(platform.runtime(), "e")
    assert platform.calls["A"] == 1


def test_a_failure_under_a_lease_is_the_outcome_as_without() -> None:
    def fail(_event: Any) -> Any:
        raise LeaseHeldError("user code may raise what it likes")

    ending = leased(B=fail).run(value=1)
    assert ending is not None
    assert isinstance(ending.outcome, Failure)
    assert ending.outcome.error == "LeaseHeldError"


def test_clocks_tell_when_a_lease_is_over() -> None:
    clock = MovableClock()
    own = lease(MemoryStore(clock), 1000)
    other = replace(own, owner="b")
    assert own.acquire()
    assert not other.acquire()
    clock.pass_seconds(1)
    assert other.acquire()
    assert not own.acquire()


def test_user_code_runs_beside_a_thread_that_renews_its_lease() -> None:
    names: list[str] = []

    def run(event: Any) -> Any:
        names.extend(thread.name for thread in threading.enumerate())
        return event

    platform = leased(B=run)
    platform.options["maintain_leases"] = True
    event = at_b(platform)
    platform.deliver(event)
    assert f"lease of {lease_of(event)}" in names


def test_a_waiter_does_not_work_while_the_store_refuses_to_say_who_does() -> None:
    platform = leased()
    event = at_b(platform)
    platform.store = platform.memory
    platform.memory.acquire = Broken(platform.clock).acquire
    waits = replace(event, waiting_since_ms=platform.clock.ms - 1_000)
    platform.deliver(waits)
    assert (platform.calls["B"], len(platform.waiting)) == (0, 1)
    platform.deliver(event)
    assert platform.calls["B"] == 1


def test_a_start_is_made_while_the_store_refuses_leases() -> None:
    platform = leased()
    platform.memory.acquire = Broken(platform.clock).acquire
    writer = Writer("one", platform.clock.ms)
    with claim_start(platform.runtime(), start_key("w", "e"), writer) as claim:
        claim.insist()


def test_a_waiter_works_itself_in_the_last_moments_of_its_execution() -> None:
    platform = leased()
    event = at_b(platform)
    last_ms = platform.runtime().last_s(event.name.execution) * 1000 - MAX_DELIVERY_MS
    for before_ms, calls in ((1, 0), (0, 1)):
        platform.clock.ms = last_ms - before_ms
        hold(platform, event, 60)
        platform.deliver(event)
        assert platform.calls["B"] == calls


def test_a_lease_whose_release_fails_is_renewed_no_more() -> None:
    own = replace(lease(Broken(SystemClock()), 60_000), key=Key("p/lease", "release fails"))
    own.acquire()
    with own.held(maintain=True):
        (thread,) = (each for each in threading.enumerate() if each.name == f"lease of {own.key}")
    thread.join(timeout=5)
    assert not thread.is_alive()


def test_a_start_that_no_timer_keeps_is_made_while_lambda_repeats_it() -> None:
    platform = leased()
    key = write_start_record(platform)
    sent_ms = platform.clock.ms
    platform.memory.acquire(key, "second", expires_at_ms=sent_ms + 900_000)
    routes = {**platform.runtime().routes, START: "function:start-w"}
    for after_ms, calls in ((REPEATED_MS - 1, 0), (REPEATED_MS, 1)):
        platform.clock.ms = sent_ms + after_ms
        rt = replace(platform.runtime(), routes=routes, timer=NoTimer())
        with nullcontext() if calls else pytest.raises(LeaseStolenError):
            resume(rt, "e", Writer("first", sent_ms))
        assert platform.calls["A"] == calls


def test_a_start_that_waits_for_a_lease_is_logged() -> None:
    platform = leased()
    key = write_start_record(platform)
    sent_ms = platform.clock.ms
    platform.memory.acquire(key, "second", expires_at_ms=sent_ms + 900_000)
    platform.clock.pass_seconds(7)

    class Queue:
        def schedule(self, events: Any) -> None:
            assert len(events) == 1

    routes = {**platform.runtime().routes, START: "function:start-w"}
    resume(replace(platform.runtime(), routes=routes, timer=Queue()), "e", Writer("first", sent_ms))
    (fields,) = (fields for message, fields in platform.logged if message == "waits for a lease")
    assert fields["waited_ms"] == 7_000
