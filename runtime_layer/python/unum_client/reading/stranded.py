"""Running executions that would need what a deployment removes, as a client sees them before the deployment."""

import time
from collections.abc import Collection

from unum_client.client import Client
from unum_client.reading.pending_steps import reading_runtime
from unum_runtime.errors import NoIndex
from unum_runtime.model.delays import LONGEST_IN_QUEUE_S
from unum_runtime.model.ir import Workflow
from unum_runtime.protocol.control.deletions.removal import RESERVE_MS, Stranded, Version, find_stranded, removed_parts

PATIENCE_S = 30
"""Longest search; few callers want to wait longer for an annotation."""


def stranded_without(client: Client, definition: Workflow, parts: Collection[str]) -> Stranded:
    """Return the running executions that need one of `parts`, by the keys of functions in their definitions.

    Args:
        client: a client that may list executions and read them.
        definition: any definition of the workflow.
        parts: names of parts, see `unum_runtime.protocol.control.deletions.removal`.

    Raises:
        StoreError: the executions could not be read, or the table does not list them.
    """
    end_s = time.monotonic() + PATIENCE_S
    rt = reading_runtime(
        client.store,
        client.clock,
        definition,
        retention_s=client.retention_s,
        remaining_ms=lambda: RESERVE_MS + round((end_s - time.monotonic()) * 1000),
    )
    if client.index is None:
        raise NoIndex("expected a client with an index of executions, got one without")
    removed = removed_parts({name: name for name in parts}, {}, schedules_s=LONGEST_IN_QUEUE_S)
    # Without the functions' addresses: a client may not be allowed to read them.
    return find_stranded(rt, client.index, removed, lambda _: Version({}, client.retention_s))
