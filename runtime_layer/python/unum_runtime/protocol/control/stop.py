"""Stopping an execution: the place of its next step is taken, so that step never comes.

At the top level whoever commits next is always at the step right after the last one that is committed. So a record that
is created there, if nothing is, meets whatever would have come next: either that was first, and the stop looks again,
or it finds the record in its place, and has nothing to do any more. Hence an execution that is stopped has one result.

User code that runs then is not interrupted. No other starts where the guard looks before it does: at the top level the
record is found in the place of the own outcome, in a branch in that of what a fan-out around it came to.

Under eager collection a stop collects like any end; what branches write that still run, they take back.

Source: AWS Step Functions API Reference, "StopExecution".
"""

from unum_runtime.model.checkpoint import Checkpoint, Failure, stop_record
from unum_runtime.model.naming import START_STEP, Execution, Name
from unum_runtime.protocol.delivery.collect import collect_last
from unum_runtime.protocol.delivery.commit import create, shorten
from unum_runtime.protocol.history.start_records import last_step
from unum_runtime.protocol.runtime import Runtime


def stop(rt: Runtime, execution: Execution, failure: Failure) -> Checkpoint:
    """Stop `execution`, which has a start record, unless it has ended.

    Nothing of the workflow is needed to stop it but its name and its store; to collect, its fan-outs are.

    Args:
        rt: the runtime.
        execution: the execution.
        failure: error and cause that it is to end with, either of them None for none; what is too long is cut.

    Returns:
        The commit that it ended with: the stop record of this call or of another, or what it had come to before.

    Raises:
        StoreError: it is not known whether it was stopped; stop it again.
    """
    last = last_step(rt.store, rt.workflow.name, execution)
    name = Name(execution, (), START_STEP) if last is None else last.name
    before = None
    while last is None or last.ending is None:
        before, name = last, name.following
        last = _created(rt, stop_record(name, shorten(failure), rt.clock.now_ms()))
    if before is not None:
        collect_last(rt, before)
    return last


def _created(rt: Runtime, record: Checkpoint) -> Checkpoint:
    """`record`, if nothing was there before; else what is there."""
    winner = create(rt, record)
    if winner is not None:
        return Checkpoint.from_item(record.name, winner)
    rt.log("stopped", execution=record.name.execution.name, invocation=str(record.name))
    return record
