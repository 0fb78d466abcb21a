"""Deliberate mistakes with signals by key, each with a graph and faults under which it shows."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.simulation.signal_mutations import LOST_WORK, ONE_RESULT
from tests.simulation.signal_scenarios import CRASH, ONE, TWO
from unum_runtime.features.signals import listeners, signal_by_key, signal_wait
from unum_runtime.features.signals.mailbox import result_key
from unum_runtime.protocol.waiting.callback import By
from unum_simulator import Faults, Invariant


def wait_looks_before_it_listens(patch: pytest.MonkeyPatch) -> None:
    """A signal that is kept between finds no listener, and is not looked for again."""

    def looks_first(rt: Any, mailbox: Any, slot: str) -> None:
        seen = listeners._kept_for(rt, mailbox, {"at": 0})
        with pytest.MonkeyPatch.context() as own:
            own.setattr(listeners, "_kept_for", lambda *_: seen)
            listen(rt, mailbox, slot)

    listen = signal_wait.listen
    patch.setattr(signal_wait, "listen", looks_first)


def wait_does_not_listen(patch: pytest.MonkeyPatch) -> None:
    """A wait reads what is kept, and enters itself nowhere."""

    def silent(rt: Any, mailbox: Any, slot: str) -> None:
        for kept in listeners._kept_for(rt, mailbox, {"at": 0}):
            listeners._put(rt, mailbox, kept.signal, own=slot)

    patch.setattr(signal_wait, "listen", silent)


def wait_does_not_look(patch: pytest.MonkeyPatch) -> None:
    """A wait enters itself, and never reads what was kept before."""
    patch.setattr(listeners, "_kept_for", lambda *_: [])


def sender_looks_before_it_keeps(patch: pytest.MonkeyPatch) -> None:
    """A wait that comes between is neither found nor finds the signal."""

    def late(rt: Any, event: Any) -> Any:
        found = []
        with pytest.MonkeyPatch.context() as own:
            own.setattr(signal_by_key, "keep", lambda _rt, signal, _keep_s: (listeners.Kept(signal, 0, 2**53), True))
            found.append(send(rt, event))
        listeners.keep(rt, signal_by_key.parse(rt, event), 86_400)
        return found[0]

    send = signal_by_key.send
    patch.setattr(signal_by_key, "send", late)


def sender_keeps_alone(patch: pytest.MonkeyPatch) -> None:
    """A signal reaches those that come later, and nobody who waits."""
    patch.setattr(signal_by_key, "_reach_all", lambda *_: (0, None))


def sender_leaves_the_rest(patch: pytest.MonkeyPatch) -> None:
    """A signal reaches the first page of listeners."""
    patch.setattr(signal_by_key, "PAGE", 1)
    reach_all = signal_by_key._reach_all

    def first(rt: Any, kept: Any, after: str) -> Any:
        with pytest.MonkeyPatch.context() as own:
            own.setattr(signal_by_key, "RESERVE_MS", 2**53)
            return reach_all(rt, kept, after)[0], None

    patch.setattr(signal_by_key, "_reach_all", first)


def takes_out_who_waits(patch: pytest.MonkeyPatch) -> None:
    """A listener is taken out with the first signal, though another branch has heard it."""
    reach = signal_by_key._reach

    def once(rt: Any, kept: Any, listener: Any) -> bool:
        found = reach(rt, kept, listener)
        key, entry = listener
        rt.store.replace(key, {**entry}, expires_at_s=rt.clock.now_ms() // 1000)
        return found

    patch.setattr(signal_by_key, "_reach", once)


def each_wait_takes_a_kept_signal(patch: pytest.MonkeyPatch) -> None:
    """A wait takes a kept signal into its own slot, whether or not its execution has heard it."""

    def takes(rt: Any, _mailbox: Any, signal: Any, *, own: str) -> None:
        item = {"value": signal.value, "by": By.RESPONDER.value, "request": signal.id}
        rt.store.create(result_key(rt.workflow.name, own), item, expires_at_s=rt.expires_at_s())

    patch.setattr(listeners, "_put", takes)


def repetition_passes_those_it_reached(patch: pytest.MonkeyPatch) -> None:
    """The request that stored the signal has died before it continued the wait."""
    found = signal_by_key.wait_to_continue
    patch.setattr(
        signal_by_key, "wait_to_continue", lambda rt, slot, is_new: found(rt, slot, is_new=True) if is_new else None
    )


@dataclass(frozen=True)
class KeyMutation:
    """A mistake, and where it shows: in every search of all ways."""

    patch: Any
    graph: str
    faults: Faults
    breaks: frozenset[Invariant]
    others: int = 0


KEY_MUTATIONS = {
    "wait looks first": KeyMutation(wait_looks_before_it_listens, "later", ONE, LOST_WORK),
    "wait does not listen": KeyMutation(wait_does_not_listen, "later", ONE, LOST_WORK),
    "wait does not look": KeyMutation(wait_does_not_look, "later", ONE, LOST_WORK),
    "sender looks first": KeyMutation(sender_looks_before_it_keeps, "later", ONE, LOST_WORK),
    "sender keeps alone": KeyMutation(sender_keeps_alone, "for ever", ONE, LOST_WORK),
    "sender leaves the rest": KeyMutation(sender_leaves_the_rest, "for ever", ONE, LOST_WORK, others=1),
    "takes out who waits": KeyMutation(takes_out_who_waits, "branches", TWO, LOST_WORK),
    "each wait takes it": KeyMutation(each_wait_takes_a_kept_signal, "twice", ONE, ONE_RESULT),
    "repetition does not continue": KeyMutation(repetition_passes_those_it_reached, "for ever", CRASH, LOST_WORK),
}
