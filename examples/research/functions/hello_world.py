"""Two functions, one greeting."""

from typing import Any


def begin(_event: Any, _context: Any) -> str:
    """Return the first word."""
    return "Hello"


def complete(event: str, _context: Any) -> str:
    """Complete the greeting."""
    return f"{event}, world!"
