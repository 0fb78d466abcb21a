"""Create the post from all branch results."""

from typing import Any


def handle(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Return the published form of a post.

    Args:
        event: ``{"author": str, "text": str, "found": {"mentions": [str, ...], "urls": [...]}}``; each URL has ``url``,
            ``short``, and its position, ``start`` and ``end`` in characters.

    Returns:
        ``{"author", "text", "mentions", "urls"}``: the text with short URLs, and the long form of each short URL.
    """
    found = event["found"]
    return {
        "author": event["author"],
        "text": with_short_urls(event["text"], found["urls"]),
        "mentions": found["mentions"],
        "urls": {url["short"]: url["url"] for url in found["urls"]},
    }


def with_short_urls(text: str, urls: list[dict[str, Any]]) -> str:
    """Replace every URL in `text` by its short form; `urls` are in the order of the text."""
    for url in reversed(urls):  # from the end, so that the places before it stay right
        text = text[: url["start"]] + url["short"] + text[url["end"] :]
    return text
