"""Rights of a delivery, by its event."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from tests.history.places import Place, of_envelope


class Role(StrEnum):
    """Kinds of deliveries."""

    INVOCATION = "invocation"
    FAILURE = "failure"
    START = "start"
    CONTROL = "control"
    FORWARDER = "forwarder"
    ANSWER = "answer"
    OTHER = "other"


@dataclass
class Delivery:
    """One attempt to run a function, with all that it may commit and send.

    Attributes:
        begun: number of the line on which it began.
        event: the event that it was given.
        role: what the event makes it.
        places: invocations that it acts for: that of its event, and each that it has committed or found since.
        names: executions that a request names; ``*`` for all.
        control: kind of the operator's request; empty for none.
        request: for a failure, id of the event that Lambda gave up.
        messages: for a forwarder, the messages that it was given.
        sent: number of events and messages that it has sent.
    """

    begun: int
    event: Any
    role: Role
    places: set[Place] = field(default_factory=set)
    names: frozenset[str] = frozenset()
    control: str = ""
    request: str = ""
    messages: frozenset[str] = frozenset()
    sent: int = 0

    def may(self, place: Place) -> bool:
        """Return True if this delivery may commit, send or run `place`: its own, or what follows from one of these."""
        if not self.names.isdisjoint((place.name, "*")):
            # A start runs the first Task itself, or finds that another delivery of it has.
            top = Place(place.execution, (), 0)
            return self.role is Role.CONTROL or _follows(place, {*self.places, top, top._replace(step=1)})
        return _follows(place, self.places)


def _follows(place: Place, places: set[Place]) -> bool:
    around = {*places, *(join for own in places for join in own.joins)}
    # The next branch of a lane, and a part of the branches of a fan-out, begin beside an own one.
    is_beside = place.step == 0 and any(place.shares_a_fan_out(own) for own in places)
    return place in around or place.before in around or is_beside


def delivery_of(line: Mapping[str, Any], pending: Mapping[str, Place]) -> Delivery:
    """Return the delivery that begins with `line`.

    Args:
        line: a line of the kind ``begun``.
        pending: the invocations that wait for an answer, by the digest with which their tokens begin.
    """
    event, number = line["event"], line["line"]
    place = of_envelope(event)
    if place is not None:
        return Delivery(number, event, Role.INVOCATION, {place})
    given = Delivery(number, event, Role.OTHER)
    match event:
        case {"requestContext": {"requestId": request}, "requestPayload": inner}:
            failed = delivery_of({**line, "event": inner}, pending)
            role = Role.FAILURE if failed.role is Role.INVOCATION else failed.role
            given = replace(failed, event=event, role=role, request=request)
        case {"Records": [*records]}:
            messages = frozenset(str(record.get("messageId")) for record in records)
            given = replace(given, role=Role.FORWARDER, messages=messages)
        case {"$unum": _, "control": control, **rest}:
            names = _texts((rest.get("execution", "*"), rest.get("name")))
            given = replace(given, role=Role.CONTROL, names=names, control=control)
        case {"$unum": _, "take_over": {"frames": _} as named}:
            place = of_envelope({"$unum": 1, **named})
            given = replace(given, role=Role.FAILURE, places={place} if place else set())
        case {"$unum": _, "token": str(token)}:
            places = {found for digest, found in pending.items() if token.startswith(digest)}
            given = replace(given, role=Role.ANSWER, places=places)
        case {"$unum": _, **rest}:
            given = replace(given, role=Role.START, names=_texts(rest.values()))
    return given


def _texts(values: Iterable[Any]) -> frozenset[str]:
    return frozenset(value for value in values if isinstance(value, str))
