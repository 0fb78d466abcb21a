"""Pauses of a workflow: records that refuse new starts, and end that again.

A start asks for the pause before it creates the start record, and a sandbox reads it at most every 10 seconds.
Deliveries of executions that exist never ask.

Records lie in a partition of start records, which only functions that start executions and the control function may
write. Names of executions have no ``~``, so none has this partition. Each record has the next number, and is never
changed: the newest one counts.
"""

from collections.abc import Mapping

from unum_runtime.clock import Clock
from unum_runtime.cold_start.records import dataclass
from unum_runtime.errors import StartsPaused
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.naming import is_name, start_key, start_partition_prefix
from unum_runtime.model.states import Json
from unum_runtime.protocol.planning.evaluation import timestamp
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store

MAX_AGE_MS = 10_000
"""Time for which a sandbox relies on what it has read."""

SINCE, _REASON = "since_ms", "reason"


@dataclass(frozen=True)
class Pause:
    """Pause of a workflow: no execution starts, and those that exist go on.

    Attributes:
        since_ms: its begin, in milliseconds since 1970.
        reason: text of the caller who asked for it.
    """

    since_ms: int
    reason: str

    def to_json(self) -> dict[str, Json]:
        """Return the form of requests and records; see `from_json`."""
        return {SINCE: self.since_ms, _REASON: self.reason}

    @classmethod
    def from_json(cls, fields: Mapping[str, Json]) -> "Pause | None":
        """Parse the pause in `fields`; None without one."""
        return cls(int(fields[SINCE]), str(fields[_REASON])) if _REASON in fields else None


def pause_partition(workflow: str) -> str:
    """Return the partition of the pauses of `workflow`."""
    return f"{start_partition_prefix(workflow)}~pauses"


def newest_record(store: Store, workflow: str) -> tuple[int, Item]:
    """Return number and content of the newest record; 0 and nothing if the workflow was never paused.

    Raises:
        StoreError: the store did not answer.
    """
    for key, record in store.query(pause_partition(workflow), newest=1).items():
        return int(key.sort), record
    return 0, {}


def read_pause(store: Store, workflow: str) -> Pause | None:
    """Return the pause of `workflow`; None while executions may start; see `newest_record`."""
    return Pause.from_json(newest_record(store, workflow)[1])


class PauseReader:
    """Reader of a workflow's pause for all deliveries of a sandbox."""

    def __init__(self, store: Store, workflow: str, clock: Clock) -> None:
        self._store, self._workflow, self._clock = store, workflow, clock
        self._read_ms: int | None = None
        self._pause: Pause | None = None

    def read(self) -> Pause | None:
        """Return the pause as it was at most `MAX_AGE_MS` ago; None while executions may start.

        Raises:
            StoreError: the store did not answer.
        """
        now_ms = self._clock.now_ms()  # before the read: a pause that begins meanwhile counts from now on
        # The clock may be set back: what was read in its future counts for nothing.
        if self._read_ms is None or not 0 <= now_ms - self._read_ms < MAX_AGE_MS:
            self._pause = read_pause(self._store, self._workflow)
            self._read_ms = now_ms
        return self._pause


def refuse_start(rt: Runtime, execution_name: str, pause: Pause) -> None:
    """Raise StartsPaused unless the execution exists: the repetition of a start is no new one."""
    key = start_key(rt.workflow.name, execution_name)
    if not is_name(execution_name) or not rt.store.read([key]):
        raise StartsPaused(
            f"workflow {rt.workflow.name!r} starts no executions since {timestamp(pause.since_ms)}: {pause.reason}; "
            f"nothing was started: start {execution_name!r} again when the workflow is resumed (`unum resume`)"
        )
