"""Facts of a start that only readers use: attributes to find the execution by.

They are text of an optional field in the start record. Nothing is planned from them, and text that is malformed counts
as absent: a reader that shows an execution must not fail because of a label.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from unum_runtime.json_text import parse_json, to_ascii, to_sorted
from unum_runtime.model.states import Json

MOST_ATTRIBUTES, MOST_VALUE, MOST_BYTES = 10, 100, 500
"""Bounds of attributes: their number, characters of a value, and bytes of all as JSON text, half a write unit."""

RULE = (
    f"at most {MOST_ATTRIBUTES} texts of 1 to {MOST_VALUE} characters, named by 1 to 40 characters from "
    f"A-Z a-z 0-9 . _ -, and {MOST_BYTES} bytes of JSON in all"
)

_NAME = re.compile(r"[A-Za-z0-9._-]{1,40}")


def to_text(attributes: Mapping[str, str]) -> str:
    """Return the text for a start record; empty without attributes."""
    return _compact({"attributes": dict(attributes)}) if attributes else ""


def attributes_in(text: object) -> Mapping[str, str]:
    """Return the attributes in what `to_text` returned; none in malformed text."""
    try:
        table = parse_json(str(text)) if text else {}
    except (ValueError, RecursionError):
        return {}
    found = table.get("attributes") if isinstance(table, dict) else None
    return found if are_attributes(found) else {}


def are_attributes(found: object) -> TypeGuard[dict[str, str]]:
    """Return True if `found` are attributes within their bounds."""
    if not isinstance(found, dict) or len(found) > MOST_ATTRIBUTES:
        return False
    return (
        all(_is_attribute(name, text) for name, text in found.items()) and len(_compact(found).encode()) <= MOST_BYTES
    )


def checked_attributes(attributes: object) -> dict[str, str]:
    """Return `attributes`, numbers and truth values as text.

    Raises:
        ValueError: no attributes within their bounds.
    """
    found: object = (
        {name: as_text(value) for name, value in attributes.items()} if isinstance(attributes, Mapping) else attributes
    )
    if are_attributes(found):
        return found
    raise ValueError(f"attributes: expected {RULE}, got {attributes!r}")


def merged(chosen: Mapping[str, str], found: Mapping[str, Json]) -> dict[str, str]:
    """Return `chosen` with the values in `found` that are attributes, as far as there is room; chosen ones win."""
    together = dict(chosen)
    for name, text in _texts(found):
        if name not in together and are_attributes({**together, name: text}):
            together[name] = text
    return together


def as_text(value: Json) -> Json:
    """Return a number or truth value as JSON text, and every other value, also a number that is no JSON, as it is."""
    try:
        return to_ascii(value) if isinstance(value, bool | int | float) else value
    except ValueError:
        return value


def is_attribute_name(name: object) -> bool:
    """Return True if `name` may name an attribute."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _is_attribute(name: object, text: object) -> bool:
    return is_attribute_name(name) and isinstance(text, str) and 0 < len(text) <= MOST_VALUE and text.isprintable()


def _texts(found: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, value in found.items():
        text = as_text(value)
        if isinstance(text, str) and _is_attribute(name, text):
            yield name, text


def _compact(table: Json) -> str:
    return to_sorted(table)
