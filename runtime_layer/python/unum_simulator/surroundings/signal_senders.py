"""Senders of signals in a simulation: early, twice, too late, at the same time as their wait, and to several waits."""

from collections.abc import Iterator

from unum_runtime.errors import SignalRefused
from unum_runtime.features.signals import signal_by_key
from unum_runtime.features.signals.mailbox import Mailbox, listener_key, result_key, wait_key
from unum_runtime.features.signals.signal import request
from unum_runtime.features.signals.signal_slots import ATTEMPT, Slot, event_of
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Item, Phase
from unum_runtime.model.naming import (
    Execution,
    Key,
    Name,
    checkpoint_key,
    execution_partition,
    execution_partition_prefix,
    join_keys,
)
from unum_runtime.model.states import SIGNAL, Task
from unum_runtime.protocol.waiting.callback import By
from unum_simulator.invariants import STAMP, Broken, Invariant
from unum_simulator.world import Delivery, Event, World

LAST_IDS = 100
"""First number of the signals that a simulation sends at its end, so that every execution ends."""

MOST_SLOTS = 12
"""Slots of a mailbox that a simulation looks at."""


def signal_event(world: World, which: int, number: int) -> Event:
    """Return the request that sends signal `which` of the scenario to the first execution, with `number` in its id."""
    (name, key), identity = world.scenario.signals[which], f"signal {which}.{number}"
    execution = next(iter(world.observed)).name
    if world.scenario.by_key:
        asked = signal_by_key.request(name, key, {STAMP: identity}, id=identity)
    else:
        asked = request(execution, name, {STAMP: identity}, id=identity, key=key or None)
    return Event(to_text(asked).encode(), None, world.clock.ms, execution=execution, signal=identity)


def note_signal(world: World, delivery: Delivery) -> None:
    """Note that a signal was accepted; raise Broken unless a slot has it, whose wait was not over before."""
    if world.scenario.by_key:
        _check_reached(world, delivery)
        world.signals = world.signals.plus(delivery.event.signal, delivery.event.payload.decode())
        return
    own = [
        slot
        for slot in _slots(world)
        if slot.result is not None and slot.result.get("request") == delivery.event.signal
    ]
    if not own:
        raise Broken(Invariant.NO_LOST_WORK, f"{delivery} is accepted, but no slot has the signal")
    workflow = world.scenario.workflow.name
    for slot in own:
        before = [key(workflow, slot.digest) in delivery.committed for key in (wait_key, result_key)]
        is_known = before == [True, False]  # the wait was there, and this is no repetition
        if is_known and slot.wait is not None and not delivery.committed.isdisjoint(_ends(world, slot.wait)):
            raise Broken(Invariant.NO_LOST_WORK, f"{delivery} goes to {_name(slot.wait)}, which was over before")
    world.signals = world.signals.plus(delivery.event.signal, delivery.event.payload.decode())


def _check_reached(world: World, delivery: Delivery) -> None:
    """Raise Broken unless every wait that listened when a signal by key came has a result, or its mailbox has it."""
    workflow = world.scenario.workflow.name
    for mailbox in _mailboxes(world):
        for slot in _slots_of(world, mailbox):
            # Another signal may have taken the slot meanwhile: the execution hears this one when it waits again.
            is_open = slot.result is None and not _is_done(world, slot)
            listened = listener_key(workflow, mailbox, slot.digest) in delivery.committed
            if listened and is_open and not _has(world, mailbox, delivery.event.signal):
                raise Broken(Invariant.NO_LOST_WORK, f"{delivery} is accepted, but has not reached {mailbox}")


def check_refused_signal(world: World, delivery: Delivery, refused: SignalRefused) -> None:
    """Raise Broken if a signal is refused while its execution runs."""
    seen, faults = world.latest(delivery.event.execution), world.scenario.faults
    # A query in two parts may show an end without the redrive that has followed it meanwhile.
    if faults.splits and faults.redrives and not world.scenario.by_key and _had_end(world, delivery):
        return
    if world.scenario.by_key or (seen is not None and world.observed[seen].ending is None):
        raise Broken(Invariant.NO_LOST_WORK, f"{delivery} is refused while the execution runs: {refused}")


def _had_end(world: World, delivery: Delivery) -> bool:
    """Return True if the execution had an end at some time since `delivery` began."""
    ends = (
        key
        for key, record in world.records.items()
        if "status" in record.item
        and key.partition.startswith(execution_partition_prefix(world.scenario.workflow.name))
    )
    return any(Key(key.partition, f"{int(key.sort) + 1:09d}") not in delivery.committed for key in ends)


def check_heard(world: World, key: Key, item: Item) -> None:
    """Raise Broken if a wait commits what its slot does not have, or a signal that another wait has committed."""
    if not _is_heard(world, item):
        return
    own = [slot for slot in _slots(world) if slot.wait is not None and _ends(world, slot.wait)[0] == key]
    heard = [slot for slot in own if _has_signal(slot)]
    shown = [slot.result for slot in heard]
    if "value" not in item:
        if any((slot.wait or {})[ATTEMPT] == item["attempt"] for slot in heard):
            raise Broken(Invariant.CONSISTENT, f"{key}: commits {item['error']}, but its slots have {shown}")
        return
    if not any((slot.result or {})["value"] == item["value"] for slot in heard):
        raise Broken(Invariant.CONSISTENT, f"{key}: commits {item['value']}, but its slots have {shown}")
    for other, record in world.records.items():
        is_same = record.item.get("value") == item["value"] and _is_heard(world, record.item)
        # A signal by key is for all executions, once in each.
        if other != key and is_same and _execution(world, other) == _execution(world, key):
            raise Broken(Invariant.ONE_RESULT, f"{key}: commits {item['value']}, but so did {other}")


def check_no_signal_lost(world: World) -> None:
    """Raise Broken if nothing is left to deliver, and a signal and a wait of one mailbox have not met."""
    if world.has_ended:
        return
    open_slots = [slot for slot in _slots(world) if slot.wait is None or not _is_over(world, slot.wait)]
    unheard = [str((slot.result or {})["request"]) for slot in open_slots if _has_signal(slot)]
    waiting = [str(_name(slot.wait)) for slot in open_slots if slot.wait is not None]
    if met := [str(_name(slot.wait)) for slot in open_slots if slot.wait is not None and _has_signal(slot)]:
        raise Broken(Invariant.NO_LOST_WORK, f"{met} have met their signals, but nothing continues")
    if world.scenario.by_key:
        _check_kept(world)
    elif unheard and waiting and len(world.scenario.signals) == 1:
        raise Broken(Invariant.NO_LOST_WORK, f"{waiting} wait, although {unheard} were sent")


def _check_kept(world: World) -> None:
    """Raise Broken if an execution waits, and its mailbox lacks a signal by key that was accepted."""
    for mailbox in _mailboxes(world):
        waiting = [slot for slot in _slots_of(world, mailbox) if slot.wait is not None and not _is_done(world, slot)]
        for accepted, payload in world.signals.items() if waiting else ():
            asked = parse_json(payload)
            is_own = (asked["signal"], asked["key"]) == (mailbox.signal, mailbox.key)
            if is_own and not _has(world, mailbox, accepted):
                raise Broken(Invariant.NO_LOST_WORK, f"{mailbox} waits, although {accepted} was kept for it")


def _has(world: World, mailbox: Mailbox, identity: str) -> bool:
    return any((slot.result or {}).get("request") == identity for slot in _slots_of(world, mailbox))


def _is_done(world: World, slot: Slot) -> bool:
    return slot.wait is None or _is_over(world, slot.wait)


def _execution(world: World, key: Key) -> Execution | None:
    """Return the execution whose partition `key` is in."""
    workflow = world.scenario.workflow.name
    own = ((execution, execution_partition(workflow, execution)) for execution in world.observed)
    return next((each for each, top in own if key.partition == top or key.partition.startswith(f"{top}/")), None)


def _mailboxes(world: World) -> Iterator[Mailbox]:
    """Yield the mailboxes of the scenario."""
    for execution in world.observed:
        for name, key in world.scenario.signals:
            yield Mailbox(execution, name, key)


def _slots(world: World) -> Iterator[Slot]:
    """Yield slots of all mailboxes, each with every value ever stored."""
    return (slot for mailbox in _mailboxes(world) for slot in _slots_of(world, mailbox))


def _slots_of(world: World, mailbox: Mailbox) -> Iterator[Slot]:
    """Yield the slots of `mailbox`."""
    workflow = world.scenario.workflow.name
    for number in range(MOST_SLOTS):
        digest = mailbox.slot(number)
        found = (world.records.get(of(workflow, digest)) for of in (wait_key, result_key))
        yield Slot(number, digest, *(None if record is None else record.item for record in found))


def _is_heard(world: World, item: Item) -> bool:
    """Return True if `item` is the outcome of a wait for a signal."""
    state = world.scenario.workflow.states.get(str(item.get("state")))
    is_wait = isinstance(state, Task) and (state.resource or "").startswith(SIGNAL)
    return is_wait and "to" not in item and item["phase"] == Phase.LEFT


def _has_signal(slot: Slot) -> bool:
    return slot.result is not None and slot.result["by"] == By.RESPONDER


def _name(wait: Item) -> Name:
    return event_of(wait)[0].name


def _ends(world: World, wait: Item) -> list[Key]:
    """Return the keys of the outcomes that end a wait, its own one first."""
    workflow, name = world.scenario.workflow.name, _name(wait)
    return [checkpoint_key(workflow, name), *join_keys(workflow, name)]


def _is_over(world: World, wait: Item) -> bool:
    return bool(world.view.read(_ends(world, wait)))
