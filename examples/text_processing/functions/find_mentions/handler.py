"""Find mentioned users in a post."""

import re
import unicodedata
from typing import Any

MENTION = re.compile(r"(?<![\w@./])@(\w{1,30})(?!\w)")
"""At sign and user name, except inside a mail address (``a@b``) or a URL's path (``/@b``)."""


def handle(event: dict[str, Any], _context: Any) -> dict[str, list[str]]:
    """Return the mentioned users, each once, in the order of the text.

    Args:
        event: ``{"text": str}``; other fields are ignored.

    Returns:
        ``{"mentions": [user name, ...]}``, composed (NFC) and in lower case, as user names are compared.
    """
    return {"mentions": find_mentions(event["text"])}


def find_mentions(text: str) -> list[str]:
    """Find user names in `text`."""
    # One character may have several encodings; NFC gives equal names equal text.
    composed = unicodedata.normalize("NFC", text)
    return list(dict.fromkeys(name.lower() for name in MENTION.findall(composed)))
