"""Aggregate the readings of a room's sensors."""

from statistics import fmean
from typing import Any

PLAUSIBLE_CELSIUS = (-40.0, 85.0)
"""What the sensors can measure; anything else comes from a broken one."""


def handle(readings: list[dict[str, Any]], _context: Any) -> dict[str, Any]:
    """The mean temperature, and how many readings it rests on.

    Args:
        readings: ``[{"sensor": str, "celsius": number}, ...]``.

    Returns:
        ``{"accepted": int, "rejected": [sensor, ...], "mean": number or null}``, the mean in degrees Celsius; null
        where no reading was accepted.
    """
    accepted = [reading["celsius"] for reading in readings if is_plausible(reading["celsius"])]
    return {
        "accepted": len(accepted),
        "rejected": [reading["sensor"] for reading in readings if not is_plausible(reading["celsius"])],
        "mean": round(fmean(accepted), 2) if accepted else None,
    }


def is_plausible(celsius: float) -> bool:
    """Whether a sensor that works can have measured this."""
    lowest, highest = PLAUSIBLE_CELSIUS
    return lowest <= celsius <= highest
