"""Read stored executions, without their workflows' definitions."""

from collections.abc import Iterator

from unum_runtime.model.checkpoint import Checkpoint, Ending
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.history.start_records import last_step, start_record
from unum_runtime.protocol.history.timeline import nested_steps, top_level
from unum_runtime.protocol.history.timeline import redrives as redrives_of
from unum_runtime.store.base import Store

__all__ = ["ending", "last_step", "redrives", "start_record", "steps"]


def ending(store: Store, workflow: str, execution: Execution) -> Ending | None:
    """Return an execution's end; None while it runs."""
    last = last_step(store, workflow, execution)
    return last.ending if last else None


def steps(store: Store, workflow: str, execution: Execution) -> Iterator[Checkpoint]:
    """Yield every committed step; each scope's steps follow their opening step.

    Reads one partition per shard of each fan-out, besides the top level.
    """
    return nested_steps(store, workflow, top_level(store, workflow, execution))


def redrives(store: Store, workflow: str, execution: Execution) -> list[Checkpoint]:
    """Return commits of all redrives, in order; reads the whole top level."""
    return [redrive for _, redrive in redrives_of(top_level(store, workflow, execution))]
