"""Meter readings of a building: one value in watts for each equal interval."""

from datetime import datetime
from typing import Any

LIMIT_W = 1000
"""Mean power above which the air conditioning is turned down."""


def aggregate(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return period, mean power and energy of the readings."""
    times = [datetime.fromisoformat(reading["at"]) for reading in event["readings"]]
    watts = [reading["watts"] for reading in event["readings"]]
    hours = (times[1] - times[0]).total_seconds() / 3600 * len(times)
    mean = sum(watts) / len(watts)
    return {"from": event["readings"][0]["at"], "hours": hours, "mean_w": mean, "wh": mean * hours}


def decide(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return the command for the air conditioning."""
    return {"command": "reduce" if event["mean_w"] > LIMIT_W else "keep", "because": event}
