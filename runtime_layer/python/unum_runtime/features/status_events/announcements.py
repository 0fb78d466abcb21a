"""Status events that no delivery puts: of starts and redrives that a nudge continues, and of notes for the sweep."""

from collections.abc import Iterable, Sequence

from unum_runtime.errors import ExecutionDoesNotExist, InconsistentHistory
from unum_runtime.features.status_events.status_events import Redriven, StatusChange, StatusEvents, remove_note
from unum_runtime.model.checkpoint import Checkpoint, Status
from unum_runtime.model.list_index import SHARDS, execution_at
from unum_runtime.model.naming import START_STEP, Execution, Key, Name, announcements_partition, checkpoint_key
from unum_runtime.protocol.control.walk import RESERVE_MS
from unum_runtime.protocol.history.start_records import end_of, start_record
from unum_runtime.protocol.history.timeline import redrives, top_level
from unum_runtime.protocol.runtime import Runtime

MALFORMED = (ValueError, KeyError, TypeError, InconsistentHistory)
"""Errors while reading stored items that the runtime did not write."""


FIRST_REDRIVE = START_STEP + 2
"""First step that may be one of a redrive: the first one of an execution may have ended it."""

MOST_REFUSED = 10
"""Refused events after which a sweep leaves the rest to the next one: each may take `MAX_WAIT_MS`."""


def change_before(steps: Sequence[Checkpoint]) -> StatusChange | None:
    """Return the start or redrive after which nothing is committed yet among `steps`, the start record first; or None.

    Its event may never have been put: a request wrote the commit, and died.
    """
    *before, last = steps
    # Only a redrive follows an end.
    if before and before[-1].ending is None:
        return None
    return StatusChange(
        last.name.execution, last.name.step, last.committed_ms, Status.RUNNING, redriven=redrives_in(steps)
    )


def announce_noted(rt: Runtime, events: StatusEvents) -> None:
    """Put the events of notes, and remove these, until the time is used up or the bus has refused `MOST_REFUSED`.

    Raises:
        StoreError: some notes are left; the next sweep puts their events.
    """
    refused = 0
    for shard in range(SHARDS):
        for key in rt.store.query(announcements_partition(rt.workflow.name, shard)):
            if refused == MOST_REFUSED or rt.remaining_ms() < RESERVE_MS:
                return
            refused += not _announce_noted(rt, events, key)


def _announce_noted(rt: Runtime, events: StatusEvents, key: Key) -> bool:
    """Put the event of the note at `key`, and remove it; return False if the bus refused the event."""
    try:
        place, _, step = key.sort.rpartition("#")
        execution = execution_at(place)
        change = _change_at(rt, execution, int(step))
        is_void = change is None and not _may_end(rt, execution, int(step))
    except MALFORMED as error:
        rt.log("malformed", partition=key.partition, sort=key.sort, reason=f"{type(error).__name__}: {error}")
        return True
    is_taken = change is None or events.announce(rt, change)
    if is_void or (change is not None and is_taken):
        remove_note(rt, key)
    return is_taken


def _change_at(rt: Runtime, execution: Execution, step: int) -> StatusChange | None:
    """Return the status change of the commit `step`; None without a commit or a change."""
    if step == START_STEP:
        return StatusChange(execution, step, execution.started_ms, Status.RUNNING) if _exists(rt, execution) else None
    last = _step_at(rt, execution, step)
    if last is None:
        return None
    if last.ending is not None:
        ending, redriven = last.ending, redrives_before(rt, execution, step)
        return StatusChange(execution, step, last.committed_ms, ending.status, ending.outcome, redriven)
    before = _step_at(rt, execution, step - 1) if step > START_STEP + 1 else None
    if before is None or before.ending is None:
        return None
    redriven = redrives_before(rt, execution, step + 1)
    return StatusChange(execution, step, last.committed_ms, Status.RUNNING, redriven=redriven)


def redrives_in(steps: Iterable[Checkpoint]) -> Redriven:
    """Return the redrives among `steps` of a top level."""
    times = [redriven.committed_ms for _, redriven in redrives(steps)]
    return Redriven(len(times), times[-1]) if times else Redriven()


def redrives_before(rt: Runtime, execution: Execution, step: int) -> Redriven:
    """Return the redrives of `execution` before `step` of its top level, which may be an earlier one than the last."""
    if step <= FIRST_REDRIVE:
        return Redriven()
    return redrives_in(each for each in top_level(rt.store, rt.workflow.name, execution) if each.name.step < step)


def _step_at(rt: Runtime, execution: Execution, step: int) -> Checkpoint | None:
    name = Name(execution, (), step)
    key = checkpoint_key(rt.workflow.name, name)
    item = rt.store.read([key]).get(key)
    return None if item is None else Checkpoint.from_item(name, item)


def _exists(rt: Runtime, execution: Execution) -> bool:
    """Return True unless `execution` has expired or was deleted."""
    try:
        return start_record(rt.store, rt.workflow.name, execution.name).name.execution == execution
    except ExecutionDoesNotExist:
        return False


def _may_end(rt: Runtime, execution: Execution, step: int) -> bool:
    """Return True if the end at `step` may still be committed, by the request that left a note before it."""
    is_running = _exists(rt, execution) and end_of(rt.store, rt.workflow.name, execution) is None
    return is_running and _step_at(rt, execution, step) is None
