"""Functions that kill their own process, as the input says."""

import os
import signal
from pathlib import Path
from typing import Any

from unum_google.function import handle

__all__ = ["handle"]


def split(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return the input."""
    return event


def price(event: dict[str, Any], _context: Any) -> str:
    """Die, if that is asked for, and note each time."""
    with Path(event["notes"]).open("a", encoding="utf-8") as notes:
        notes.write("x")
    if event["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return "priced"


def mend(event: dict[str, Any], _context: Any) -> str:
    """Return what was caught."""
    return f"caught {event['failure']['Error']}"
