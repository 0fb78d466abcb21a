"""Find URLs in a post, with positions."""

import re
from collections.abc import Iterator
from typing import Any

CANDIDATE = re.compile(r"\bhttps?://[^\s<>\"]+", re.IGNORECASE)
HOST = re.compile(r"https?://[^\s/?#]*\w", re.IGNORECASE)
TRAILING = ".,;:!?'*_~\u2026\u00bb\u201d\u2019"
"""Characters that end a sentence or a quotation rather than a URL."""
BRACKETS = {")": "(", "]": "[", "}": "{"}


def handle(event: dict[str, Any], _context: Any) -> dict[str, list[dict[str, Any]]]:
    """Return every occurrence of a URL, in the order of the text.

    Args:
        event: ``{"text": str}``; other fields are ignored.

    Returns:
        ``{"urls": [{"url": str, "start": int, "end": int}, ...]}``, positions in characters, `end` excluded.
    """
    return {"urls": list(find_urls(event["text"]))}


def find_urls(text: str) -> Iterator[dict[str, Any]]:
    """Yield URLs in `text`, without trailing punctuation."""
    for match in CANDIDATE.finditer(text):
        url = trim(match.group())
        if HOST.match(url):
            yield {"url": url, "start": match.start(), "end": match.start() + len(url)}


def trim(url: str) -> str:
    """Strip trailing punctuation from `url`, and closing brackets without an opening one."""
    while url and (url[-1] in TRAILING or _closes_nothing(url)):
        url = url[:-1]
    return url


def _closes_nothing(url: str) -> bool:
    opening = BRACKETS.get(url[-1])
    return opening is not None and url.count(url[-1]) > url.count(opening)
