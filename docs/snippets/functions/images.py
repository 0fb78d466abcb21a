"""The Task that programs call."""

from typing import Any


def resize(event: dict[str, Any], _context: Any) -> str:
    """Return the name of the resized image."""
    return f"{event['width']}/{event['image']}"
