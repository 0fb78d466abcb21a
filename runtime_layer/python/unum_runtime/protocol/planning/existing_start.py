"""Compare a start with the record of an earlier start of the same name: a repetition, or a conflict.

Names are unique, as those of ``StartExecution`` are. A repeated start finds its execution; a start with another input
must reach its sender as a failure, because nothing would ever be done for that input.
"""

from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDeleted
from unum_runtime.json_text import to_ascii, to_text
from unum_runtime.model.checkpoint import Checkpoint, Item, Success, read_start_record
from unum_runtime.model.naming import Name
from unum_runtime.protocol.planning.evaluation import timestamp

DELETED = "Unum.ExecutionDeleted"
"""Error in the start record of a deleted execution, which keeps its name taken until it expires."""


def is_deleted(item: Item) -> bool:
    """Return True if `item` is what a deletion has left of a start record."""
    return item.get("error") == _DELETED_TEXT


_DELETED_TEXT = to_text(DELETED)


def refuse_deleted(name: Name, item: Item) -> None:
    """Raise ExecutionDeleted if `item`, found in place of an outcome of `name`, is the mark of a deletion."""
    if is_deleted(item):
        raise ExecutionDeleted(f"{name}: the execution was deleted")


def deletion_text(workflow: str, name: str) -> str:
    """Return what a start of a deleted execution is told."""
    return (
        f"execution {name!r} of workflow {workflow!r} was deleted, and keeps its name until its retention has "
        "passed, against late events; nothing was started: use another name"
    )


def existing_record(workflow: str, draft: Checkpoint, item: Item) -> Checkpoint:
    """Return the start record in `item`, which has the name of the start `draft`, with whatever input.

    Raises:
        ExecutionAlreadyExists: the name belongs to a deleted execution, a fork, or an execution of another kind.
    """
    name = draft.name.execution.name
    if is_deleted(item):
        raise ExecutionAlreadyExists(deletion_text(workflow, name))
    record = read_start_record(name, item)
    # No start wrote the record of a fork, and a fork does not begin with the first state, so this is no retry.
    if record.fork is not None:
        raise ExecutionAlreadyExists(
            f"execution {name!r} of workflow {workflow!r} is a fork of {record.fork.execution.name!r} at "
            f"{record.fork.node!r}; nothing was started: use another name"
        )
    if bool(record.digest) is not bool(draft.digest):
        kind = "with force" if record.digest else "without force"
        raise ExecutionAlreadyExists(
            f"execution {name!r} of workflow {workflow!r} was started {kind}; nothing was started: use another name"
        )
    return record


def check_input(workflow: str, record: Checkpoint, draft: Checkpoint) -> None:
    """Raise ExecutionAlreadyExists unless the start `draft` has the input of the start record `record`."""
    if not has_same_input(record, draft):
        raise ExecutionAlreadyExists(
            f"execution {draft.name.execution.name!r} of workflow {workflow!r} was started with another input "
            f"at {timestamp(record.committed_ms)}; nothing was stored: use another name, or the same input"
        )


def check_event(workflow: str, record: Checkpoint, draft: Checkpoint) -> None:
    """Raise ExecutionAlreadyExists unless `draft` has the input of `record`, or is another delivery of its event."""
    if has_same_input(record, draft):
        return
    from unum_runtime.model.identity import is_same_event  # noqa: PLC0415 - few starts are repeated

    if not is_same_event(_value(record), _value(draft)):
        check_input(workflow, record, draft)


def has_same_input(one: Checkpoint, other: Checkpoint) -> bool:
    """Return True if two start records have the same input; compared as text, because ``True == 1`` in Python."""
    return _canonical(one) == _canonical(other)


def _canonical(record: Checkpoint) -> str | None:
    """Return the input as canonical JSON; None for an input too large to store."""
    return to_ascii(_value(record), is_sorted=True) if isinstance(record.outcome, Success) else None


def _value(record: Checkpoint) -> object:
    return record.outcome.value if isinstance(record.outcome, Success) else None
