"""Functions of two workflows that share a control plane."""

import os
from typing import Any


def echo(event: Any, _context: Any) -> Any:
    return event


def work(event: Any, context: Any) -> Any:
    """Die in each delivery of the first attempt, if asked to."""
    if event.get("dies") and context.unum.attempt == 0:
        os._exit(3)
    return {**event, "attempt": context.unum.attempt}
