"""Events of an execution, shaped as Step Functions' history has them.

Source: AWS Step Functions API Reference, "HistoryEvent" and the types that it names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from unum_runtime.client.descriptions import to_datetime
from unum_runtime.model.checkpoint import Failure, Success, to_text
from unum_runtime.model.ir import Json

HistoryEvent: TypeAlias = dict[str, Any]
"""An event as ``boto3.client("stepfunctions")`` returns it."""

Known: TypeAlias = Success | None
"""A value; None where nothing tells what it was."""

_DATA = ("input", "output", "parameters", "assignedVariables")
"""Members of events that hold an execution's data."""


@dataclass(eq=False, slots=True, kw_only=True)
class Event:
    """Something that happened.

    Attributes:
        type: as Step Functions names it.
        at_ms: when, in milliseconds since 1970.
        previous: the event that it follows from; None for the first.
        details: what there is to say; None for nothing.
        index: which branch of each fan-out around it, outermost first, from 0.
        retries: how many tries had failed before.
        approximate: whether `at_ms` is only the time of the commit before it.
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
        """Keep `event`; no event is earlier than the one that it follows from, even if clocks differ."""
        if event.previous is not None:
            event.at_ms = max(event.at_ms, event.previous.at_ms)
        self._events.append(event)
        return event

    def end(self, event: Event) -> None:
        """Keep `event`, which ended the execution: whatever branches committed later, it is the last."""
        self._last = event

    def shaped(self, *, until_ms: int) -> list[HistoryEvent]:
        """The events by time up to `until_ms`, numbered from 1; so a Wait that lasts has not been left."""
        events = [*self._by_time(until_ms), *([] if self._last is None else [self._last])]
        ids = {event: number for number, event in enumerate(events, start=1)}
        return [_shaped(event, ids) for event in events]

    def latest(self, *, until_ms: int) -> Event:
        """The last event by time up to `until_ms`, before which there is one."""
        return self._by_time(until_ms)[-1]

    def _by_time(self, until_ms: int) -> list[Event]:
        return sorted((event for event in self._events if event.at_ms <= until_ms), key=lambda event: event.at_ms)


def data(**values: Known) -> dict[str, Json]:
    """Members with JSON text, for those values that are known."""
    members: dict[str, Json] = {}
    for name, known in values.items():
        if known is not None:
            members[name] = to_text(known.value)
        if known is not None and name != "parameters":
            members[f"{name}Details"] = {"truncated": False}
    return members


def failure_data(failure: Failure | None) -> dict[str, Json]:
    """Members of a failure, as far as it names error and cause."""
    named = {} if failure is None else {"error": failure.error, "cause": failure.cause}
    return {name: text for name, text in named.items() if text is not None}


def assigned(before: Mapping[str, Json], after: Mapping[str, Json]) -> dict[str, Json]:
    """Members for the variables that are new or have changed."""
    changed = {name: to_text(value) for name, value in after.items() if _is_new(name, value, before)}
    if not changed:
        return {}
    return {"assignedVariables": changed, "assignedVariablesDetails": {"truncated": False}}


def without_data(event: HistoryEvent) -> HistoryEvent:
    """`event` without the data of the execution, as ``includeExecutionData=False`` asks for it."""
    hidden = {*_DATA, *(f"{name}Details" for name in _DATA)}
    return {
        name: {key: part for key, part in value.items() if key not in hidden} if isinstance(value, dict) else value
        for name, value in event.items()
    }


def _is_new(name: str, value: Json, before: Mapping[str, Json]) -> bool:
    """Whether `name` was assigned; names with a dollar are no variables, but travel beside them."""
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
    """The number of the event before; as in Step Functions, the first state has none either."""
    before = event.previous
    is_first = before is None or (before.type == "ExecutionStarted" and not event.type.startswith("Execution"))
    return 0 if before is None or is_first else ids[before]


def _member(event_type: str) -> str:
    """The member of an event that holds its details."""
    for suffix in ("StateEntered", "StateExited"):
        if event_type.endswith(suffix):
            return f"{suffix[0].lower()}{suffix[1:]}EventDetails"
    return f"{event_type[0].lower()}{event_type[1:]}EventDetails"


def _own(event: Event) -> HistoryEvent:
    """What Step Functions does not tell of an event: under one member of our own, if there is anything."""
    own: dict[str, Sequence[int] | int | bool] = {}
    if event.index:
        own["index"] = list(event.index)
    if event.retries:
        own["retries"] = event.retries
    if event.approximate:
        own["approximate"] = True
    return {"unum": own} if own else {}
