"""A chain whose length is part of its input; each hop seals the seal before it, so none can be lost or repeated."""

import hashlib
from typing import Any


def hop(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Count the hop, and seal it."""
    sealed = f"{event['seal']}:{event['hops']}".encode()
    return {**event, "hops": event["hops"] + 1, "seal": hashlib.sha256(sealed).hexdigest()}
