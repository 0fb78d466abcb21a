"""Looking through all executions that run for those that stand still because something was lost.

Each of them is asked what it waits for that should have come long ago, and maybe sent that once more, just as if
somebody had asked so for this one execution. So it is harmless when it is wrong, comes twice, or dies.
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
"""What is asked for, in the place of a `Control`."""

RESERVE_MS = 60_000
"""What is left of a delivery when no further execution is looked at: asking another version's handler takes time."""

Ask: TypeAlias = Callable[[Mapping[str, Json]], Json]
"""Answers the request that it is given."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What is asked for.

    Attributes:
        silent_ms: how long ago something should have happened, in milliseconds; see
            `unum_runtime.protocol.history.overdue`.
        nudges: whether that is sent once more, or only told.
        newest: the place from which on executions are looked at, newest first.
    """

    silent_ms: int
    nudges: bool
    newest: str = LAST

    def to_json(self) -> dict[str, Json]:
        """The event with which somebody asks for it."""
        return {
            MARK: WIRE_VERSION,
            "control": SWEEP,
            SILENT: self.silent_ms,
            "nudge": self.nudges,
            "newest": self.newest,
        }

    @classmethod
    def from_json(cls, event: Mapping[str, Json]) -> "Sweep":
        """What `to_json` made.

        Raises:
            ValidationException: it did not make this; says what is wrong.
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
    """What was found.

    Attributes:
        looked_at: at how many executions that run was looked.
        silent: how many of them stand still, or could not be asked.
        rest: what is left to do, where the time did not do for all.
    """

    looked_at: int
    silent: int
    rest: Sweep | None


def is_sweep(event: Json) -> bool:
    """Whether `event` asks for a sweep."""
    return is_request(event) and event["control"] == SWEEP


def sweep(rt: Runtime, index: Index, asked: Sweep, ask: Ask) -> Swept:
    """Look at the executions that run, as many as the time does for, and log which of them stand still.

    Not at those that are so old that no event of theirs is delivered any more, and not at those that have begun just
    now.

    Args:
        rt: a runtime of any version.
        index: lists the workflow's executions.
        asked: what is asked for.
        ask: for the executions one by one, of whatever version.

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
            if looked_at and _is_short(rt):
                return Swept(looked_at, silent, replace(asked, newest=place(execution)))
            looked_at += 1
            silent += _stands_still(rt, execution, asked, ask)
        if rest is not None and _is_short(rt):
            return Swept(looked_at, silent, replace(asked, newest=rest))
    return Swept(looked_at, silent, None)


def _is_short(rt: Runtime) -> bool:
    return rt.remaining_ms() < RESERVE_MS


def _stands_still(rt: Runtime, execution: Execution, asked: Sweep, ask: Ask) -> bool:
    """Whether `execution` does, as far as can be told; then it is logged, and counted."""
    control = Control.NUDGE if asked.nudges else Control.WHY
    try:
        found = ask(request(control, execution.name, **{SILENT: asked.silent_ms}))
    except UnumError as error:  # one that cannot be asked must not keep the others from being found
        found = refusal(type(error).__name__, str(error))
    if "error" in found:
        if found["error"] == ExecutionDoesNotExist.__name__:  # any more
            return False
        rt.log("silent", execution=execution.name, error=found["error"], reason=found["message"])
        return True
    if not found["count"]:
        return False
    nudged = asked.nudges and any(each["waits_for"] not in HELD for each in found["missing"])
    rt.log("silent", execution=execution.name, nudged=nudged, count=found["count"], **found["missing"][0])
    return True
