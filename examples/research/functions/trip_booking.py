"""A trip as a saga: for each reservation there is a step that cancels it.

The names of reservations follow from the trip, so a step that runs twice changes nothing.
"""

from typing import Any

Trip = dict[str, Any]
"""Fields: `trip`, its name; `sold_out`, kinds; `reserved`, names by kind; `journal`, steps in order."""


class SoldOut(Exception):
    """Nothing of a kind is left."""


def reserve_hotel(event: Trip, _context: Any) -> Trip:
    """Reserve a room."""
    return _reserve(event, "hotel")


def reserve_car(event: Trip, _context: Any) -> Trip:
    """Reserve a car."""
    return _reserve(event, "car")


def reserve_flight(event: Trip, _context: Any) -> Trip:
    """Reserve seats."""
    return _reserve(event, "flight")


def confirm(event: Trip, _context: Any) -> Trip:
    """Confirm all reservations."""
    return {**_reserve(event, "confirmation"), "booked": True}


def cancel_hotel(event: Trip, _context: Any) -> Trip:
    """Cancel the room."""
    return _cancel(event, "hotel")


def cancel_car(event: Trip, _context: Any) -> Trip:
    """Cancel the car."""
    return _cancel(event, "car")


def cancel_flight(event: Trip, _context: Any) -> Trip:
    """Cancel the seats."""
    return _cancel(event, "flight")


def _reserve(event: Trip, kind: str) -> Trip:
    if kind in event["sold_out"]:
        raise SoldOut(f"no {kind} for {event['trip']}")
    reserved = {**event["reserved"], kind: f"{event['trip']}/{kind}"}
    return {**event, "reserved": reserved, "journal": [*event["journal"], f"reserve {kind}"]}


def _cancel(event: Trip, kind: str) -> Trip:
    reserved = {other: name for other, name in event["reserved"].items() if other != kind}
    return {**event, "booked": False, "reserved": reserved, "journal": [*event["journal"], f"cancel {kind}"]}
