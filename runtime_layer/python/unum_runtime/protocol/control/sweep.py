"""Sweep: find running executions that are stalled because an event was lost.

Each running execution is asked for overdue commits, and optionally nudged, by the same requests that a person sends for
one execution. A sweep is therefore harmless if it is wrong, comes twice, or dies.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass, replace
from unum_runtime.errors import ExecutionDoesNotExist, UnumError
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.ir import Json
from unum_runtime.model.list_index import LAST, place
from unum_runtime.model.naming import Execution
from unum_runtime.protocol.control.nudge import HELD
from unum_runtime.protocol.control.operator_requests import (
    SILENT,
    Control,
    ValidationException,
    check_version,
    checked_silent_ms,
    is_request,
    request,
)
from unum_runtime.protocol.history.list_entries import Listed
from unum_runtime.protocol.requests.start_alias import refusal
from unum_runtime.protocol.runtime import DEADLINE_MARGIN_S, Runtime
from unum_runtime.store.base import Index

SWEEP = "sweep"
"""Value of a request's ``control`` field, beside those of `Control`."""

RESERVE_MS = 60_000
"""Time left in a delivery below which no further execution is asked: another version's handler takes time to answer."""

Ask: TypeAlias = Callable[[Mapping[str, Json]], Json]
"""A function that answers a control request."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A request for a sweep.

    Attributes:
        silent_ms: time by which a commit is overdue, in milliseconds; see `unum_runtime.protocol.history.overdue`.
        nudges: True to resend pending events, False to log only.
        newest: place of the newest execution to ask; older ones follow.
    """

    silent_ms: int
    nudges: bool
    newest: str = LAST

    def to_json(self) -> dict[str, Json]:
        """Return the event of the request."""
        return {
            MARK: WIRE_VERSION,
            "control": SWEEP,
            SILENT: self.silent_ms,
            "nudge": self.nudges,
            "newest": self.newest,
        }

    @classmethod
    def from_json(cls, event: Mapping[str, Json]) -> "Sweep":
        """Return the request that `to_json` wrote.

        Raises:
            ValidationException: malformed; the text names the field.
        """
        check_version(event)
        silent_ms, nudges, newest = checked_silent_ms(event.get(SILENT)), event.get("nudge"), event.get("newest", LAST)
        if not silent_ms or not isinstance(nudges, bool) or not isinstance(newest, str):
            raise ValidationException(
                f"{SILENT}, nudge, newest: expected more than 0 milliseconds, true or false, and a place or nothing, "
                f"got {silent_ms!r}, {nudges!r} and {newest!r}"
            )
        return cls(silent_ms=silent_ms, nudges=nudges, newest=newest)


class Swept(NamedTuple):
    """Result of a sweep.

    Attributes:
        looked_at: number of running executions asked.
        silent: number of stalled executions, and of those that could not be asked.
        rest: request for the rest, if the time did not suffice for all.
    """

    looked_at: int
    silent: int
    rest: Sweep | None


def is_sweep(event: Json) -> bool:
    """Return True if `event` asks for a sweep."""
    return is_request(event) and event["control"] == SWEEP


def sweep(rt: Runtime, index: Index, asked: Sweep, ask: Ask) -> Swept:
    """Ask running executions for overdue commits until the time is used up, and log the stalled ones.

    Executions that started within `silent_ms` are left out, and those too old for any event to be delivered.

    Args:
        rt: a runtime of any version.
        index: the index of the workflow's executions.
        asked: the request.
        ask: answers a request about one execution of any version.

    Raises:
        NoIndex: the table has no index for lists.
        StoreError: the index could not be read.
    """
    now_ms, looked_at, silent = rt.clock.now_ms(), 0, 0
    life_ms = (rt.retention_s - DEADLINE_MARGIN_S) * 1000
    oldest = place(Execution("", max(0, now_ms - life_ms)))
    newest = min(asked.newest, place(Execution(LAST, max(0, now_ms - asked.silent_ms))))
    for running, rest in Listed(index, rt.workflow.name).running(oldest=oldest, newest=newest):
        for execution in running:
            # At least one execution is asked, so that each delivery makes progress and the chain of sweeps ends.
            if looked_at and _is_short(rt):
                return Swept(looked_at, silent, replace(asked, newest=place(execution)))
            looked_at += 1
            silent += _is_stalled(rt, execution, asked, ask)
        if rest is not None and _is_short(rt):
            return Swept(looked_at, silent, replace(asked, newest=rest))
    return Swept(looked_at, silent, None)


def _is_short(rt: Runtime) -> bool:
    return rt.remaining_ms() < RESERVE_MS


def _is_stalled(rt: Runtime, execution: Execution, asked: Sweep, ask: Ask) -> bool:
    """Return True, and log it, if `execution` is stalled or cannot be asked."""
    control = Control.NUDGE if asked.nudges else Control.WHY
    try:
        found = ask(request(control, execution.name, **{SILENT: asked.silent_ms}))
    except UnumError as error:  # one unreachable version must not hide stalled executions of others
        found = refusal(type(error).__name__, str(error))
    if "error" in found:
        if found["error"] == ExecutionDoesNotExist.__name__:  # expired between the list and this request
            return False
        rt.log("silent", execution=execution.name, error=found["error"], reason=found["message"])
        return True
    if not found["count"]:
        return False
    nudged = asked.nudges and any(each["waits_for"] not in HELD for each in found["missing"])
    rt.log("silent", execution=execution.name, nudged=nudged, count=found["count"], **found["missing"][0])
    return True
