"""Commit: write an outcome once, and go on with whoever's was first."""

from dataclasses import replace

from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import Checkpoint, Failure, Item, Outcome, Success, to_text
from unum_runtime.model.naming import Name, checkpoint_key
from unum_runtime.protocol.plan import Commit, Effect, Finish, Open, is_start, plan
from unum_runtime.protocol.runtime import Runtime

MAX_OUTCOME_BYTES = 380_000
"""The largest outcome that is stored; DynamoDB takes items of 400 KB, key and names included."""


def commit(rt: Runtime, effect: Commit) -> Effect:
    """Create the checkpoint if it is absent.

    Returns:
        What follows from the committed outcome, which is another delivery's if that was faster.

    Raises:
        InconsistentHistory: the name is taken by another state, or by another version of the workflow.
        RefusedDelivery: the committed outcome was collected, so all that follows from it is committed too.
        StoreError: it is not known whether the checkpoint was written; the next delivery will find out.
    """
    checkpoint = draft(rt, effect)
    following = plan(rt.workflow, checkpoint)
    checkpoint = _announcing(checkpoint, following)
    key = checkpoint_key(rt.workflow.name, checkpoint.name)
    winner = rt.store.create(key, checkpoint.to_item(), expires_at_s=rt.expires_at_s())
    if winner is None:
        _log(rt, checkpoint, "committed")
        return following
    committed = verified(rt, checkpoint.name, checkpoint.state, winner)
    _log(rt, committed, "adopted")
    return plan(rt.workflow, committed)


def draft(rt: Runtime, effect: Commit) -> Checkpoint:
    """The checkpoint that `effect` commits, as far as it is known before what follows is planned."""
    return Checkpoint(
        name=effect.name,
        state=effect.state,
        phase=effect.phase,
        outcome=_bounded(effect.outcome),
        digest=rt.workflow.digest,
        committed_ms=rt.clock.now_ms(),
        duration_ms=effect.duration_ms,
    )


def verified(rt: Runtime, name: Name, state: str, item: Item) -> Checkpoint:
    """The checkpoint that is stored under `name`.

    Raises:
        InconsistentHistory: it is of another state, or of another version of the workflow.
    """
    checkpoint = Checkpoint.from_item(name, item)
    if is_start(name):
        return checkpoint
    found = (checkpoint.state, checkpoint.digest)
    if found != (state, rt.workflow.digest):
        raise InconsistentHistory(
            f"{name}: expected the outcome of {state!r} by IR {rt.workflow.digest}, "
            f"found that of {found[0]!r} by IR {found[1]}; was a name used by two deployments?"
        )
    return checkpoint


def _log(rt: Runtime, checkpoint: Checkpoint, how: str) -> None:
    rt.log(
        how,
        execution=checkpoint.name.execution.name,
        invocation=str(checkpoint.name),
        state=checkpoint.state,
        attempt=checkpoint.attempt,
        duration_ms=checkpoint.duration_ms,
        error=checkpoint.outcome.error if isinstance(checkpoint.outcome, Failure) else None,
    )


def _announcing(checkpoint: Checkpoint, following: Effect) -> Checkpoint:
    """What the outcome means for others belongs into the same write: a fan-out's size, the execution's end."""
    match following:
        case Finish(_, ending):
            return replace(checkpoint, ending=ending)
        case Open(scope):
            return replace(checkpoint, opens=scope)
    return checkpoint


def _bounded(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Success):
        size = len(to_text(outcome.value).encode())
        if size > MAX_OUTCOME_BYTES:
            cause = f"the output has {size} bytes; at most {MAX_OUTCOME_BYTES} are stored: pass large data by reference"
            return Failure("States.DataLimitExceeded", cause)
    return outcome
