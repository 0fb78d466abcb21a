"""Waits for signals: Tasks whose result comes from a sender who knows the execution, the signal's name and a key.

Execution, name and key are a *mailbox*, a row of slots. A slot is a pair of items in one partition, each created if
absent: the wait, with the try's event as a task token has it, and its result. A try takes the first slot without a
wait; a signal takes the first one without a result. Each writes first and reads the other then, so at least one of
them sees both. A try's result is created by a signal, by the try's time limit, by its failure, or by a sender who finds
that nobody waits there any more. So it never changes, and a signal ends at most one wait.

Everything after the meeting is that of a task token: the slot's digest stands where the digest of the try does, and
events that continue a wait name it. See `unum_runtime.protocol.waiting.callback`.
"""

from collections.abc import Iterator

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import replace
from unum_runtime.errors import StatesError
from unum_runtime.features.signals.listeners import listen
from unum_runtime.features.signals.mailbox import (
    KEY_RULE,
    MOST_SLOTS,
    Mailbox,
    is_key,
    result_key,
    signal_of,
    wait_key,
)
from unum_runtime.features.signals.signal_slots import ATTEMPT, WAITER, Slot, enter_mailbox, event_of, slots
from unum_runtime.features.task_tokens.given_tokens import next_check
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Failure, Item, Success
from unum_runtime.model.envelope import Envelope, Value
from unum_runtime.model.naming import Name
from unum_runtime.model.states import Json, Task
from unum_runtime.protocol.planning import dataset_variables
from unum_runtime.protocol.planning.evaluation import EvaluationContext, compiled
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, WITHOUT_BUCKET
from unum_runtime.protocol.runtime import CallbackPending, JobPending, Runtime
from unum_runtime.protocol.waiting.callback import SLOT, By, Limits, Try, parse_result

TOO_MANY = "Unum.TooManySignals"
"""Error of a wait that finds no free slot in its mailbox."""

INVALID_KEY = "Unum.InvalidSignalKey"
"""Error of a wait whose key is no text, or too long."""


def mailbox_of(rt: Runtime, task: Task, name: Name, entered: Value) -> Mailbox:
    """Return the mailbox of invocation `name` of `task`, a function of committed data alone.

    Args:
        rt: the runtime.
        task: a wait for a signal.
        name: the invocation.
        entered: its input, before data flow.

    Raises:
        StatesError: the data flow failed, or its key is no key.
    """
    signal = signal_of(task.resource)
    assert signal is not None  # noqa: S101 - every caller asked for it
    if task.data.keys().isdisjoint(("Parameters", "Arguments")):
        return Mailbox(name.execution, signal, "")
    variables = dataset_variables.without(entered.variables)
    evaluation = EvaluationContext(rt.workflow, name.execution, entered.entered_ms, str(name), variables)
    # Neither the attempt nor the clock: every event of the invocation must find the same mailbox.
    arguments = compiled(rt.workflow, task).arguments(entered.value, evaluation.context_of(task.name))
    key = arguments.get("Key") if isinstance(arguments, dict) else arguments
    if not is_key(key):
        raise StatesError(INVALID_KEY, f"Key: expected {KEY_RULE}, got {to_text(key):.80}")
    return Mailbox(name.execution, signal, str(key))


def begin_wait(
    rt: Runtime, envelope: Envelope, mailbox: Mailbox, limits: Limits
) -> Success | Failure | JobPending | CallbackPending:
    """Take a slot for this try, unless taken; return its signal, if any.

    Returns:
        The signal's value; the time of the first check, which names the slot; `CallbackPending` if the result makes
        another event continue, or without limits.

    Raises:
        StatesError: the mailbox has no free slot, or the event is too large to be stored.
    """
    digest = _take_slot(rt, envelope, mailbox)
    if mailbox.key:
        listen(rt, mailbox, digest)
    key = result_key(rt.workflow.name, digest)
    item = rt.store.read([key]).get(key)
    if item is None:
        return next_check(limits, 0, digest)
    # The event that checked the time continues from what it stored, and nobody waits in a slot that a sender closed.
    return CallbackPending() if item["by"] in (By.CLOCK, By.NOBODY) else parse_result(item)


def take_own_slot(rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> Envelope:
    """Return `envelope` with the slot of its try, where its failure counts; take one if the try has none yet.

    A later delivery of the try finds the failure in this slot. Without it, that delivery could take a signal that no
    outcome has. Unchanged where no wait can begin: the try's own failure says why.
    """
    try:
        digest = _take_slot(rt, envelope, mailbox_of(rt, task, envelope.name, entered))
    except StatesError:
        return envelope
    return replace(envelope, job={SLOT: digest})


def in_own_slot(rt: Runtime, envelope: Envelope, task: Task, entered: Value) -> Envelope:
    """Return `envelope` with the slot that its try has taken, where a failure counts; unchanged if it has none."""
    try:
        mailbox = mailbox_of(rt, task, envelope.name, entered)
    except StatesError:
        return envelope
    waiter, attempt = waiter_of(envelope.name, envelope.state), sum(envelope.retries)
    own = next((slot for slot in _taken(rt, mailbox) if slot.is_of(waiter, attempt)), None)
    return envelope if own is None else replace(envelope, job={SLOT: own.digest})


def last_wait(rt: Runtime, mailbox: Mailbox, name: Name, state: str) -> tuple[Try, str] | None:
    """Return `state`'s last try under `name` in `mailbox`, with the digest of its slot; None without one."""
    found = [slot for slot in _taken(rt, mailbox) if slot.is_of(waiter_of(name, state))]
    if not found:
        return None
    last = max(found, key=lambda slot: int((slot.wait or {})[ATTEMPT]))
    event, address = event_of(last.wait or {})
    return Try(event, address, None if last.result is None else By(str(last.result["by"]))), last.digest


def waiter_of(name: Name, state: str) -> str:
    """Return the digest of an invocation; see `callback` for why the state is part of it."""
    return sha256(f"{name} {state}".encode())


def _taken(rt: Runtime, mailbox: Mailbox) -> Iterator[Slot]:
    """Yield the slots with a wait, which come before all others."""
    for slot in slots(rt, mailbox):
        if slot.wait is None:
            return
        yield slot


def _take_slot(rt: Runtime, envelope: Envelope, mailbox: Mailbox) -> str:
    """Take the first slot without a wait for this try; return its digest, or that of an earlier delivery."""
    item = _wait_item(rt, envelope)
    own = (item[WAITER], item[ATTEMPT])
    enter_mailbox(rt, mailbox)
    first = mailbox.slot(0)
    if _create(rt, first, item) == own:  # without a read, because most waits are the first of their mailbox
        return first
    for slot in slots(rt, mailbox, first=1):
        if slot.is_of(str(own[0]), int(own[1])) or (slot.wait is None and _create(rt, slot.digest, item) == own):
            return slot.digest
    raise StatesError(TOO_MANY, f"{mailbox.signal!r}: a mailbox takes {MOST_SLOTS} waits; use a key for each round")


def _create(rt: Runtime, digest: str, item: Item) -> tuple[Json, Json]:
    """Store `item` as the wait of a slot if it has none; return invocation and attempt of the wait that it has."""
    winner = rt.store.create(wait_key(rt.workflow.name, digest), item, expires_at_s=rt.expires_at_s()) or item
    return winner[WAITER], winner[ATTEMPT]


def _wait_item(rt: Runtime, envelope: Envelope) -> Item:
    event = to_text(replace(envelope, job=None, waiting_since_ms=None).to_json())
    if rt.large is None and len(event.encode()) > MAX_OUTCOME_BYTES:
        cause = f"its event has {len(event.encode())} bytes; at most {MAX_OUTCOME_BYTES} are stored for a wait"
        raise StatesError("States.DataLimitExceeded", cause + WITHOUT_BUCKET)
    waiter = waiter_of(envelope.name, envelope.state)
    return {"value": event, "address": rt.own_address, WAITER: waiter, ATTEMPT: sum(envelope.retries)}
