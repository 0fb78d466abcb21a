"""Reading an execution back from the store, without its workflow's definition."""

from collections.abc import Iterator

from unum_runtime.model.checkpoint import Checkpoint, Ending
from unum_runtime.model.naming import Execution, Name, execution_partition
from unum_runtime.protocol.course import everything, start_record, top_level
from unum_runtime.store.base import Store

__all__ = ["ending", "last_step", "start_record", "steps"]


def last_step(store: Store, workflow: str, execution: Execution) -> Checkpoint | None:
    """The last step of the top level; None while there is none.

    It is the one that ends an execution: no other follows it, unless the execution is redriven.
    """
    newest = store.query(execution_partition(workflow, execution), newest=1)
    for key, item in newest.items():
        return Checkpoint.from_item(Name(execution, (), int(key.sort)), item)
    return None


def ending(store: Store, workflow: str, execution: Execution) -> Ending | None:
    """How the execution ended; None while it runs."""
    last = last_step(store, workflow, execution)
    return last.ending if last else None


def steps(store: Store, workflow: str, execution: Execution) -> Iterator[Checkpoint]:
    """Every committed step, those inside a fan-out right after the step that opened it.

    Reads one partition for each shard of each fan-out, and nothing else.
    """
    return everything(store, workflow, top_level(store, workflow, execution))
