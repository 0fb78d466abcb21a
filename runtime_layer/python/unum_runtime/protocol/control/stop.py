"""Stop an execution: take its next step's place, which prevents any further commit.

The next commit of the top level always has the step after the last committed one. A stop record created there competes
with that commit. If the commit wins, the stop reads again; if the record wins, the commit finds its place taken and
does nothing. A stopped execution therefore has one result.

Running user code is not interrupted. Guards that read first start no further user code: at the top level they find the
stop record in place of their own outcome, in a branch in place of the outcome of a fan-out around it.

Under eager collection a stop collects like any end; branches that still run delete what they write.

Functions of Tasks may write in an execution's partition, and so forge a stop record. Before it, a stop therefore notes
the step beside the start record, where they may not write: by that note a verification tells one from the other. No
delivery reads it.

Source: AWS Step Functions API Reference, "StopExecution".
"""

from unum_runtime.model.checkpoint import Checkpoint, Failure, Item, stop_record
from unum_runtime.model.ir import Collection
from unum_runtime.model.naming import START_STEP, Execution, Key, Name, start_key
from unum_runtime.protocol.delivery.commit import create, shorten
from unum_runtime.protocol.history.start_records import last_step
from unum_runtime.protocol.planning.plan import Finish
from unum_runtime.protocol.runtime import Runtime


def stop(rt: Runtime, execution: Execution, failure: Failure) -> Checkpoint:
    """Stop a started `execution`; keep an earlier end.

    Stopping needs the workflow's name and store; collecting also needs the workflow's fan-outs.

    Args:
        rt: the runtime.
        execution: the execution.
        failure: error and cause of the end, each None for none; long texts are cut.

    Returns:
        The commit that ended it: the stop record of this or another call, or its earlier end.

    Raises:
        StoreError: unknown whether it was stopped; stop it again.
    """
    last = last_step(rt.store, rt.workflow.name, execution)
    name = Name(execution, (), START_STEP) if last is None else last.name
    before = None
    # Each lost race shows a newer step, so the loop ends with the execution, at the latest at its hop budget.
    while last is None or last.ending is None:
        before, name = last, name.following
        last = _create(rt, stop_record(name, shorten(failure), rt.clock.now_ms()))
    if rt.statuses is not None:
        from unum_runtime.features.status_events.announcements import (  # noqa: PLC0415 - only workflows with events have it
            redrives_before,
        )

        found = redrives_before(rt, execution, last.name.step).to_routes()
        rt.statuses.ended(rt, Finish(execution, last.ending, last.name.step, last.committed_ms), found)
    if before is not None and rt.collection is Collection.EAGER:
        from unum_runtime.features.eager_collection.collect import collect_last  # noqa: PLC0415 - few workflows

        collect_last(rt, before)
    return last


def note_key(workflow: str, name: Name) -> Key:
    """Return the key of a stop's note for step `name`."""
    started_ms, step = name.execution.started_ms, name.step
    return Key(notes_partition(workflow, name.execution.name), f"{started_ms:x}.{step:09d}")


def notes_partition(workflow: str, execution_name: str) -> str:
    """Return the partition of stop notes, not writable by roles of Tasks' functions."""
    return f"{start_key(workflow, execution_name).partition}/stops"


def _create(rt: Runtime, record: Checkpoint) -> Checkpoint:
    """Create stop `record` unless another commit exists; return the winner."""
    # First, so that no stop that dies in between leaves a record that looks forged; a note alone means nothing.
    note: Item = {"at": record.committed_ms}
    rt.store.create(note_key(rt.workflow.name, record.name), note, expires_at_s=rt.result_expires_at_s())
    winner = create(rt, record)
    if winner is not None:
        return Checkpoint.from_item(record.name, winner)
    rt.log("stopped", execution=record.name.execution.name, invocation=str(record.name))
    return record
