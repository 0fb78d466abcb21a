"""Start records of executions: checks of name and input, the write that starts an execution, and reads."""

import json

from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import ExecutionAlreadyExists, ExecutionDoesNotExist, InvalidExecutionInput, InvalidName
from unum_runtime.model.checkpoint import Checkpoint, Item, Status, Success, read_start_record, to_text
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import NAME_RULE, Execution, Name, execution_partition, is_name, start_key
from unum_runtime.model.start_facts import checked_attributes
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.evaluation import timestamp
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.store.base import Index, Store
from unum_runtime.store.large_items import LargeItems

DELETED = "Unum.ExecutionDeleted"
"""Error in the start record of a deleted execution, which keeps its name taken until it expires."""


def checked_name(name: str) -> str:
    """Return `name`.

    Raises:
        InvalidName: not 1 to 80 characters from ``A-Z a-z 0-9 - _``.
    """
    if not is_name(name):
        amount = f"{len(name)}: " if isinstance(name, str) else ""
        raise InvalidName(f"name: expected {NAME_RULE}, got {amount}{name!r}")
    return name


def as_json(value: object) -> Json:
    """Return `value` as the workflow reads it: tuples become arrays, keys become text.

    Raises:
        InvalidExecutionInput: not JSON; the text names type and place.
    """
    return json.loads(_text(value))


def as_attributes(given: object) -> dict[str, str]:
    """Return the attributes `given`, with numbers and truth values as text; none for None.

    Raises:
        InvalidExecutionInput: no attributes, or beyond their bounds.
    """
    try:
        return {} if given is None else checked_attributes(given)
    except ValueError as error:
        raise InvalidExecutionInput(str(error)) from error


def checked_input(value: object, store: Store | None = None) -> Json:
    """Return `value` as the workflow reads it, if an item or an object can hold it.

    Args:
        value: the execution's input.
        store: the workflow's store, which may have a payload bucket; None if an event carries the value first.

    Raises:
        InvalidExecutionInput: not JSON (the text names type and place), or more than 380 KB without a payload bucket.
    """
    text = _text(value)
    size = len(text.encode())
    if size > MAX_OUTCOME_BYTES and not isinstance(store, LargeItems):
        raise InvalidExecutionInput(
            f"input: {size} bytes of JSON, but at most {MAX_OUTCOME_BYTES} are stored; "
            "put large data into S3 and pass where it is, or "
            'give the workflow a bucket for larger ones, payload="s3"'
        )
    return json.loads(text)


def _text(value: object) -> str:
    try:
        return dumps(value)
    except NotSerializable as error:
        raise InvalidExecutionInput(f"input: {error.cause}") from error


def record_start(store: Store, workflow: str, draft: Checkpoint, *, expires_at_s: int) -> Checkpoint:
    """Create start record `draft` unless one exists; return the stored record.

    Raises:
        ExecutionAlreadyExists: the name was started with another input, or as `create_start` says.
        StoreError: unknown whether the execution exists; start it again with the same name.
    """
    record = create_start(store, workflow, draft, expires_at_s=expires_at_s)
    # A repeated start with equal input is a retry by the caller, not a conflict.
    if record is not draft and not _same_input(record, draft):
        raise ExecutionAlreadyExists(
            f"execution {draft.name.execution.name!r} of workflow {workflow!r} was started with another input "
            f"at {timestamp(record.committed_ms)}; nothing was stored: use another name, or the same input"
        )
    return record


def create_start(store: Store, workflow: str, draft: Checkpoint, *, expires_at_s: int) -> Checkpoint:
    """Create start record `draft` unless one exists, with whatever input; return the stored record.

    Raises:
        ExecutionAlreadyExists: the name belongs to a deleted execution, a fork, or an execution of another kind.
        StoreError: unknown whether the execution exists; start it again with the same name.
    """
    name = draft.name.execution.name
    item = store.create(start_key(workflow, name), stored_item(workflow, draft), expires_at_s=expires_at_s)
    if item is None:
        return draft
    if is_deleted(item):
        raise ExecutionAlreadyExists(
            f"execution {name!r} of workflow {workflow!r} was deleted, and keeps its name until its retention has "
            "passed, against late events; nothing was started: use another name"
        )
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


def start_record(store: Store, workflow: str, execution_name: str) -> Checkpoint:
    """Return the start record of an execution; its outcome is the execution's input.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
    """
    return read_start_record(execution_name, stored_start(store, workflow, execution_name))


def stored_start(store: Store, workflow: str, execution_name: str) -> Item:
    """Return the item of an execution's start record.

    Raises:
        ExecutionDoesNotExist: no execution has that name.
    """
    # The store is not asked about an invalid name: its escaped key might be longer than DynamoDB allows.
    key = start_key(workflow, execution_name) if is_name(execution_name) else None
    item = store.read([key]).get(key) if key is not None else None
    if item is None:
        raise ExecutionDoesNotExist(
            f"workflow {workflow!r} has no execution {execution_name!r}: it never started, or its retention has passed"
        )
    if is_deleted(item):
        raise ExecutionDoesNotExist(f"execution {execution_name!r} of workflow {workflow!r} was deleted")
    return item


def is_deleted(item: Item) -> bool:
    """Return True if `item` is what a deletion has left of a start record."""
    return item.get("error") == to_text(DELETED)


def last_step(store: Store, workflow: str, execution: Execution) -> Checkpoint | None:
    """Return the last top-level step, which also ends an execution; None before the first step."""
    newest = store.query(execution_partition(workflow, execution), newest=1)
    for key, item in newest.items():
        return Checkpoint.from_item(Name(execution, (), int(key.sort)), item)
    return None


def end_of(index: Index | Store, workflow: str, execution: Execution) -> tuple[Status, int] | None:
    """Return status and time of the commit that ended an execution; None while it runs.

    Other than by `last_step`, no large value is read.
    """
    for item in index.query(execution_partition(workflow, execution), newest=1).values():
        if "status" in item:
            return Status(str(item["status"])), int(item["at"])
    return None


def _same_input(one: Checkpoint, other: Checkpoint) -> bool:
    """Return True if two start records have the same input; compared as text, because ``True == 1`` in Python."""
    return _canonical(one) == _canonical(other)


def _canonical(record: Checkpoint) -> str | None:
    """Return the input as canonical JSON; None for an input too large to store."""
    return json.dumps(record.outcome.value, sort_keys=True) if isinstance(record.outcome, Success) else None
