"""Commit: write an outcome once, and go on with whoever's was first."""

from dataclasses import replace

from unum_runtime.errors import InconsistentHistory
from unum_runtime.model.checkpoint import Checkpoint, Failure, Item, Outcome, Success, to_text
from unum_runtime.model.naming import Name, checkpoint_key
from unum_runtime.protocol.plan import Effect, Finish, Open, is_start, plan
from unum_runtime.protocol.runtime import Runtime

MAX_OUTCOME_BYTES = 380_000
"""The largest outcome that is stored; DynamoDB takes items of 400 KB, key and names included."""


def commit(rt: Runtime, draft: Checkpoint) -> Effect:
    """Create the checkpoint if it is absent.

    Returns:
        What follows from the committed outcome, which is another delivery's if that was faster.

    Raises:
        InconsistentHistory: the name is taken by another state, or by another version of the workflow.
        StoreError: it is not known whether the checkpoint was written; the next delivery will find out.
    """
    draft = replace(draft, outcome=_bounded(draft.outcome))
    effect = plan(rt.workflow, draft)
    draft = _announcing(draft, effect)
    item = draft.to_item()
    key = checkpoint_key(rt.workflow.name, draft.name)
    winner = rt.store.create(key, item, expires_at_s=rt.expires_at_s())
    if winner is None:
        log_commit(rt, draft, won=True)
        return effect
    committed = verified(rt, draft.name, draft.state, winner)
    log_commit(rt, committed, won=False)
    return plan(rt.workflow, committed)


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


def log_commit(rt: Runtime, checkpoint: Checkpoint, *, won: bool) -> None:
    """Say what was committed, and whether by this delivery."""
    rt.log(
        "committed" if won else "adopted",
        execution=checkpoint.name.execution.name,
        invocation=str(checkpoint.name),
        state=checkpoint.state,
        attempt=checkpoint.attempt,
        duration_ms=checkpoint.duration_ms,
        error=checkpoint.outcome.error if isinstance(checkpoint.outcome, Failure) else None,
    )


def _announcing(draft: Checkpoint, effect: Effect) -> Checkpoint:
    """What the outcome means for others belongs into the same write: a fan-out's size, the execution's end."""
    match effect:
        case Finish(_, ending):
            return replace(draft, ending=ending)
        case Open(scope):
            return replace(draft, opens=scope)
    return draft


def _bounded(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Success):
        size = len(to_text(outcome.value).encode())
        if size > MAX_OUTCOME_BYTES:
            cause = f"the output has {size} bytes; at most {MAX_OUTCOME_BYTES} are stored: pass large data by reference"
            return Failure("States.DataLimitExceeded", cause)
    return outcome
