"""Commit: write an outcome once, and go on with whoever's was first."""

from collections.abc import Mapping

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import DEFAULT_CONTINUATION, Began, Checkpoint, Continuation, Failure, Item, Outcome
from unum_runtime.model.ir import Json
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import START_STEP, Name, checkpoint_key
from unum_runtime.protocol.delivery.delivery_state import DeliveryState
from unum_runtime.protocol.fanout.packing import commit_packed, place_of
from unum_runtime.protocol.planning.plan import (
    MAX_OUTCOME_BYTES,
    WITHOUT_BUCKET,
    Commit,
    Effect,
    Finish,
    InlineCommit,
    OpenScope,
    is_start,
    plan,
)
from unum_runtime.protocol.runtime import Runtime

MAX_ERROR_LENGTH = 256
MAX_CAUSE_LENGTH = 32_768
"""In characters; what is longer is cut. Source of both: AWS Step Functions API Reference, "TaskFailedEventDetails"."""


def commit(rt: Runtime, effect: Commit, delivery: DeliveryState) -> Effect:
    """Create the checkpoint if it is absent; of a Task that another is committed by, none is created.

    Args:
        rt: the runtime.
        effect: what is to be committed.
        delivery: state of this delivery, which records the outcome. The first commit of an execution tells its routes
            to whoever comes from outside.

    Returns:
        What follows from the committed outcome, which is another delivery's if that was faster.

    Raises:
        InconsistentHistory: the name is taken by another state, or by another version of the workflow.
        OutcomeCollected: all that follows from the committed outcome is committed too.
        StoreError: it is not known whether the checkpoint was written; the next delivery will find out.
    """
    checkpoint = draft(rt, effect, fused=delivery.is_fused)
    following = plan(rt.workflow, checkpoint)
    if rt.workflow.committed_by(effect.state) is not None:
        _log(rt, checkpoint, "passed on")
        return following
    checkpoint = _announcing(_telling(rt, checkpoint, delivery.routes), following)
    winner = _committed_before(rt, checkpoint, following, delivery)
    if winner is None:
        delivery.created.append(checkpoint)
        _log(rt, checkpoint, "committed")
        return following
    delivery.found.append(checkpoint.name)
    committed = verified(rt, checkpoint.name, checkpoint.state, winner)
    if checkpoint.name.frames in delivery.packs:  # part of it may be what this delivery has written
        delivery.created.append(committed)
    _log(rt, committed, "adopted")
    return plan(rt.workflow, committed)


def _committed_before(rt: Runtime, checkpoint: Checkpoint, following: Effect, delivery: DeliveryState) -> Item | None:
    """None where `checkpoint` is committed now, else the item that was before."""
    place = place_of(rt.workflow, checkpoint.state, checkpoint.name)
    if place is None:
        return create(rt, checkpoint)
    winner, delivery.packs[checkpoint.name.frames] = commit_packed(rt, place, checkpoint, following)
    return winner


def create(rt: Runtime, checkpoint: Checkpoint) -> Item | None:
    """Store `checkpoint` if there is none of its name; what an execution's result is made of stays as long as that.

    Returns:
        None where it was stored, else the item that was there.

    Raises:
        StoreError: it is not known whether it was stored.
    """
    key, item = checkpoint_key(rt.workflow.name, checkpoint.name), stored_item(rt.workflow.name, checkpoint)
    is_result = checkpoint.ending is not None or is_start(checkpoint.name)
    return rt.store.create(key, item, expires_at_s=rt.result_expires_at_s() if is_result else rt.expires_at_s())


def draft(rt: Runtime, effect: Commit, *, fused: bool = False) -> Checkpoint:
    """The checkpoint that `effect` commits, as far as it is known before what follows is planned."""
    continuation = effect.continuation
    if continuation.caught is not None:
        continuation = replace(continuation, caught=shortened(continuation.caught))
    return Checkpoint(
        name=effect.name,
        state=effect.state,
        phase=effect.phase,
        outcome=bounded(rt, effect.outcome, continuation, limit=rt.workflow.payload_limit),
        digest=rt.workflow.digest,
        committed_ms=rt.clock.now_ms() if effect.as_of_ms is None else effect.as_of_ms,
        duration_ms=effect.duration_ms,
        attempt=effect.attempt,
        continuation=continuation,
        fused=fused or isinstance(effect, InlineCommit),
    )


def verified(rt: Runtime, name: Name, state: str, item: Item) -> Checkpoint:
    """The checkpoint that is stored under `name`, of an invocation of `state`; or the execution's stop record.

    Raises:
        InconsistentHistory: it is of a state that does not commit there, or of another version of the workflow.
    """
    checkpoint = Checkpoint.from_item(name, item)
    if is_start(name) or checkpoint.is_stop:
        return checkpoint
    found = (checkpoint.state, checkpoint.digest)
    if found != (state, rt.workflow.digest) and not _is_of_committer(rt, state, checkpoint):
        raise InconsistentHistory(
            f"{name}: expected the outcome of {state!r} by IR {rt.workflow.digest}, "
            f"found that of {found[0]!r} by IR {found[1]}; was a name used by two deployments?"
        )
    return checkpoint


def _is_of_committer(rt: Runtime, state: str, checkpoint: Checkpoint) -> bool:
    return checkpoint.digest == rt.workflow.digest and checkpoint.state in rt.workflow.committers(state)


def _log(rt: Runtime, checkpoint: Checkpoint, how: str) -> None:
    rt.log(how, **_told(checkpoint))


def _told(checkpoint: Checkpoint) -> dict[str, Json]:
    name, outcome = checkpoint.name, checkpoint.outcome
    fields = {
        "execution": name.execution.name,
        "invocation": str(name),
        "state": checkpoint.state,
        "attempt": checkpoint.attempt,
        "duration_ms": checkpoint.duration_ms,
    }
    failure = outcome if isinstance(outcome, Failure) else checkpoint.continuation.caught
    if failure is not None:
        fields["error"] = failure.error
    if checkpoint.ending is not None:
        fields["ended"] = checkpoint.ending.status
        fields["took_ms"] = checkpoint.committed_ms - name.execution.started_ms
    return fields


def _telling(rt: Runtime, checkpoint: Checkpoint, routes: Mapping[str, str]) -> Checkpoint:
    """The first commit of an execution says which versions it runs on."""
    is_first = not checkpoint.name.frames and checkpoint.name.step == START_STEP + 1
    return checkpoint.saying(began=Began(rt.own_address, routes)) if is_first and rt.own_address else checkpoint


def _announcing(checkpoint: Checkpoint, following: Effect) -> Checkpoint:
    """What the outcome means for others belongs into the same write: a fan-out's size, the execution's end."""
    if isinstance(following, Finish):
        return checkpoint.saying(ending=following.ending)
    return checkpoint.saying(opens=following.scope) if isinstance(following, OpenScope) else checkpoint


def bounded(
    rt: Runtime,
    outcome: Outcome,
    continuation: Continuation = DEFAULT_CONTINUATION,
    *,
    what: str = "output",
    limit: int | None = None,
) -> Outcome:
    """`outcome`, or what it comes to where it is too large.

    Args:
        rt: the runtime; its store may take values of any size.
        outcome: any.
        continuation: how control goes on from it; that is stored beside it.
        what: what it is, for the cause.
        limit: how many bytes it may have; None for as many as are stored.
    """
    if isinstance(outcome, Failure):
        return shortened(outcome)
    size = len(outcome.text.encode())
    if limit is not None and size > limit:
        return _too_large(f"the {what} has {size} bytes; at most {limit} are allowed: pass large data by reference")
    if continuation is not DEFAULT_CONTINUATION:
        size += sum(len(str(value).encode()) for value in continuation.to_item().values())
        what += " with the variables" if continuation.variables else ""
    if size > MAX_OUTCOME_BYTES and rt.large is None:
        return _too_large(f"the {what} has {size} bytes; at most {MAX_OUTCOME_BYTES} are stored{WITHOUT_BUCKET}")
    return outcome


def shortened(failure: Failure) -> Failure:
    """`failure` with as much of its error and cause as is stored."""
    return Failure(_cut(failure.error, MAX_ERROR_LENGTH), _cut(failure.cause, MAX_CAUSE_LENGTH))


def _too_large(fault: str) -> Failure:
    return Failure("States.DataLimitExceeded", fault)


def _cut(text: str | None, length: int) -> str | None:
    return text and text[:length]
