"""One of two words, then the rest of the greeting."""

from typing import Any


def welcome(_event: Any, _context: Any) -> str:
    """Return the word for those who come."""
    return "Hello"


def part(_event: Any, _context: Any) -> str:
    """Return the word for those who go."""
    return "Bye"


def address(event: str, _context: Any) -> str:
    """Complete the greeting."""
    return f"{event}, world!"
