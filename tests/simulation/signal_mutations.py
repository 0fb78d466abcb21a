"""Deliberate mistakes with signals, each with a graph and faults under which it shows."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.simulation.signal_scenarios import CRASH, LOST, ONE, RESENT, RETRIED, TWO
from unum_runtime.features.signals import signal, signal_slots, signal_wait
from unum_runtime.features.task_tokens import given_tokens
from unum_runtime.model.checkpoint import Item
from unum_runtime.protocol.history import pending
from unum_runtime.protocol.waiting import callback
from unum_simulator import Faults, Invariant


def stores_without_continuing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(signal, "continue_wait", lambda *_: None)


def looks_for_the_wait_before_it_stores(patch: pytest.MonkeyPatch) -> None:
    """A wait that comes between is not continued."""
    patch.setattr(signal, "wait_to_continue", lambda _rt, slot, **_: slot.wait)


def wait_does_not_look(patch: pytest.MonkeyPatch) -> None:
    """Ignore signals stored before their wait."""

    def blind(rt: Any, envelope: Any, mailbox: Any, limits: Any) -> Any:
        return given_tokens.next_check(limits, 0, signal_wait._take_slot(rt, envelope, mailbox))

    patch.setattr(signal_wait, "begin_wait", blind)


def knows_no_repetition(patch: pytest.MonkeyPatch) -> None:
    """A signal that comes twice takes two slots."""

    def nameless(*given: Any, **named: Any) -> Any:
        for slot in slots(*given, **named):
            yield slot._replace(result=slot.result and {**slot.result, "request": ""})

    slots = signal_slots.slots
    patch.setattr(signal_slots, "slots", nameless)


def repetition_does_not_continue(patch: pytest.MonkeyPatch) -> None:
    """The request that stored the signal has died before it continued the wait."""
    found = signal.wait_to_continue
    patch.setattr(signal, "wait_to_continue", lambda rt, slot, is_new: found(rt, slot, is_new=True) if is_new else None)


def clock_counts_more(patch: pytest.MonkeyPatch) -> None:
    """A time limit counts more than a signal that was there before."""
    store_result = callback.store_result

    def own(rt: Any, envelope: Any, failure: Any, by: callback.By) -> Any:
        store_result(rt, envelope, failure, by)
        return callback.result_item(failure, by)

    patch.setattr(given_tokens, "store_result", own)


def first_slot_alone(patch: pytest.MonkeyPatch) -> None:
    """A signal that finds another result in its slot counts as stored."""
    store = signal.store_signal

    def first(rt: Any, mailbox: Any, given: Any) -> Any:
        slot = next(signal_slots.slots(rt, mailbox))
        return store(rt, mailbox, given) if slot.result is None else (slot, False)

    patch.setattr(signal, "store_signal", first)


def never_closes(patch: pytest.MonkeyPatch) -> None:
    """A signal goes to a wait whose scope has failed, and not to the one that came after."""
    patch.setattr(signal_slots, "is_over", lambda *_: False)


def retry_keeps_its_slot(patch: pytest.MonkeyPatch) -> None:
    """A try takes the slot of an earlier attempt, in which its time limit has been stored."""
    create = signal_wait._create

    def any_attempt(rt: Any, digest: str, item: Item) -> Any:
        waiter, _ = create(rt, digest, item)
        return waiter, item[signal_slots.ATTEMPT]

    patch.setattr(signal_wait, "_create", any_attempt)


def waits_share_a_slot(patch: pytest.MonkeyPatch) -> None:
    """Give a wait another wait's slot, with its signals."""
    create = signal_wait._create

    def shared(rt: Any, digest: str, item: Item) -> Any:
        create(rt, digest, item)
        return item[signal_slots.WAITER], item[signal_slots.ATTEMPT]

    patch.setattr(signal_wait, "_create", shared)


def met_pair_is_not_found(patch: pytest.MonkeyPatch) -> None:
    """A wait with a stored signal looks as if it still waited for one."""
    with_signal = pending._with_signal

    def waiting(*given: Any) -> Any:
        found = with_signal(*given)
        return replace(found, waits_for=pending.WaitsFor.ANSWER)

    patch.setattr(pending, "_with_signal", waiting)


def two_signals_take_one_slot(patch: pytest.MonkeyPatch) -> None:
    """A signal counts as stored, though another one was faster."""
    close_or_take = signal_slots._close_or_take

    def blind(rt: Any, slot: Any, item: Item) -> Any:
        close_or_take(rt, slot, item)
        return None

    patch.setattr(signal_slots, "_close_or_take", blind)


@dataclass(frozen=True)
class SignalMutation:
    """A mistake, and where it shows: in every search of all ways."""

    patch: Any
    graph: str
    faults: Faults
    breaks: frozenset[Invariant]


LOST_WORK, ONE_RESULT, CONSISTENT = (
    frozenset({Invariant.NO_LOST_WORK}),
    frozenset({Invariant.ONE_RESULT}),
    frozenset({Invariant.CONSISTENT}),
)

SIGNAL_MUTATIONS = {
    "stores without continuing": SignalMutation(stores_without_continuing, "for ever", ONE, LOST_WORK),
    "looks first": SignalMutation(looks_for_the_wait_before_it_stores, "later", ONE, LOST_WORK),
    "wait does not look": SignalMutation(wait_does_not_look, "later", ONE, LOST_WORK),
    "knows no repetition": SignalMutation(knows_no_repetition, "twice", RESENT, ONE_RESULT),
    "clock counts more": SignalMutation(clock_counts_more, "timeout", ONE, CONSISTENT),
    "first slot alone": SignalMutation(first_slot_alone, "retry", ONE, LOST_WORK),
    "never closes": SignalMutation(never_closes, "abandoned", RETRIED, LOST_WORK),
    "retry keeps its slot": SignalMutation(retry_keeps_its_slot, "retry", ONE, LOST_WORK | CONSISTENT),
    "waits share a slot": SignalMutation(waits_share_a_slot, "twice", TWO, ONE_RESULT | CONSISTENT),
    "met pair is not found": SignalMutation(met_pair_is_not_found, "for ever", LOST, LOST_WORK),
    "two signals in one slot": SignalMutation(two_signals_take_one_slot, "for ever", TWO, LOST_WORK),
    "repetition does not continue": SignalMutation(repetition_does_not_continue, "for ever", CRASH, LOST_WORK),
}
