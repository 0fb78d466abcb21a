"""Functions that do nothing, so that only the workflow takes time."""

from typing import Any


def receive(event: Any, _context: Any) -> Any:
    """Return the event."""
    return event


def forward(event: Any, _context: Any) -> Any:
    """Return the event."""
    return event
