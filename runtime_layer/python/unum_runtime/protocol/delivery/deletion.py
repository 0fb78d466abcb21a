"""Refuse deliveries of deleted executions, whose items are gone: nothing they fail for concerns anybody.

A delivery may run while its execution is deleted, and find half of it. Only a delivery that fails asks whether that is
why, so no other one pays for the question. A late delivery asks before it writes an object that no commit precedes.
"""

from unum_runtime.errors import ExecutionDeleted, StoreError
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.planning.existing_start import deletion_text, is_deleted
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store
from unum_runtime.store.large_items import LargeItems


def refuse_if_deleted(rt: Runtime, execution_name: str, error: Exception) -> None:
    """Raise ExecutionDeleted from `error` if the execution was deleted."""
    if was_deleted(rt, execution_name):
        raise ExecutionDeleted(deletion_text(rt.workflow.name, execution_name)) from error


def was_deleted(rt: Runtime, execution_name: str) -> bool:
    """Return True if the start record says that the execution was deleted; False if the store does not answer."""
    try:
        return _has_mark(rt.store if rt.large is None else rt.large.store, rt.workflow.name, execution_name)
    except StoreError:
        return False


def check_deletion(large: LargeItems, workflow: str, execution_name: str) -> None:
    """Raise ExecutionDeleted if the execution was deleted, before an object is written for it.

    Raises:
        StoreError: the store did not answer; nothing may be written.
    """
    if _has_mark(large.store, workflow, execution_name):
        raise ExecutionDeleted(deletion_text(workflow, execution_name))


def _has_mark(items: Store, workflow: str, execution_name: str) -> bool:
    # The items alone: a large input is an object, which may be the one that is gone.
    key = start_key(workflow, execution_name)
    item = items.read([key]).get(key)
    return item is not None and is_deleted(item)
