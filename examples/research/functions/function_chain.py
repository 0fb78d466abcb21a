"""A buffer on its way through a long chain; each function writes one more byte, which follows from the one before."""

from typing import Any


def allocate(event: dict[str, int], _context: Any) -> dict[str, Any]:
    """Return a buffer with its first byte."""
    return {"bytes": [event["first"]]}


def fill(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Write the next byte."""
    return {"bytes": [*event["bytes"], (event["bytes"][-1] * 5 + 3) % 256]}
