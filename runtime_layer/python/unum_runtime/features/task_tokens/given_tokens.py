"""Given tokens: results that came for them, checks of their time limits, collection.

See `unum_runtime.protocol.waiting.callback` for the scheme.
"""

from unum_runtime.cold_start.records import NamedTuple, replace
from unum_runtime.errors import InconsistentHistory, RefusedDelivery, StatesError
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import TOMBSTONE, Failure, Item, Success
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import answer_key, lease_key, pending_key, proof_key
from unum_runtime.model.states import ACTIVITY, Task
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES, WITHOUT_BUCKET
from unum_runtime.protocol.runtime import CallbackPending, JobPending, Runtime
from unum_runtime.protocol.waiting.callback import (
    DIGEST_LENGTH,
    HEARTBEAT,
    PROOF_HASH,
    SLOT,
    By,
    Limits,
    answer_of,
    digest_of_try,
    hash_of,
    is_nudge,
    pending_key_of,
    store_result,
    take_result,
    taken_key,
)

_CHECK = "check"


class GivenToken(NamedTuple):
    """Token of a try.

    Attributes:
        text: the token.
        is_first: True if no other delivery has given out a token of the try.
    """

    text: str
    is_first: bool


OF_POLLS = GivenToken("0" * 96, is_first=False)
"""In place of a token when a job is polled: its start gave out the token, and no poll sends its arguments."""


def give_out_token(rt: Runtime, envelope: Envelope, heartbeat_s: float | None = None) -> GivenToken:
    """Store this try's event, and return a token for this delivery; tokens of earlier deliveries stay valid.

    Args:
        rt: the runtime.
        envelope: the event of the try.
        heartbeat_s: lifetime of a heartbeat in seconds; None if none are expected.

    Raises:
        StatesError: the event is too large to be stored until the result arrives.
    """
    key = pending_key_of(rt, envelope)
    event = to_text(replace(envelope, job=None, waiting_since_ms=None).to_json())
    if rt.large is None and len(event.encode()) > MAX_OUTCOME_BYTES:
        cause = f"its event has {len(event.encode())} bytes; at most {MAX_OUTCOME_BYTES} are stored for who waits"
        raise StatesError("States.DataLimitExceeded", cause + WITHOUT_BUCKET)  # the caller names the state
    proof = rt.new_secret()
    item: Item = {"value": event, "address": rt.own_address, PROOF_HASH: hash_of(proof)}
    if heartbeat_s is not None:
        item["heartbeat_ms"] = round(heartbeat_s * 1000)
    digest = key.partition[-DIGEST_LENGTH:]
    winner = rt.store.create(key, item, expires_at_s=rt.expires_at_s())
    if winner is None:
        return GivenToken(digest + proof, is_first=True)
    if TOMBSTONE in winner:
        raise RefusedDelivery(f"{envelope.name}: its token was collected, or its execution was deleted")
    own = proof_key(rt.workflow.name, digest, hash_of(proof))
    rt.store.create(own, {"address": rt.own_address}, expires_at_s=rt.expires_at_s())
    return GivenToken(digest + proof, is_first=False)


def read_result(rt: Runtime, envelope: Envelope, token: GivenToken) -> Success | Failure | CallbackPending | None:
    """Return this try's result if an earlier delivery gave out a token.

    Returns:
        The result, if this event continues from it; `CallbackPending` if another event does; None without a result.
    """
    item = None if token.is_first else answer_of(rt, envelope)
    return None if item is None else take_result(rt, envelope, item, By.CODE)


def check_result(rt: Runtime, envelope: Envelope, limits: Limits) -> Success | Failure | JobPending | CallbackPending:
    """Check a try's result and time limits for a nudge or a time check.

    Returns:
        The result, if this event continues from it; the time of the next check; or `CallbackPending` if no event of
        this kind is needed any more.

    Raises:
        RefusedDelivery: the event can have no effect any more.
        InconsistentHistory: the event announces a result that the store lacks.
    """
    item = answer_of(rt, envelope)
    if is_nudge(envelope.job):
        if item is None:
            # Results outlive every event of their execution, so a dead letter says more than silence.
            raise InconsistentHistory(
                f"{envelope.name}: expected the stored result that this event announces, got none"
            )
        return take_result(rt, envelope, item, By.RESPONDER)
    waited_ms = rt.clock.now_ms() - int(envelope.job["since"])
    failure = _overdue_failure(rt, envelope, limits, waited_ms) if item is None else None
    if failure is not None:
        item = store_result(rt, envelope, failure, By.CLOCK)
    return (
        next_check(limits, waited_ms, envelope.job.get(SLOT))
        if item is None
        else take_result(rt, envelope, item, By.CLOCK)
    )


def next_check(limits: Limits, waited_ms: float, slot: str | None = None) -> JobPending | CallbackPending:
    """Return the next check after waiting `waited_ms`, for a signal in `slot`; `CallbackPending` without limits."""
    left_s = None if limits.timeout_s is None else max(0.0, limits.timeout_s - waited_ms / 1000)
    times_s = [time_s for time_s in (left_s, limits.heartbeat_s) if time_s is not None]
    return JobPending(slot, round(min(times_s) * 1000)) if times_s else CallbackPending()


def refuse_late_check(rt: Runtime, envelope: Envelope) -> None:
    """Refuse a check of a callback's time after its invocation committed a responder's result or user code's failure.

    Raises:
        RefusedDelivery: the event is such a check.
    """
    if is_nudge(envelope.job):
        return
    # A result by the clock is this event's own: an earlier delivery of it may have died after the commit.
    if (answer_of(rt, envelope) or {"by": By.CLOCK})["by"] != By.CLOCK:
        raise RefusedDelivery(f"{envelope.name}: has a result already, so a check of its time has no effect")


def collect_tokens(rt: Runtime, envelope: Envelope) -> None:
    """Collect token items of this and earlier tries, after performing the committed outcome's effects."""
    digests = [digest_of_try(envelope.name, envelope.state, attempt) for attempt in range(sum(envelope.retries) + 1)]
    keys = (pending_key, answer_key)
    rt.store.collect(key(rt.workflow.name, digest) for digest in digests for key in keys)


def is_alive(rt: Runtime, envelope: Envelope) -> bool:
    """Return True if this try's last heartbeat is recent enough.

    An activity without a worker needs no heartbeat. Source: AWS Step Functions Developer Guide, "Task",
    HeartbeatSeconds.
    """
    key = pending_key_of(rt, envelope)
    state = rt.workflow.states[envelope.state]
    is_activity = isinstance(state, Task) and (state.resource or "").startswith(ACTIVITY)
    if is_activity and not rt.store.read([taken_key(key)]):
        return True
    # A heartbeat is a lease with its lifetime. This acquisition expires at once, so it keeps no heartbeat out.
    return rt.store.acquire(lease_key(key), _CHECK, expires_at_ms=rt.clock.now_ms()) == HEARTBEAT


def _overdue_failure(rt: Runtime, envelope: Envelope, limits: Limits, waited_ms: int) -> Failure | None:
    """Return an overdue try's failure, else None."""
    if limits.timeout_s is not None and waited_ms >= limits.timeout_s * 1000:
        return Failure("States.Timeout", None)
    if limits.heartbeat_s is not None and not is_alive(rt, envelope):
        return Failure("States.HeartbeatTimeout", None)
    return None
