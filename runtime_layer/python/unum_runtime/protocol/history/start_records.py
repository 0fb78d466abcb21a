"""Start records of executions: checks of name and input, the write that starts an execution, and reads."""

from unum_runtime.asl.serialize import NotSerializable, dumps
from unum_runtime.errors import ExecutionDoesNotExist, InvalidExecutionInput, InvalidName
from unum_runtime.json_text import parse_json
from unum_runtime.model.checkpoint import Checkpoint, Item, Status, read_start_record
from unum_runtime.model.list_index import stored_item
from unum_runtime.model.naming import NAME_RULE, Execution, Name, execution_partition, is_name, start_key
from unum_runtime.model.start_facts import checked_attributes
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.existing_start import check_input, existing_record, is_deleted
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES
from unum_runtime.store.base import Index, Store
from unum_runtime.store.large_items import LargeItems


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
    return parse_json(_text(value))


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
    return parse_json(text)


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
    if record is not draft:
        check_input(workflow, record, draft)
    return record


def create_start(store: Store, workflow: str, draft: Checkpoint, *, expires_at_s: int) -> Checkpoint:
    """Create start record `draft` unless one exists, with whatever input; return the stored record.

    Raises:
        ExecutionAlreadyExists: the name belongs to a deleted execution, a fork, or an execution of another kind.
        StoreError: unknown whether the execution exists; start it again with the same name.
    """
    name = draft.name.execution.name
    if isinstance(store, LargeItems):  # the request may be a late copy, of an execution that was deleted
        store = store.looking()
    item = store.create(start_key(workflow, name), stored_item(workflow, draft), expires_at_s=expires_at_s)
    return draft if item is None else existing_record(workflow, draft, item)


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
    return end_in(last_item(index, workflow, execution))


def end_in(last: Item) -> tuple[Status, int] | None:
    """Return status and time of the end in `last`, the item of the last top-level step; None without an end."""
    return (Status(str(last["status"])), int(last["at"])) if "status" in last else None


def last_item(index: Index | Store, workflow: str, execution: Execution) -> Item:
    """Return the item of the last top-level step, without large values; an empty one before the first step."""
    return next(iter(index.query(execution_partition(workflow, execution), newest=1).values()), {})
