"""Sweep: find running executions that are stalled because an event was lost, and end those whose time is over.

Each running execution is asked for overdue commits, and optionally nudged, by the same requests that a person sends for
one execution. A sweep is therefore harmless if it is wrong, comes twice, or dies.

An execution that has ended is read once, see `sweep_memory`: a search that reads everything that has started within the
retention would cost more than the executions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from heapq import merge
from itertools import chain, groupby
from typing import TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass, replace
from unum_runtime.errors import ExecutionDoesNotExist, InconsistentHistory, UnumError
from unum_runtime.model.checkpoint import Failure, Item
from unum_runtime.model.envelope import MARK, WIRE_VERSION
from unum_runtime.model.list_index import FIRST, LAST, PLACE, Kind, execution_at, is_place, place
from unum_runtime.model.naming import MAX_NAME, Execution, Key
from unum_runtime.model.states import Json
from unum_runtime.protocol.control.deletions.deletion_marks import is_due
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
from unum_runtime.protocol.control.stop import stop
from unum_runtime.protocol.control.sweep_memory import Memory, recall, remember
from unum_runtime.protocol.history.list_entries import Listed
from unum_runtime.protocol.history.start_records import end_in, last_item, start_record
from unum_runtime.protocol.requests.answers import refusal
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Index

SWEEP = "sweep"
"""Value of a request's ``control`` field, beside those of `Control`."""

RESERVE_MS = 60_000
"""Time left in a delivery below which no further execution is asked: another version's handler takes time to answer."""

ABANDONED = "Unum.Abandoned"
"""Error of an execution without an end at its last moment."""

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, InconsistentHistory)
"""Errors while reading stored items that the runtime did not write."""

Ask: TypeAlias = Callable[[Mapping[str, Json]], Json]
"""A function that answers a control request."""

Retention: TypeAlias = Callable[[Execution], int]
"""A function that returns the retention of an execution's own version, in seconds."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A request for a sweep.

    Attributes:
        silent_ms: time by which a commit is overdue, in milliseconds; see `unum_runtime.protocol.history.pending`.
        nudges: True to resend pending events, False to log only.
        after: place after which the search begins, in the order of starts; an earlier delivery looked at those before.
        letters: URL of the failure queue whose dead letters are tried again; empty for none.
    """

    silent_ms: int
    nudges: bool
    after: str = FIRST
    letters: str = ""

    def to_json(self) -> dict[str, Json]:
        """Return the event of the request."""
        return {
            MARK: WIRE_VERSION,
            "control": SWEEP,
            SILENT: self.silent_ms,
            "nudge": self.nudges,
            "after": self.after,
            "letters": self.letters,
        }

    @classmethod
    def from_json(cls, event: Mapping[str, Json]) -> "Sweep":
        """Return the request that `to_json` wrote.

        Raises:
            ValidationException: malformed; the text names the field.
        """
        check_version(event)
        silent_ms, nudges = checked_silent_ms(event.get(SILENT)), event.get("nudge")
        after, letters = event.get("after", FIRST), event.get("letters", "")
        if not silent_ms or not isinstance(nudges, bool) or not isinstance(after, str) or not isinstance(letters, str):
            raise ValidationException(
                f"{SILENT}, nudge, after, letters: expected more than 0 milliseconds, true or false, a place or "
                f"nothing, and a URL or nothing, got {silent_ms!r}, {nudges!r}, {after!r} and {letters!r}"
            )
        return cls(silent_ms=silent_ms, nudges=nudges, after=after, letters=letters)


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


def sweep(rt: Runtime, index: Index, asked: Sweep, ask: Ask, retention_s: Retention) -> Swept:
    """Ask running executions for overdue commits until the time is used up, and log the stalled ones.

    Executions that started within `silent_ms` are left out. Those whose last moment has passed are abandoned.

    Args:
        rt: a runtime of any version.
        index: the index of the workflow's executions.
        asked: the request.
        ask: answers a request about one execution of any version.
        retention_s: returns the retention of an execution; raises UnumError if it is unknown.

    Raises:
        NoIndex: the table has no index for lists.
        StoreError: the index could not be read.
    """
    known, looked_to, is_done = recall(rt), asked.after, True
    running: list[str] = []
    silent = 0
    for each in _places(rt, Listed(index, rt.workflow.name, partial(_report, rt)), asked, known):
        # At least one execution is looked at, so that each delivery makes progress and the chain of sweeps ends.
        if looked_to != asked.after and rt.remaining_ms() < RESERVE_MS:
            is_done = False
            break
        looked_to, execution = each, execution_at(each)
        try:
            last = last_item(index, rt.workflow.name, execution)
            if end_in(last) is not None:
                if is_due(last, rt.clock.now_ms()):
                    _delete_again(rt, execution, ask)
                continue
            if is_over(rt, execution, retention_s):
                abandon(rt, execution)
            else:
                running.append(each)
                silent += _is_stalled(rt, execution, asked, ask)
        except MALFORMED as error:  # one execution must not keep the others from being found
            rt.log("malformed", execution=execution.name, reason=f"{type(error).__name__}: {error}")
    remember(rt, known.after(asked.after, looked_to, running))
    _report_oldest(rt, running)
    return Swept(len(running), silent, None if is_done else replace(asked, after=looked_to))


def _report(rt: Runtime, key: Key, item: Item) -> None:
    """Log an index entry that does not belong to the workflow's list."""
    rt.log("malformed", partition=key.partition, sort=key.sort, place=str(item.get(PLACE))[: MAX_NAME * 2])


def _report_oldest(rt: Runtime, running: Sequence[str]) -> None:
    """Log the age of the first of `running`, which is in the order of starts."""
    for each in running[:1]:
        execution = execution_at(each)
        rt.log("oldest running", execution=execution.name, age_ms=rt.clock.now_ms() - execution.started_ms)


def _places(rt: Runtime, listed: Listed, asked: Sweep, known: Memory) -> Iterator[str]:
    """Yield the places to look at in the order of starts: what ran, was redriven or deleted, and has started since."""
    newest = place(Execution(LAST, max(0, rt.clock.now_ms() - asked.silent_ms)))
    # Their ends may have been seen by an earlier sweep, and what was deleted has no entry of its start any more.
    ended = [*listed.oldest(Kind.REDRIVEN, newest=max(newest, known.horizon))]
    earlier = {*filter(is_place, known.running), *(each for each in ended if each <= known.horizon)}
    began = max(known.horizon, asked.after)
    started = listed.oldest(Kind.STARTED, later_than=began, newest=newest)
    later = merge(started, (each for each in ended if each > began))
    # A redriven execution has both entries.
    return chain((each for each in sorted(earlier) if each > asked.after), (each for each, _ in groupby(later)))


def is_over(rt: Runtime, execution: Execution, retention_s: Retention) -> bool:
    """Return True if no event of `execution` is delivered any more."""
    if rt.clock.now_ms() // 1000 <= rt.last_s(execution):
        return False
    # The version of the execution may keep its items for longer than this one.
    try:
        return rt.clock.now_ms() // 1000 > replace(rt, retention_s=retention_s(execution)).last_s(execution)
    except ExecutionDoesNotExist:  # its items have expired; a sweep that came later than they did must not keep it
        return True
    except UnumError:
        return False


def abandon(rt: Runtime, execution: Execution) -> None:
    """End `execution`, whose last moment has passed, unless it has ended or its start record has expired.

    Raises:
        StoreError: unknown whether it ended; the next sweep tries again.
    """
    rt.log("abandoned", execution=execution.name, started_ms=execution.started_ms)
    with suppress(ExecutionDoesNotExist):
        if start_record(rt.store, rt.workflow.name, execution.name).name.execution == execution:
            cause = "The execution had no end when the last moment had passed at which its events are delivered."
            stop(rt, execution, Failure(ABANDONED, cause))


def _delete_again(rt: Runtime, execution: Execution, ask: Ask) -> None:
    """Request the pending deletion of `execution` again; a refusal or an error is left to the next sweep."""
    try:
        found = ask(request(Control.DELETE, execution.name))
    except UnumError as error:  # one execution must not keep the others from being found
        found = refusal(type(error).__name__, str(error))
    reason = {"reason": found["message"]} if "error" in found else {}
    rt.log("deleted again", execution=execution.name, **reason)


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
