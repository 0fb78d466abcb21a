r"""Text of values, and templates of ``States.Format``: ``{}`` is a placeholder, ``\{`` and ``\}`` are braces."""

import re
from collections.abc import Sequence

from unum_runtime.json_text import to_ascii
from unum_runtime.model.states import Json

MAX_CHARACTERS = 10_000_000
"""Longest text of ``States.Format``; Step Functions allows 256 KiB."""

_RESERVED = re.compile(r"\\([\\'{}])")
_TOKEN = re.compile(r"\\([\\'{}])|(\{\})|([{}])")


def unescape(literal: str) -> str:
    r"""Return the value of a string literal; ``\'``, ``\{``, ``\}`` and ``\\`` are the characters themselves."""
    return _RESERVED.sub(r"\1", literal)


def to_text(value: Json) -> str:
    """Return the text of `value` in ``States.Format``; recorded from AWS: ``{Id=..., Name=...}`` for an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={to_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_text, value)) + "]"
    return to_ascii(value)


def count_placeholders(template: str) -> int:
    """Return the number of placeholders in `template`.

    Raises:
        ValueError: `template` has a single brace without backslash.
    """
    return len(_split(template)) - 1


def fill(template: str, values: Sequence[Json]) -> str:
    """Format `template`: one value for each ``{}``.

    Raises:
        ValueError: `template` has a single brace without backslash, or another number of placeholders than `values`.
    """
    first, *others = _split(template)
    if len(others) != len(values):
        raise ValueError(f"the template has {len(others)} {{}} for {len(values)} values")
    texts = [first]
    size = 0
    for value, piece in zip(values, others, strict=True):
        texts += [to_text(value), piece]
        size += len(texts[-2])
        if size > MAX_CHARACTERS:
            raise ValueError(f"expected a text of at most {MAX_CHARACTERS} characters, got more")
    return "".join(texts)


def _split(template: str) -> list[str]:
    """Return the texts between the placeholders of `template`."""
    pieces, end = [""], 0
    for token in _TOKEN.finditer(template):
        escaped, placeholder, brace = token.groups()
        if brace:
            raise ValueError(f"character {token.start()} of the template: expected {{}} or \\{brace}, got {brace}")
        pieces[-1] += template[end : token.start()] + (escaped or "")
        if placeholder:
            pieces.append("")
        end = token.end()
    pieces[-1] += template[end:]
    return pieces
