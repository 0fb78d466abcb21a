"""Envelopes, the events between functions of a workflow, and start requests, in a versioned wire format.

Sender and receiver may be of different releases, because a redrive continues on the functions that are deployed now. So
fields are only added, and each added field has a default in `from_json`.
"""

from collections.abc import Mapping
from typing import TypeAlias

from unum_runtime.cold_start.records import NamedTuple, dataclass, field
from unum_runtime.errors import NotOurEvent
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import REFERENCE, Success
from unum_runtime.model.delivery_record import FailedTry
from unum_runtime.model.naming import Execution, Frame, Name, Scope
from unum_runtime.model.states import Json

WIRE_VERSION = 1
MARK = "$unum"
"""Field that marks envelopes and start requests; its value is the wire version."""

EVENT_LIFE_S = 8 * 3600
"""Seconds between an event's sending time and its field `not_after`. Earlier readers refuse an event after that time;
this one takes the sending time from it, and refuses by the age of the execution alone."""

START = "$start"
"""Key among the routes for the workflow's own start alias; with a placeholder appended, for another workflow's."""


@dataclass(frozen=True)
class Value:
    """Input in the envelope itself.

    Attributes:
        given: the state's input before its data flow.
        entered_ms: entry into the state in milliseconds since 1970: the time of the commit before it.
        variables: variables that the state sees.
    """

    given: Success
    entered_ms: int
    variables: Mapping[str, Json] = field(default_factory=dict)

    @property
    def value(self) -> Json:
        """Input as JSON."""
        return self.given.value

    def own(self) -> "Value":
        """Return a deep copy, so that changes by user code stay in its own input."""
        variables = parse_json(to_text(dict(self.variables))) if self.variables else {}
        return Value(Success.from_text(self.given.text), self.entered_ms, variables)


@dataclass(frozen=True)
class Results:
    """Input by reference: results of all branches of a scope, joined by the fan-out state."""

    scope: Scope


@dataclass(frozen=True)
class Neighbours:
    """Input by reference: inputs of a neighbour join, from the previous branch and the own branch."""


@dataclass(frozen=True)
class Siblings:
    """Fan-out part without input or user code: start branches from the event's branch up to `stop`."""

    stop: int


@dataclass(frozen=True)
class Stored:
    """Input in objects, for events over Lambda's limit.

    Attributes:
        value: reference to the JSON text of `Value.value`.
        entered_ms: as in `Value`.
        variables: reference to the variables; None without variables.
    """

    value: str
    entered_ms: int
    variables: str | None = None


Source: TypeAlias = Value | Results | Neighbours | Siblings | Stored


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """Event for one invocation.

    Attributes:
        workflow: name of the workflow.
        digest: digest of the IR that planned the event; the receiver runs it by that definition.
        name: invocation name.
        state: Task to run; or a Wait that is over, or a fan-out to open again or to start in parts.
        input: input by value or by reference.
        sent_s: sending time of the event, or its due time if that is later, in seconds since 1970.
        routes: addresses of functions that close a cycle, by function; they travel because CloudFormation allows no
            function to depend on one that depends on it. In workflows with status events also the execution's redrives.
        retries: previous uses of each retrier of the state.
        job: handle of the Task's service job; None before the job begins.
        waiting_since_ms: time at which a delivery of the event first found a lease held, in milliseconds since 1970;
            None if none did.
        due_ms: due time of a delayed event in milliseconds since 1970; None for an event that was sent at once.
        begun_ms: begin of this try in milliseconds since 1970, in the stored event of a try that waits for a responder.
        tries: earlier failed tries, for the record of the delivery; nothing is planned from them.
    """

    workflow: str
    digest: str
    name: Name
    state: str
    input: Source
    sent_s: int
    routes: Mapping[str, str]
    retries: tuple[int, ...] = ()
    job: Json = None
    waiting_since_ms: int | None = None
    due_ms: int | None = None
    begun_ms: int | None = None
    tries: tuple[FailedTry, ...] = ()

    def with_input(self, source: Source) -> "Envelope":
        """Return a copy with another input."""
        return Envelope(**{**vars(self), "input": source})

    def to_bytes(self) -> bytes:
        """Encode the event."""
        if not isinstance(self.input, Value):
            return to_text(self.to_json()).encode()
        # The input was often committed before, so its text is known. It must be appended as text: encoding it again
        # would cost as much as the rest of the event, and more for large inputs.
        return f'{to_text(self._without_input())[:-1]},"input":{self.input.given.text}}}'.encode()

    def to_json(self) -> dict[str, Json]:
        """Return the event as JSON."""
        event = self._without_input()
        return event | {"input": self.input.value} if isinstance(self.input, Value) else event

    def _without_input(self) -> dict[str, Json]:
        """Return the event as JSON, without an input by value."""
        event = {
            # Names and frames are arrays, because their field names would double a small event in a deep fan-out, and
            # Lambda allows asynchronous events 1 MB.
            MARK: WIRE_VERSION,
            "workflow": self.workflow,
            "ir": self.digest,
            "execution": self.name.execution,
            "frames": [[f.state, f.iteration, f.generation, f.index, f.size] for f in self.name.frames],
            "step": self.name.step,
            "state": self.state,
            "not_after": self.sent_s + EVENT_LIFE_S,
            **_input_to_json(self.input),
        }
        if self.retries:
            event["retries"] = list(self.retries)
        if self.job is not None:
            event["job"] = self.job
        if self.waiting_since_ms is not None:
            event["waits"] = self.waiting_since_ms
        if self.due_ms is not None:
            event["due"] = self.due_ms
        if self.begun_ms is not None:
            event["begun"] = self.begun_ms
        if self.tries:
            event["tries"] = [[*each] for each in self.tries]
        return event | {"routes": dict(self.routes)} if self.routes else event

    @classmethod
    def from_json(cls, event: Mapping[str, Json]) -> "Envelope":
        """Parse the event that `to_json` wrote.

        Raises:
            NotOurEvent: the event has another wire version.
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
            sent_s=event["not_after"] - EVENT_LIFE_S,
            routes=event.get("routes", {}),
            retries=tuple(event.get("retries", ())),
            job=event.get("job"),
            waiting_since_ms=event.get("waits"),
            due_ms=event.get("due"),
            begun_ms=event.get("begun"),
            tries=tuple([FailedTry(*each) for each in event.get("tries", ())]),
        )


def other_version(event: Mapping[str, Json]) -> str | None:
    """Return a message about the wire version of `event`; None for this release's version."""
    found = event.get(MARK)
    return None if found == WIRE_VERSION else f"event.{MARK}: expected wire version {WIRE_VERSION}, got {found!r}"


def is_envelope(event: Json) -> bool:
    """Return True if `event` claims to be an envelope."""
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
    # The kinds of input exclude each other, so their fields identify them and no event carries a kind.
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
    """Client that starts an execution under a lease.

    Attributes:
        name: owner of the lease.
        sent_ms: time of its start request in milliseconds since 1970.
    """

    name: str
    sent_ms: int


def start_request(execution_name: str, writer: Writer | None = None) -> dict[str, Json]:
    """Return the event that starts an execution whose start record a client wrote.

    It contains names only: a forged one can at most trigger an existing execution.

    Args:
        execution_name: the execution.
        writer: the client; None without a lease.
    """
    request = {MARK: WIRE_VERSION, "start": execution_name}
    return request if writer is None else request | {"writer": list(writer)}


def register_request(execution_name: str, text: str) -> dict[str, Json]:
    """Return a Task's event for writing a start record, answered without starting anything.

    Args:
        execution_name: the execution.
        text: the execution's input as JSON text.
    """
    return {MARK: WIRE_VERSION, "register": execution_name, "input": text}


def describe_request(execution_name: str) -> dict[str, Json]:
    """Return the event that is answered with an execution's status."""
    return {MARK: WIRE_VERSION, "describe": execution_name}


def named_start(event: Json) -> str | None:
    """Return the execution name in a start request; None for any other event."""
    if isinstance(event, dict) and {MARK, "start"} <= event.keys() <= {MARK, "start", "writer"}:
        return event["start"] if isinstance(event["start"], str) else None
    return None


ATTRIBUTES = "attributes"
"""Optional field of starts: attributes of the execution."""


def start_event(execution_name: Json, value: Json, attributes: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return an event that starts an execution under a chosen name through the start alias.

    Event sources cannot write start records. Unlike Lambda's request id, the name is equal on every delivery, and the
    sender can compute it.

    Args:
        execution_name: text or number; the name of the execution is derived from it if it is no valid name.
        value: the execution's input.
        attributes: attributes of the execution; see `unum_runtime.model.start_facts`.
    """
    event = {MARK: WIRE_VERSION, "start": execution_name, "input": value}
    return event | {ATTRIBUTES: dict(attributes)} if attributes else event


def is_start_event(event: Json) -> bool:
    """Return True for an event of `start_event`."""
    return isinstance(event, dict) and event.keys() - {ATTRIBUTES} == {MARK, "start", "input"}


def is_answered(event: Json) -> bool:
    """Return True if `event` at the run alias asks for an answer, and the execution begins with another event."""
    return isinstance(event, dict) and MARK in event and (event.get("answer") is True or "upload" in event)


def start_writer(event: Mapping[str, Json]) -> Writer | None:
    """Return the writer in a start request; None without a valid writer."""
    match event.get("writer"):
        case [str() as name, int() as sent_ms] if name:
            return Writer(name, sent_ms)
    return None


def with_alias(address: str, alias: str) -> str:
    """Return the ARN of another alias of the function at the qualified ARN `address`."""
    return f"{address.rpartition(':')[0]}:{alias}"
