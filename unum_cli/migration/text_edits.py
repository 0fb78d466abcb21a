"""Edits of a file's text by byte offsets, so that everything else stays byte for byte."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, unified_diff
from typing import NamedTuple

_LINE = re.compile(r"[^\n]*\n|[^\n]+")

_NO_NEWLINE = "\\ No newline at end of file"
"""What `diff` and `patch` write below a last line without a line break."""


class Edit(NamedTuple):
    """Replacement of a span.

    Attributes:
        start: first byte of the span, in UTF-8.
        end: first byte after it.
        text: what takes its place.
    """

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with all `edits`, whose spans do not overlap."""
    found, parts, at = text.encode(), [], 0
    for edit in sorted(edits):
        parts += [found[at : edit.start], edit.text.encode()]
        at = edit.end
    return b"".join([*parts, found[at:]]).decode()


def lines_of(text: str) -> list[str]:
    """Return the lines with their line breaks, as `diff` counts them: form feeds and the like end no line."""
    return _LINE.findall(text)


def diff_text(old: str, new: str, name: str) -> str:
    """Return the unified diff of two texts of the file `name`, for `patch -p1` and `git apply`."""
    label = name.lstrip("/")
    lines = unified_diff(lines_of(old), lines_of(new), f"a/{label}", f"b/{label}")
    return "".join(each if each.endswith("\n") else f"{each}\n{_NO_NEWLINE}\n" for each in lines)


def moved_line(old: str, new: str, number: int) -> int:
    """Return the number in `new` of line `number` of `old`, or of the line in its place."""
    at = number - 1
    matcher = SequenceMatcher(None, lines_of(old), lines_of(new), autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        if start <= at < end:
            return max(min(new_start + at - start, new_end - 1), new_start) + 1
    return number
