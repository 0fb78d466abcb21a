"""Events in the shape of a Step Functions history.

Source: AWS Step Functions API Reference, "HistoryEvent" and its types.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from unum_client.deliveries import to_datetime
from unum_runtime.json_text import to_text
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.states import Json

HistoryEvent: TypeAlias = dict[str, Any]
"""An event as ``boto3.client("stepfunctions")`` returns it."""

Known: TypeAlias = Success | None
"""A value; None where nothing tells what it was."""

_DATA = ("input", "output", "parameters", "assignedVariables")
"""Members of events that hold an execution's data."""


@dataclass(eq=False, slots=True, kw_only=True)
class Event:
    """An event of an execution.

    Attributes:
        type: type in Step Functions.
        at_ms: time, in milliseconds since 1970.
        previous: cause of the event; None for the first.
        details: its members; None for none.
        index: branch index of each fan-out around it, outermost first, from 0.
        retries: number of failed attempts before.
        approximate: True if `at_ms` is only the time of the commit before it.
    """

    type: str
    at_ms: int
    previous: "Event | None" = field(repr=False)
    details: Mapping[str, Json] | None = None
    index: tuple[int, ...] = ()
    retries: int = 0
    approximate: bool = False


@dataclass
class Journal:
    """All events of one execution."""

    _events: list[Event] = field(default_factory=list)
    _last: Event | None = None

    def add(self, event: Event) -> Event:
        """Keep `event`, no earlier than its cause, even if clocks differ."""
        if event.previous is not None:
            # Sandboxes have their own clocks; an effect before its cause would break the order of the history.
            event.at_ms = max(event.at_ms, event.previous.at_ms)
        self._events.append(event)
        return event

    def end(self, event: Event) -> None:
        """Keep `event` as the execution's end: last in order, whatever branches commit later."""
        self._last = event

    def shaped(self, *, until_ms: int) -> list[HistoryEvent]:
        """Return events up to `until_ms` by time, numbered from 1; a lasting Wait has no exit then."""
        events = [*self._by_time(until_ms), *([] if self._last is None else [self._last])]
        ids = {event: number for number, event in enumerate(events, start=1)}
        return [_shaped(event, ids) for event in events]

    def latest(self, *, until_ms: int) -> Event:
        """Return the last event up to `until_ms`; at least one exists."""
        return self._by_time(until_ms)[-1]

    def _by_time(self, until_ms: int) -> list[Event]:
        return sorted((event for event in self._events if event.at_ms <= until_ms), key=lambda event: event.at_ms)


def data(**values: Known) -> dict[str, Json]:
    """Return members with JSON text for known values."""
    members: dict[str, Json] = {}
    for name, known in values.items():
        if known is not None:
            members[name] = to_text(known.value)
        if known is not None and name != "parameters":
            members[f"{name}Details"] = {"truncated": False}
    return members


def failure_data(failure: Failure | None) -> dict[str, Json]:
    """Return members for error and cause, unless None."""
    named = {} if failure is None else {"error": failure.error, "cause": failure.cause}
    return {name: text for name, text in named.items() if text is not None}


def assigned(before: Mapping[str, Json], after: Mapping[str, Json]) -> dict[str, Json]:
    """Return members for new or changed variables."""
    changed = {name: to_text(value) for name, value in after.items() if _is_new(name, value, before)}
    if not changed:
        return {}
    return {"assignedVariables": changed, "assignedVariablesDetails": {"truncated": False}}


def without_data(event: HistoryEvent) -> HistoryEvent:
    """Return `event` without execution data, for ``includeExecutionData=False``."""
    hidden = {*_DATA, *(f"{name}Details" for name in _DATA)}
    return {
        name: {key: part for key, part in value.items() if key not in hidden} if isinstance(value, dict) else value
        for name, value in event.items()
    }


def _is_new(name: str, value: Json, before: Mapping[str, Json]) -> bool:
    """Return True if `name` was assigned; names with a dollar are internal values, no variables."""
    return not name.startswith("$") and (name not in before or to_text(before[name]) != to_text(value))


def _shaped(event: Event, ids: Mapping[Event, int]) -> HistoryEvent:
    shaped: HistoryEvent = {
        "timestamp": to_datetime(event.at_ms),
        "type": event.type,
        "id": ids[event],
        "previousEventId": _previous_id(event, ids),
    }
    if event.details is not None:
        shaped[_member(event.type)] = dict(event.details)
    return shaped | _own(event)


def _previous_id(event: Event, ids: Mapping[Event, int]) -> int:
    """Return the number of the event before; 0 for the first state, as in Step Functions."""
    before = event.previous
    # Step Functions gives the first state's event no cause, although ExecutionStarted comes before it.
    is_first = before is None or (before.type == "ExecutionStarted" and not event.type.startswith("Execution"))
    return 0 if before is None or is_first else ids[before]


def _member(event_type: str) -> str:
    """Return the name of the member with an event's details."""
    for suffix in ("StateEntered", "StateExited"):
        if event_type.endswith(suffix):
            return f"{suffix[0].lower()}{suffix[1:]}EventDetails"
    return f"{event_type[0].lower()}{event_type[1:]}EventDetails"


def _own(event: Event) -> HistoryEvent:
    """Return a member ``unum`` with facts that Step Functions lacks, unless empty."""
    own: dict[str, Sequence[int] | int | bool] = {}
    if event.index:
        own["index"] = list(event.index)
    if event.retries:
        own["retries"] = event.retries
    if event.approximate:
        own["approximate"] = True
    return {"unum": own} if own else {}
