"""Tasks of a workflow with its state in S3."""

from typing import Any


def split(event: Any, _context: Any) -> list[int]:
    """Return the numbers below the input."""
    return [*range(event["n"])]


def square(event: int, _context: Any) -> dict[str, Any]:
    """Return the square, and a text that is too large for an item, for one number in eight."""
    return {"square": event * event, "text": "x" * (500_000 if event % 8 == 7 else 10)}


def total(event: list[Any], _context: Any) -> int:
    """Return the sum of the squares."""
    return sum(each["square"] for each in event)
