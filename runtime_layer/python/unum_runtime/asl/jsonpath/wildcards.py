r"""Patterns of ``StringMatches``: ``*`` matches any text, ``\*`` and ``\\`` match the characters themselves."""

import re
from collections.abc import Callable, Sequence

_TOKEN = re.compile(r"\\(?P<escaped>[*\\])|(?P<open>\\)|(?P<star>\*)|(?P<text>[^*\\]+)", re.DOTALL)


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that matches texts with `pattern` in time proportional to their length.

    Raises:
        ValueError: a backslash without ``*`` or another backslash after it.
    """
    first, *middle = _pieces(pattern)
    if not middle:
        return lambda text: text == first
    last = middle.pop()
    return lambda text: _matches(text, first, middle, last)


def _pieces(pattern: str) -> list[str]:
    pieces = [""]
    for token in _TOKEN.finditer(pattern):
        if token["open"]:
            raise ValueError(f"character {token.start()}: expected * or another backslash after a backslash")
        if token["star"]:
            pieces.append("")
        else:
            pieces[-1] += token["escaped"] or token["text"]
    return pieces


def _matches(text: str, first: str, middle: Sequence[str], last: str) -> bool:
    end = len(text) - len(last)
    if not (text.startswith(first) and text.endswith(last)) or end < len(first):
        return False
    position = len(first)
    for piece in middle:  # the leftmost match of each piece leaves most text for the next, so no search goes back
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True
