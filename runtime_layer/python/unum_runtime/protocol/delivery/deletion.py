"""Refuse deliveries of deleted executions, whose items are gone: nothing they fail for concerns anybody.

A delivery may run while its execution is deleted, and find half of it. Only a delivery that fails asks whether that is
why, so no other one pays for the question.
"""

from unum_runtime.errors import ExecutionDeleted, StoreError
from unum_runtime.model.naming import start_key
from unum_runtime.protocol.planning.existing_start import deletion_text, is_deleted
from unum_runtime.protocol.runtime import Runtime


def refuse_if_deleted(rt: Runtime, execution_name: str, error: Exception) -> None:
    """Raise ExecutionDeleted from `error` if the execution was deleted."""
    if was_deleted(rt, execution_name):
        raise ExecutionDeleted(deletion_text(rt.workflow.name, execution_name)) from error


def was_deleted(rt: Runtime, execution_name: str) -> bool:
    """Return True if the start record says that the execution was deleted; False if the store does not answer."""
    key = start_key(rt.workflow.name, execution_name)
    try:
        # The items alone: a large input is an object, which may be the one that is gone.
        item = (rt.store if rt.large is None else rt.large.store).read([key]).get(key)
    except StoreError:
        return False
    return item is not None and is_deleted(item)
