from typing import Any


def note(event: Any, _context: Any) -> Any:
    return {"kinds": sorted(event)}
