from typing import Any


def double(event: Any, _context: Any) -> Any:
    return {"doubled": event["n"] * 2}
