"""Keys of memoized results: those of one function lie together, so that they can be listed without an index.

A partition has the sixteenth part of a group's results, because DynamoDB takes 1,000 write units a second for each.
"""

from unum_runtime.cold_start.digest import short_digest
from unum_runtime.json_text import to_ascii
from unum_runtime.model.naming import Key, escape
from unum_runtime.model.states import MemoScope, Task

PARTS = "0123456789abcdef"
"""First digits of results' names; each has a partition of its own."""


def memo_partition_prefix(workflow: str) -> str:
    """Return the prefix of the partitions of memoized results.

    Args:
        workflow: name of the workflow; empty for results that all workflows of the table share.
    """
    return f"memo:{escape(workflow)}/"


def memo_owner(workflow: str, task: Task) -> str:
    """Return the workflow in whose partitions the results of `task` lie; empty for those that all workflows share."""
    return "" if task.memo_scope is MemoScope.TABLE else workflow


def memo_group(task: Task) -> str:
    """Return the name of the group of results that `task` shares: of its handler, or of its version."""
    own = task.handler or task.function if task.memo_scope is MemoScope.FUNCTION else task.memo_version
    return short_digest(to_ascii([task.memo_scope, own]).encode())


def memo_partition(workflow: str, group: str, part: str) -> str:
    """Return the partition with the results of `group` whose names begin with `part`, one of `PARTS`."""
    return f"{memo_partition_prefix(workflow)}{group}~{part}"


def memo_key(workflow: str, task: Task, digest: str) -> Key:
    """Return the key of the result of `task` in `workflow` with the name `digest`."""
    return Key(memo_partition(memo_owner(workflow, task), memo_group(task), digest[0]), digest)
