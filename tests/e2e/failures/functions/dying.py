"""Functions that die in ways that nobody in their process can catch."""

import os
import time
from typing import Any


def sleep(_event: Any, _context: Any) -> None:
    time.sleep(30)


def hoard(_event: Any, _context: Any) -> None:
    memory = [bytearray(b"x" * 10_000_000) for _ in range(100)]
    time.sleep(len(memory))


def exit_(_event: Any, _context: Any) -> None:
    os._exit(3)


def recover(event: Any, context: Any) -> Any:
    """Dies in the first try, in all of its deliveries."""
    if context.unum.attempt == 0:
        os._exit(3)
    print(f"attempt {context.unum.attempt} of {event['case']}", flush=True)  # noqa: T201 - a line of the log
    return {**event, "attempt": context.unum.attempt}


def branch(event: Any, _context: Any) -> Any:
    if event == "dies":
        os._exit(3)
    return event


def tell(event: Any, _context: Any) -> Any:
    print("told of", event["Error"], flush=True)  # noqa: T201 - a line of the log
    return event
