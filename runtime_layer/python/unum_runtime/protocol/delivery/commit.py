"""Commit: write an outcome at most once, and continue from the first written outcome."""

from collections.abc import Mapping

from unum_runtime.cold_start.records import replace
from unum_runtime.errors import InconsistentHistory
from unum_runtime.json_text import find_fault
from unum_runtime.model.checkpoint import (
    DEFAULT_CONTINUATION,
    Began,
    Checkpoint,
    Continuation,
    Failure,
    Item,
    Outcome,
    read_start_record,
)
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import START_STEP, Name, checkpoint_key
from unum_runtime.model.states import Json
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
    effects_after,
    fed_by,
    is_start,
    plan,
)
from unum_runtime.protocol.runtime import Runtime

MAX_ERROR_LENGTH = 256
MAX_CAUSE_LENGTH = 32_768
"""Limits in characters; longer text is cut. Source: AWS Step Functions API Reference, "TaskFailedEventDetails"."""


def commit(rt: Runtime, effect: Commit, delivery: DeliveryState) -> list[Effect]:
    """Create `effect`'s checkpoint if absent, unless another Task commits for this Task.

    Args:
        rt: the runtime.
        effect: the outcome to commit.
        delivery: state of this delivery; records the outcome.

    Returns:
        The effects of the committed outcome, which is another delivery's outcome if that was committed first.

    Raises:
        ExecutionDeleted: the execution was deleted.
        InconsistentHistory: the name is taken by another state, or by another version of the workflow.
        OutcomeCollected: all that follows from the committed outcome is committed too.
        StoreError: the checkpoint may be written or not; the next delivery finds out.
    """
    checkpoint = draft(rt, effect, fused=delivery.is_fused)
    # Other commits of this delivery, as of joins, have no event whose attempts they could tell of.
    if rt.arrival is not None and delivery.event is not None and delivery.event.envelope.name == effect.name:
        facts = delivery.event.record(rt.arrival, checkpoint.committed_ms, is_fused=delivery.is_fused)
        checkpoint = checkpoint.saying(delivery=facts)
    following = plan(rt.workflow, checkpoint)
    if rt.workflow.committed_by(effect.state) is not None:
        _log(rt, checkpoint, "passed on")
        return [following]
    # The plan comes before the write: a fan-out's size and the execution's end belong into the same item.
    checkpoint = _with_ending(_with_routes(rt, checkpoint, delivery.routes), following)
    winner = _write(rt, checkpoint, following, delivery)
    if winner is None:
        delivery.created.append(checkpoint)
        _log(rt, checkpoint, "committed")
        return [following, *fed_by(rt.workflow, checkpoint)]
    # The loser continues too, because the winner may have died right after its write. It continues from the winner's
    # outcome, because a continuation of its own would be a second, different execution.
    delivery.found.append(checkpoint.name)
    committed = parse_committed(rt, checkpoint.name, checkpoint.state, winner)
    if checkpoint.name.frames in delivery.packs:  # this delivery may have written the entry of a winner set aside
        delivery.created.append(committed)
    _log(rt, committed, "adopted")
    return effects_after(rt.workflow, committed)


def _write(rt: Runtime, checkpoint: Checkpoint, following: Effect, delivery: DeliveryState) -> Item | None:
    """Commit `checkpoint` as an item or pack entry; return None, or an earlier commit's item."""
    place = place_of(rt.workflow, checkpoint.state, checkpoint.name) if rt.workflow.small_results else None
    if place is None:
        return create(rt, checkpoint)
    winner, delivery.packs[checkpoint.name.frames] = commit_packed(rt, place, checkpoint, following)
    return winner


def create(rt: Runtime, checkpoint: Checkpoint) -> Item | None:
    """Store `checkpoint` if its name is absent.

    Returns:
        None if it was stored, else the item that the name already had.

    Raises:
        StoreError: it may be stored or not.
    """
    key = checkpoint_key(rt.workflow.name, checkpoint.name)
    if checkpoint.ending is None and not is_start(checkpoint.name):
        return rt.store.create(key, checkpoint.to_item(), expires_at_s=rt.expires_at_s())
    if rt.statuses is not None:
        rt.statuses.before(rt, checkpoint)
    # A start has no age: it may be a late copy, of an execution that was deleted. Small ones read nothing.
    store = rt.large.looking() if rt.large is not None and is_start(checkpoint.name) else rt.store
    # Both ends of an execution are in lists of executions, and are kept as long as its result.
    return store.create(key, stored_item(rt.workflow.name, checkpoint), expires_at_s=rt.result_expires_at_s())


def draft(rt: Runtime, effect: Commit, *, fused: bool = False) -> Checkpoint:
    """Return `effect`'s checkpoint before planning its continuation."""
    continuation = effect.continuation
    if continuation.caught is not None:
        continuation = replace(continuation, caught=shorten(continuation.caught))
    return Checkpoint(
        name=effect.name,
        state=effect.state,
        phase=effect.phase,
        outcome=limit_outcome(rt, effect.outcome, continuation, limit=rt.workflow.payload_limit),
        digest=rt.workflow.digest,
        committed_ms=rt.clock.now_ms() if effect.as_of_ms is None else effect.as_of_ms,
        duration_ms=effect.duration_ms,
        attempt=effect.attempt,
        continuation=continuation,
        fused=fused or isinstance(effect, InlineCommit),
    )


def parse_committed(rt: Runtime, name: Name, state: str, item: Item) -> Checkpoint:
    """Return `state`'s checkpoint `name`, parsed from `item`; or the execution's stop record.

    Raises:
        ExecutionDeleted: the mark of a deletion is in its place.
        InconsistentHistory: another state or another version of the workflow committed it.
    """
    if is_start(name):
        return read_start_record(name.execution.name, item).saying(name=name)
    checkpoint = Checkpoint.from_item(name, item)
    if checkpoint.is_stop:
        from unum_runtime.protocol.planning.existing_start import refuse_deleted  # noqa: PLC0415 - few are stopped

        refuse_deleted(name, item)
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


def _log(rt: Runtime, checkpoint: Checkpoint, message: str) -> None:
    rt.log(message, **_log_fields(checkpoint))


def _log_fields(checkpoint: Checkpoint) -> dict[str, Json]:
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


def _with_routes(rt: Runtime, checkpoint: Checkpoint, routes: Mapping[str, str]) -> Checkpoint:
    """Return `checkpoint`, with function versions if it begins its execution."""
    # An operator's request that arrives later must reach the versions on which the execution started.
    is_first = not checkpoint.name.frames and checkpoint.name.step == START_STEP + 1
    return checkpoint.saying(began=Began(rt.own_address, routes)) if is_first and rt.own_address else checkpoint


def _with_ending(checkpoint: Checkpoint, following: Effect) -> Checkpoint:
    """Return `checkpoint` with its following fan-out's size, or with its execution's end."""
    if isinstance(following, Finish):
        return checkpoint.saying(ending=following.ending)
    return checkpoint.saying(opens=following.scope) if isinstance(following, OpenScope) else checkpoint


def limit_outcome(
    rt: Runtime,
    outcome: Outcome,
    continuation: Continuation = DEFAULT_CONTINUATION,
    *,
    what: str = "output",
    limit: int | None = None,
) -> Outcome:
    """Return `outcome`; return States.DataLimitExceeded if it is too large, States.Runtime if it is no JSON.

    Args:
        rt: the runtime; its store may accept values of any size.
        outcome: any outcome; a failure is cut to its limits.
        continuation: the continuation that is stored beside it.
        what: noun for the outcome in the cause.
        limit: maximum size in bytes; None for the store's maximum.
    """
    if isinstance(outcome, Failure):
        return shorten(outcome)
    if fault := outcome.find_fault():
        return _not_json(what, fault)
    size = len(outcome.text.encode())
    if limit is not None and size > limit:
        return _too_large(f"the {what} has {size} bytes; at most {limit} are allowed: pass large data by reference")
    if continuation is not DEFAULT_CONTINUATION:
        stored = continuation.to_item()
        if "variables" in stored and (fault := find_fault(continuation.variables, str(stored["variables"]))):
            return _not_json("variables", fault)
        size += sum(len(str(value).encode()) for value in stored.values())
        what += " with the variables" if continuation.variables else ""
    if size > MAX_OUTCOME_BYTES and rt.large is None:
        return _too_large(f"the {what} has {size} bytes; at most {MAX_OUTCOME_BYTES} are stored{WITHOUT_BUCKET}")
    return outcome


def shorten(failure: Failure) -> Failure:
    """Return `failure` with its error and cause cut to their limits."""
    return Failure(_cut(failure.error, MAX_ERROR_LENGTH), _cut(failure.cause, MAX_CAUSE_LENGTH))


def _not_json(what: str, fault: str) -> Failure:
    return Failure("States.Runtime", f"the {what} is not valid JSON: {fault}")


def _too_large(fault: str) -> Failure:
    return Failure("States.DataLimitExceeded", fault)


def _cut(text: str | None, length: int) -> str | None:
    return text and text[:length]
