"""Aggregate sensor readings of a room."""

from statistics import fmean
from typing import Any

PLAUSIBLE_CELSIUS = (-40.0, 85.0)
"""Range of the sensors; other values come from broken ones."""


def handle(readings: list[dict[str, Any]], _context: Any) -> dict[str, Any]:
    """Return mean temperature and number of accepted readings.

    Args:
        readings: ``[{"sensor": str, "celsius": number}, ...]``.

    Returns:
        ``{"accepted": int, "rejected": [sensor, ...], "mean": number or null}``, the mean in degrees Celsius; null
        without an accepted reading.
    """
    accepted = [reading["celsius"] for reading in readings if is_plausible(reading["celsius"])]
    return {
        "accepted": len(accepted),
        "rejected": [reading["sensor"] for reading in readings if not is_plausible(reading["celsius"])],
        "mean": round(fmean(accepted), 2) if accepted else None,
    }


def is_plausible(celsius: float) -> bool:
    """Return True if a working sensor can measure `celsius`."""
    lowest, highest = PLAUSIBLE_CELSIUS
    return lowest <= celsius <= highest
