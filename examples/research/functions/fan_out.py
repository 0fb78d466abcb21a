"""One digest for each text."""

import hashlib
from typing import Any


def digest(event: str, _context: Any) -> str:
    """Return the SHA-256 digest of a text."""
    return hashlib.sha256(event.encode()).hexdigest()


def summarize(event: list[str], _context: Any) -> dict[str, Any]:
    """Return the digests by the position of their texts."""
    return {"count": len(event), "digests": {str(position): each for position, each in enumerate(event)}}
