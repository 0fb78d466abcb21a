"""Status events: one on a bus for each start, redrive and end of an execution, at least once, always with the same id.

A delivery puts an event after the commit, and before anything that follows from it. If it dies in between, whatever
repeats the delivery puts the event: Lambda, the intake, a dead letter, or a nudge of the sweep. A note, for the sweep,
is left only for an event that the bus refuses; and before the end by a request of an operator, which nothing repeats.

Source: AWS Step Functions Developer Guide, "EventBridge events", which has the same fields.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import NamedTuple, dataclass
from unum_runtime.errors import StoreError, UnumError
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Checkpoint, Failure, Item, Outcome, Status, Success, read_start_record
from unum_runtime.model.list_index import place, shard_of
from unum_runtime.model.naming import START_STEP, Execution, Key, announcements_partition, start_key
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.plan import Finish
from unum_runtime.protocol.runtime import Runtime

if TYPE_CHECKING:
    from unum_runtime.store.erasable import ErasableStore

SOURCE = "unum"
DETAIL_TYPE = "Unum Execution Status Change"

MAX_DETAIL_BYTES = 248 * 1024
"""Size of a detail above which it has no input, then no output. Source: as above; an entry has at most 256 KB."""

MAX_WAIT_MS = 5_000
"""Longest wait for the bus, in milliseconds: after it, the execution goes on, and a note is left."""

DELETED = "Unum.ExecutionDeleted"
"""Error in the records that a deletion leaves, which are no change of status."""

ABANDONED = "Unum.Abandoned"
"""Error of executions that a sweep ended because their last moment had passed."""

REDRIVEN = "$redriven"
"""Key among the routes of a redriven execution, with its `Redriven` as text; only events of workflows with a bus."""

Put = Callable[[Mapping[str, Json], int], None]
"""Function that puts an entry of PutEvents within some milliseconds; raises UnumError if the bus may not have it."""


class Redriven(NamedTuple):
    """Redrives of an execution before a commit.

    Attributes:
        times: their number.
        at_ms: time of the last one, in milliseconds since 1970; None without one.
    """

    times: int = 0
    at_ms: int | None = None

    def to_routes(self) -> dict[str, str]:
        """Return what travels with the execution, for the event of its end; empty without a redrive."""
        return {REDRIVEN: f"{self.times} {self.at_ms}"} if self.times else {}

    @classmethod
    def from_routes(cls, routes: Mapping[str, str]) -> "Redriven":
        """Parse what `to_routes` wrote; anything else counts as no redrive, so that no forged event fails an end."""
        times, _, at_ms = routes.get(REDRIVEN, "").partition(" ")
        return cls(int(times), int(at_ms)) if times.isdecimal() and at_ms.isdecimal() else cls()


NEVER_REDRIVEN = Redriven()


class StatusChange(NamedTuple):
    """Change of an execution's status by one commit.

    Attributes:
        execution: the execution.
        step: step of the commit.
        at_ms: time of the commit, in milliseconds since 1970.
        status: the new status.
        outcome: result of an end; None for others.
        redriven: redrives until then, this one included.
    """

    execution: Execution
    step: int
    at_ms: int
    status: Status
    outcome: Outcome | None = None
    redriven: Redriven = NEVER_REDRIVEN

    @property
    def is_deletion(self) -> bool:
        """True for a marker of a deleted execution."""
        return isinstance(self.outcome, Failure) and self.outcome.error == DELETED

    @property
    def is_abandoned(self) -> bool:
        """True for the end of an execution whose last moment had passed."""
        return isinstance(self.outcome, Failure) and self.outcome.error == ABANDONED


@dataclass(frozen=True, kw_only=True)
class StatusEvents:
    """Sender of a workflow's status events.

    Attributes:
        put: puts an event.
        notes_first: True in the control function: a note precedes each end, because nothing repeats a request.
    """

    put: Put
    notes_first: bool = False

    def before(self, rt: Runtime, checkpoint: Checkpoint) -> None:
        """Leave a note before the commit of an end that no later delivery repeats.

        Raises:
            StoreError: unknown whether the note is stored; commit nothing.
        """
        if self.notes_first and checkpoint.ending is not None:
            _leave_note(rt, checkpoint.name.execution, checkpoint.name.step)

    def started(self, rt: Runtime, record: Checkpoint) -> None:
        """Put the event of the start that `record` stores; see `ended`."""
        self.announce(rt, StatusChange(record.name.execution, START_STEP, record.committed_ms, Status.RUNNING), record)

    def ended(self, rt: Runtime, end: Finish, routes: Mapping[str, str]) -> None:
        """Put the event of the committed `end`; leave a note if the bus refuses it.

        Args:
            rt: a runtime of any version of the workflow.
            end: the end.
            routes: addresses that travel with the execution, with its redrives.

        Raises:
            StoreError: the event may be put or not; deliver again.
        """
        status, outcome = end.ending.status, end.ending.outcome
        change = StatusChange(end.execution, end.step, end.at_ms, status, outcome, Redriven.from_routes(routes))
        if self.announce(rt, change) and self.notes_first:
            with suppress(StoreError):  # the sweep puts it once more
                remove_note(rt, note_key(rt.workflow.name, end.execution, end.step))

    def announce(self, rt: Runtime, change: StatusChange, record: Checkpoint | None = None) -> bool:
        """Put the event of `change`; return False, and leave a note, if the bus refuses it.

        Args:
            rt: a runtime of any version of the workflow.
            change: a committed change.
            record: the execution's start record; None to read it.

        Raises:
            StoreError: see `ended`.
        """
        found = _start_of(rt, change.execution) if record is None else record
        if change.is_deletion or _is_deleted(found):
            return True
        try:
            self.put(entry_of(rt, change, found), min(MAX_WAIT_MS, rt.remaining_ms() // 3))
        except UnumError as refused:  # no failure of the bus is one of the execution
            rt.log("not announced", execution=change.execution.name, status=change.status, reason=str(refused))
            _leave_note(rt, change.execution, change.step)
            return False
        return True


def entry_of(rt: Runtime, change: StatusChange, record: Checkpoint | None) -> dict[str, Json]:
    """Return the entry of PutEvents for `change`, equal whoever puts it.

    Args:
        rt: a runtime of the workflow.
        change: the change.
        record: the execution's start record; None if it has expired.
    """
    arn = rt.workflow.home.arn(f"execution:{rt.workflow.name}:{change.execution.name}")
    detail = {"id": event_id(arn, change), "executionArn": arn, **_detail(rt, change, record)}
    for left_out in ("input", "output"):
        if len(to_text(detail).encode()) > MAX_DETAIL_BYTES and detail[left_out] is not None:
            detail |= {left_out: None, f"{left_out}Details": {"included": False}}
    return {
        "Source": SOURCE,
        "DetailType": DETAIL_TYPE,
        "Resources": [arn],
        "Time": change.at_ms // 1000,
        "Detail": to_text(detail),
    }


def event_id(arn: str, change: StatusChange) -> str:
    """Return the id of `change`: 32 hexadecimal digits that the commit determines."""
    return sha256(f"{arn}:{change.execution.started_ms}#{change.step}".encode())[:32]


def note_key(workflow: str, execution: Execution, step: int) -> Key:
    """Return the key of the note about the commit `step` of `execution`."""
    return Key(announcements_partition(workflow, shard_of(execution)), f"{place(execution)}#{step}")


def remove_note(rt: Runtime, key: Key) -> None:
    """Let the note at `key` expire now.

    Raises:
        StoreError: it may be there or not.
    """
    # No primitive of a store deletes one item; what has expired is absent, and DynamoDB deletes it for nothing.
    items = cast("ErasableStore", rt.store if rt.large is None else rt.large.store)
    items.replace(key, {}, expires_at_s=rt.clock.now_ms() // 1000)


def _leave_note(rt: Runtime, execution: Execution, step: int) -> None:
    note: Item = {"step": step}
    rt.store.create(note_key(rt.workflow.name, execution, step), note, expires_at_s=rt.result_expires_at_s())


def _start_of(rt: Runtime, execution: Execution) -> Checkpoint | None:
    """Return the start record of `execution`; None if it has expired, or another execution has its name."""
    key = start_key(rt.workflow.name, execution.name)
    item = rt.store.read([key]).get(key)
    record = None if item is None else read_start_record(execution.name, item)
    return record if record is not None and record.name.execution == execution else None


def _is_deleted(record: Checkpoint | None) -> bool:
    return record is not None and isinstance(record.outcome, Failure) and record.outcome.error == DELETED


def _detail(rt: Runtime, change: StatusChange, record: Checkpoint | None) -> dict[str, Json]:
    """Return the fields of Step Functions' event, without the ARN of the execution."""
    given = None if record is None else record.outcome
    failure = change.outcome if isinstance(change.outcome, Failure) else Failure(None, None)
    return {
        "stateMachineArn": rt.workflow.home.arn(f"stateMachine:{rt.workflow.name}"),
        "name": change.execution.name,
        "status": change.status,
        "startDate": change.execution.started_ms,
        "stopDate": None if change.status is Status.RUNNING else change.at_ms,
        "input": given.text if isinstance(given, Success) else None,
        "inputDetails": {"included": isinstance(given, Success)},
        "output": change.outcome.text if isinstance(change.outcome, Success) else None,
        "outputDetails": {"included": True} if isinstance(change.outcome, Success) else None,
        "error": failure.error,
        "cause": failure.cause,
        **_about_redrives(change),
        # As of an execution of Step Functions that was started by an ARN without a version or alias.
        "stateMachineVersionArn": None,
        "stateMachineAliasArn": None,
    }


def _about_redrives(change: StatusChange) -> dict[str, Json]:
    """Return the redrive fields before and after the change."""
    reason = None
    if change.status in (Status.RUNNING, Status.SUCCEEDED):
        reason = f"Execution is {change.status} and cannot be redriven"
    # A redrive restarts neither TimeoutSeconds nor the retention.
    elif change.status is Status.TIMED_OUT or change.is_abandoned:
        reason = "Execution has exceeded the max execution time"
    status = "REDRIVABLE" if reason is None else "NOT_REDRIVABLE"
    return {
        "redriveStatus": status,
        "redriveStatusReason": reason,
        "redriveCount": change.redriven.times,
        "redriveDate": change.redriven.at_ms,
    }
