"""What one node sends the next: the only internal event, in a versioned wire format."""

import json
from collections.abc import Mapping
from typing import TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass, field
from unum_runtime.errors import NotOurEvent
from unum_runtime.model.checkpoint import REFERENCE, Success, to_text
from unum_runtime.model.ir import Json
from unum_runtime.model.naming import Execution, Frame, Name, Scope

WIRE_VERSION = 1
MARK = "$unum"
"""The field that tells an envelope, and a start request, from any other event; its value is the wire version."""

START = "$start"
"""Among the routes: the workflow's own start alias; with the placeholder of another workflow behind it, that one's."""


@dataclass(frozen=True)
class Value:
    """An input that travels in the envelope.

    Attributes:
        given: the state's input, before its own data flow.
        entered_ms: when the state was entered, in milliseconds since 1970: the commit before it.
        variables: those that the state sees.
    """

    given: Success
    entered_ms: int
    variables: Mapping[str, Json] = field(default_factory=dict)

    @property
    def value(self) -> Json:
        """The input as JSON."""
        return self.given.value

    def own(self) -> "Value":
        """The same, sharing nothing with anything: user code may change its input, and nobody else sees that."""
        variables = json.loads(to_text(dict(self.variables))) if self.variables else {}
        return Value(Success.from_text(self.given.text), self.entered_ms, variables)


@dataclass(frozen=True)
class Results:
    """An input that is read from the store: the results of all branches of a scope, joined by its fan-out state."""

    scope: Scope


@dataclass(frozen=True)
class Neighbours:
    """An input that is read from the store: what the branch before and the branch itself come to the Task with."""


@dataclass(frozen=True)
class Siblings:
    """No input, and no user code: the branches from the one that the event names up to `stop` have to begin."""

    stop: int


@dataclass(frozen=True)
class Stored:
    """An input that is read from objects, because it would make the event too large.

    Attributes:
        value: reference to what `Value.value` is, as JSON text.
        entered_ms: as in `Value`.
        variables: reference to the variables; None where there are none.
    """

    value: str
    entered_ms: int
    variables: str | None = None


Source: TypeAlias = Value | Results | Neighbours | Siblings | Stored


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """One event for one invocation.

    Attributes:
        workflow: name of the workflow.
        digest: of the IR that planned the event; the receiver must have the same.
        name: the invocation's unique name.
        state: the Task to run; or a Wait that is over, or a fan-out to be opened anew, or of which branches begin.
        input: by value or by reference.
        not_after_s: seconds since 1970; a delivery later than this is refused, for its traces may be gone.
        routes: addresses, by function, of the functions that close a cycle; they travel because no function may
            depend on one that depends on it.
        retries: how often each retrier of the state was used before.
        job: what a service that works on the Task has to be asked by; None before it has begun.
    """

    workflow: str
    digest: str
    name: Name
    state: str
    input: Source
    not_after_s: int
    routes: Mapping[str, str]
    retries: tuple[int, ...] = ()
    job: Json = None

    def with_input(self, source: Source) -> "Envelope":
        """The same event with another input."""
        return Envelope(**{**vars(self), "input": source})

    def to_bytes(self) -> bytes:
        """The event as the platform carries it."""
        if not isinstance(self.input, Value):
            return to_text(self.to_json()).encode()
        # The input was often committed before, so there is text of it.
        return f'{to_text(self._without_input())[:-1]},"input":{self.input.given.text}}}'.encode()

    def to_json(self) -> dict[str, Json]:
        """The event as data."""
        event = self._without_input()
        return event | {"input": self.input.value} if isinstance(self.input, Value) else event

    def _without_input(self) -> dict[str, Json]:
        """The event as data, but for a value."""
        event = {
            MARK: WIRE_VERSION,
            "workflow": self.workflow,
            "ir": self.digest,
            "execution": self.name.execution,
            "frames": [[f.state, f.iteration, f.generation, f.index, f.size] for f in self.name.frames],
            "step": self.name.step,
            "state": self.state,
            "not_after": self.not_after_s,
            **_input_to_json(self.input),
        }
        if self.retries:
            event["retries"] = list(self.retries)
        if self.job is not None:
            event["job"] = self.job
        return event | {"routes": dict(self.routes)} if self.routes else event

    @classmethod
    def from_json(cls, event: Mapping[str, Json]) -> "Envelope":
        """The envelope that `to_json` wrote.

        Raises:
            NotOurEvent: it is of another wire version.
        """
        fault = other_version(event)
        if fault is not None:
            raise NotOurEvent(fault)
        name = Name(Execution(*event["execution"]), tuple([Frame(*frame) for frame in event["frames"]]), event["step"])
        return cls(
            workflow=event["workflow"],
            digest=event["ir"],
            name=name,
            state=event["state"],
            input=_input_from_json(name, event),
            not_after_s=event["not_after"],
            routes=event.get("routes", {}),
            retries=tuple(event.get("retries", ())),
            job=event.get("job"),
        )


def other_version(event: Mapping[str, Json]) -> str | None:
    """What is wrong with the wire version of `event`; None for ours."""
    found = event.get(MARK)
    return None if found == WIRE_VERSION else f"event.{MARK}: expected wire version {WIRE_VERSION}, got {found!r}"


def is_envelope(event: Json) -> bool:
    """Whether `event` claims to be an internal event."""
    return isinstance(event, dict) and MARK in event and "workflow" in event


def _input_to_json(source: Source) -> dict[str, Json]:
    if isinstance(source, Neighbours):
        return {"meets": True}
    if isinstance(source, Siblings):
        return {"begins_until": source.stop}
    if isinstance(source, Stored):
        event = {f"input{REFERENCE}": source.value, "entered": source.entered_ms}
        return event | {f"variables{REFERENCE}": source.variables} if source.variables else event
    if isinstance(source, Value):
        event = {"entered": source.entered_ms}
        return event | {"variables": dict(source.variables)} if source.variables else event
    scope = source.scope
    return {"join": [scope.state, scope.iteration, scope.generation, scope.size]}


def _input_from_json(name: Name, event: Mapping[str, Json]) -> Source:
    if "meets" in event:
        return Neighbours()
    if "begins_until" in event:
        return Siblings(event["begins_until"])
    if "join" in event:
        return Results(Scope(name.execution, name.frames, *event["join"]))
    if f"input{REFERENCE}" in event:
        return Stored(event[f"input{REFERENCE}"], event["entered"], event.get(f"variables{REFERENCE}"))
    return Value(Success(event["input"]), event["entered"], event.get("variables", {}))


class Writer(NamedTuple):
    """Who starts an execution under a lease.

    Attributes:
        name: the owner of the lease.
        sent_ms: when its start request was sent, in milliseconds since 1970.
    """

    name: str
    sent_ms: int


def start_request(execution_name: str, writer: Writer | None = None) -> dict[str, Json]:
    """The event with which a client that wrote a start record begins the execution.

    It carries names alone: whoever imitates it can do no more than trigger an execution that exists.

    Args:
        execution_name: the execution.
        writer: who starts it; None where no lease is kept.
    """
    request = {MARK: WIRE_VERSION, "start": execution_name}
    return request if writer is None else request | {"writer": list(writer)}


def register_request(execution_name: str, text: str) -> dict[str, Json]:
    """The event with which a Task has a start record written for it; it is answered, and begins nothing.

    Args:
        execution_name: the execution.
        text: its input, as JSON text.
    """
    return {MARK: WIRE_VERSION, "register": execution_name, "input": text}


def describe_request(execution_name: str) -> dict[str, Json]:
    """The event that is answered with how an execution is."""
    return {MARK: WIRE_VERSION, "describe": execution_name}


def named_start(event: Json) -> str | None:
    """The execution that a start request names; None for any other event."""
    if isinstance(event, dict) and {MARK, "start"} <= event.keys() <= {MARK, "start", "writer"}:
        return event["start"] if isinstance(event["start"], str) else None
    return None


def start_event(execution_name: Json, value: Json) -> dict[str, Json]:
    """The event with which whoever may invoke the start alias begins an execution under a name of its own.

    Event sources have nothing to write start records with. The name does for them what Lambda's request id cannot: it
    is the same on every delivery, and everybody can compute it.

    Args:
        execution_name: text or number; where it is no valid name of an execution, one is made of it.
        value: the execution's input.
    """
    return {MARK: WIRE_VERSION, "start": execution_name, "input": value}


def is_start_event(event: Json) -> bool:
    """Whether `event` is one that `start_event` makes."""
    return isinstance(event, dict) and event.keys() == {MARK, "start", "input"}


def start_writer(event: Mapping[str, Json]) -> Writer | None:
    """The writer in a start request; None if it has none, or nothing that could be one."""
    match event.get("writer"):
        case [str() as name, int() as sent_ms] if name:
            return Writer(name, sent_ms)
    return None
