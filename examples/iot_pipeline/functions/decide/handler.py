"""Decide on heating or cooling a room."""

from typing import Any

FULL_POWER_AT_K = 5.0
"""Distance from comfort, in kelvin, that needs full power."""


def handle(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return a command to the room's air conditioner.

    Args:
        event: ``{"room": str, "comfort": {"from": number, "to": number}, "aggregate": {"mean": number}}``, in degrees
            Celsius, with a mean outside the comfortable range.

    Returns:
        ``{"room", "mode": "heat" or "cool", "power": percent}``.
    """
    mean, comfort = event["aggregate"]["mean"], event["comfort"]
    mode, distance = ("heat", comfort["from"] - mean) if mean < comfort["from"] else ("cool", mean - comfort["to"])
    return {"room": event["room"], "mode": mode, "power": power(distance)}


def power(distance: float) -> int:
    """Return the power in percent at `distance` kelvin from comfort."""
    return min(100, round(100 * distance / FULL_POWER_AT_K))
