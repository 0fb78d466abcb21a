from typing import Any


def one(_event: Any, _context: Any) -> str:
    return "one"


def two(_event: Any, _context: Any) -> str:
    return "two"
