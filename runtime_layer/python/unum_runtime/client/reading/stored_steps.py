"""Reading an execution back from the store, without its workflow's definition."""

from collections.abc import Iterator

from unum_runtime.model.checkpoint import Checkpoint, Ending
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.history.start_records import last_step, start_record
from unum_runtime.protocol.history.timeline import nested_steps, top_level
from unum_runtime.protocol.history.timeline import redrives as redrives_of
from unum_runtime.store.base import Store

__all__ = ["ending", "last_step", "redrives", "start_record", "steps"]


def ending(store: Store, workflow: str, execution: Execution) -> Ending | None:
    """How the execution ended; None while it runs."""
    last = last_step(store, workflow, execution)
    return last.ending if last else None


def steps(store: Store, workflow: str, execution: Execution) -> Iterator[Checkpoint]:
    """Every committed step, those inside a fan-out right after the step that opened it.

    Reads one partition for each shard of each fan-out, and nothing else.
    """
    return nested_steps(store, workflow, top_level(store, workflow, execution))


def redrives(store: Store, workflow: str, execution: Execution) -> list[Checkpoint]:
    """The commits with which an execution was redriven, in their order; all steps of its top level are read."""
    return [redrive for _, redrive in redrives_of(top_level(store, workflow, execution))]
