"""Three functions for each seed; the join of their results exceeds what Step Functions passes on."""

import hashlib
from typing import Any

CHARACTERS = 40_000
"""Length of each text. Seven of them exceed the 262,144 bytes that a state of Step Functions may have as its input."""


def produce(event: int, _context: Any) -> str:
    """Return a long text that follows from a seed."""
    blocks = (hashlib.sha256(f"{event}/{block}".encode()).hexdigest() for block in range(CHARACTERS // 64))
    return "".join(blocks)


def scramble(event: str, _context: Any) -> str:
    """Put the characters in odd places before those in even places."""
    return event[1::2] + event[::2]


def seal(event: str, _context: Any) -> dict[str, str]:
    """Return the text with its digest."""
    return {"text": event, "digest": hashlib.sha256(event.encode()).hexdigest()}


def collect(event: list[dict[str, str]], _context: Any) -> dict[str, Any]:
    """Return the digest of all texts in a row, if each has arrived whole."""
    for each in event:
        if hashlib.sha256(each["text"].encode()).hexdigest() != each["digest"]:
            raise ValueError(f"expected a text with the digest {each['digest']}, got another text")
    texts = "".join(each["text"] for each in event)
    return {"characters": len(texts), "digest": hashlib.sha256(texts.encode()).hexdigest()}
