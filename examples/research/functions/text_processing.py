"""A post of a social network: mentions and links are found side by side."""

import hashlib
import re
from typing import Any


def find_mentions(event: dict[str, str], _context: Any) -> list[str]:
    """Return the names behind ``@``."""
    return re.findall(r"(?<!\w)@(\w+)", event["text"])


def find_links(event: dict[str, str], _context: Any) -> dict[str, Any]:
    """Return the text with its links."""
    return {"text": event["text"], "links": re.findall(r"https?://[^\s,]*\w", event["text"])}


def shorten(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return the text with short links, and what they stand for."""
    short = {link: f"https://s.example/{hashlib.sha256(link.encode()).hexdigest()[:6]}" for link in event["links"]}
    text = event["text"]
    for link, replacement in short.items():
        text = text.replace(link, replacement)
    return {"text": text, "links": {replacement: link for link, replacement in short.items()}}


def compose(event: tuple[list[str], dict[str, Any]], _context: Any) -> dict[str, Any]:
    """Return the post."""
    mentions, shortened = event
    return {**shortened, "mentions": mentions}


def publish(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return the post with its id."""
    return {**event, "id": hashlib.sha256(event["text"].encode()).hexdigest()[:12]}
