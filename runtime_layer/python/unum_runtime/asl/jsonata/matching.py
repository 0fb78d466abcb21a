"""Regular expressions of JSONata, and corrected functions that use them."""

import re
from collections.abc import Iterator
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from unum_runtime.asl.jsonata.evaluation_limits import MAX_CHARACTERS, VISIT, check_size, current
from unum_runtime.asl.jsonata.library import Functions, JException, RegexFlags, Utils

_REGEX_PART = re.compile(
    r"\\k<(?P<again>\w+)>|\\(?P<escaped>.)|(?P<open>\[\^?)|(?P<close>\])|\(\?<(?P<group>[A-Za-z_]\w*)>", re.DOTALL
)
_ASCII_CLASSES = {"d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]"}


_MOST_AT_ONCE = 1_024
"""Most matches that one search under the time limit collects."""


class Regex:
    """A regular expression of JSONata, as the library calls it; its searches use up the evaluation's time.

    Raises:
        re.error: the pattern is invalid.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self._compiled = re.compile(pattern, flags)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match."""
        return current().match(lambda: self._compiled.search(text))

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield all matches; one that is empty is the last."""
        wanted, start = 1, 0
        while chunk := current().match(partial(self._next, text, start, wanted)):
            yield from chunk
            start, found = chunk[-1].end(), chunk[-1]
            if not found[0] or start >= len(text):
                return
            # Each chunk sets the timer once, which takes longer than a match; a caller may want the first one alone.
            wanted = min(2 * wanted, _MOST_AT_ONCE)

    def _next(self, text: str, start: int, wanted: int) -> list[re.Match[str]]:
        found: list[re.Match[str]] = []
        while len(found) < wanted and (match := self._compiled.search(text, start)):
            found.append(match)
            start = match.end()
            if not match[0] or start >= len(text):
                break
        return found

    def sub(self, repl: Any, text: str, count: int = 0) -> str:
        """Replace matches; the library takes an object with this method for a regular expression."""
        return current().match(lambda: self._compiled.sub(repl, text, count))

    def split(self, text: str, maxsplit: int = 0) -> list[Any]:
        """Split at matches; as for `sub`."""
        return current().match(lambda: self._compiled.split(text, maxsplit))


def regex(pattern: str, flags: RegexFlags) -> Regex:
    r"""Compile a JSONata regular expression, with ``(?<name>...)`` for groups, and ASCII ``\d`` and ``\w``."""
    within = False  # inside of a character class

    def translate(part: re.Match[str]) -> str:
        nonlocal within
        if part["escaped"] in _ASCII_CLASSES:
            ascii_class = _ASCII_CLASSES[part["escaped"]]
            return ascii_class if not within else part[0] if "^" in ascii_class else ascii_class[1:-1]
        if part["open"] and within:
            return "\\" + part[0]
        if part["open"] or part["close"]:
            within = part["close"] is None
        elif not within and (part["group"] or part["again"]):
            return f"(?P<{part['group']}>" if part["group"] else f"(?P={part['again']})"
        return part[0]

    options = (re.IGNORECASE if flags.case_insensitive else 0) | (re.MULTILINE if flags.multiline else 0)
    return Regex(_REGEX_PART.sub(translate, pattern), options)


class _Match(NamedTuple):
    """Match from regular expressions or matcher functions."""

    text: str
    start: int
    groups: list[Any]

    @property
    def end(self) -> int:
        """Position after the match."""
        return self.start + len(self.text)


def _matches(matcher: Any, string: str) -> Iterator[_Match]:
    """Yield matches, from regular expressions or matcher functions.

    Such a function returns an object with ``match``, ``start``, ``end``, ``groups`` and ``next``, a function for the
    next match. Source: https://docs.jsonata.org, "Writing higher-order functions with Regex", and the reference
    implementation for the errors.

    Raises:
        JException: the function returns something else, or a later match is empty, so that no match would be the last.
    """
    if Functions.is_regex(matcher):
        for index, found in enumerate(matcher.finditer(string)):
            current().charge_match()
            if index and not found[0]:
                raise JException("D1004", -1)
            yield _Match(found[0], found.start(), list(found.groups()))
            if not found[0] and found.end() < len(string):  # a search from there would find the same
                raise JException("D1004", -1)
        return
    shown = Functions.func_apply(matcher, [string])
    while shown is not None:
        if not (isinstance(shown, dict) and {"start", "end", "groups", "next"} & shown.keys()):
            raise JException("T1010", -1)
        yield _Match(shown.get("match", ""), int(shown.get("start", 0)), shown.get("groups") or [])
        following = shown.get("next")
        shown = None if following is None else Functions.func_apply(following, [])


def _limited(matcher: Any, string: str, limit: float | None) -> Iterator[_Match]:
    """Yield at most `limit` matches, searching one match further, like JSONata 2.0.6, which may fail."""
    if limit == 0:
        return
    for index, found in enumerate(_matches(matcher, string)):
        if limit is not None and index >= limit:
            return
        yield found


def contains(string: str | None, token: Any) -> bool | None:
    """Implement ``$contains``; undefined for an undefined text or pattern."""
    if string is None or token is None:
        return None
    return token in string if isinstance(token, str) else any(True for _ in _matches(token, string))


def match(string: str | None, pattern: Any, limit: float | None) -> list[Any] | None:
    """Implement ``$match``."""
    if string is None or pattern is None:
        return None
    if limit is not None and limit < 0:
        raise JException("D3040", -1, limit)
    found: list[Any] = Utils.create_sequence()
    parts = _limited(pattern, string, limit)
    found.extend({"match": part.text, "index": part.start, "groups": part.groups} for part in parts)
    return found


def replace(string: str | None, pattern: Any, replacement: Any, limit: float | None) -> str | None:
    """Implement ``$replace`` without a second search in replaced text, unlike the library."""
    if string is None or pattern is None or replacement is None:
        return string
    if limit is not None and limit < 0:
        raise JException("D3011", -1, limit)
    if pattern == "":
        raise JException("D3010", -1, pattern)
    is_text = isinstance(pattern, str)
    if is_text and isinstance(replacement, str):
        return _replace_text(string, pattern, replacement, -1 if limit is None else ceil(limit))
    pieces: list[str] = []
    end = size = 0
    for found in _limited(Regex(re.escape(pattern), 0) if is_text else pattern, string, limit):
        pieces += [string[end : found.start], _replacement(found, replacement, is_text=is_text)]
        size += len(pieces[-1])
        check_size(size, MAX_CHARACTERS, "characters")
        end = found.end
    return "".join((*pieces, string[end:]))


def _replace_text(string: str, text: str, replacement: str, limit: int) -> str:
    count = string.count(text) if limit < 0 else min(limit, string.count(text))
    check_size(len(string) + count * (len(replacement) - len(text)), MAX_CHARACTERS, "characters")
    return string.replace(text, replacement, limit)


def _replacement(found: _Match, replacement: Any, *, is_text: bool) -> str:
    if isinstance(replacement, str):
        return replacement if is_text else _fill(replacement, found)
    groups = ["" if group is None else group for group in found.groups]
    shown = {"match": found.text, "start": found.start, "end": found.end, "groups": groups}
    result = Functions.func_apply(replacement, [shown])
    if not isinstance(result, str):
        raise JException("D3012", -1, result)
    return result


def _fill(template: str, found: "_Match") -> str:
    """Return `template` with groups in place of ``$1`` and so on; a number beyond the groups uses fewer digits."""
    count = len(found.groups)
    current().spend(VISIT * template.count("$") + len(template))

    def group(mark: re.Match[str]) -> str:
        digits = mark[1]
        if digits == "$":
            return "$"
        if digits.startswith("0"):
            return found.text + digits[1:]
        width = max(1, len(str(count)))
        while width > 1 and int(digits[:width]) > count:
            width -= 1
        number = int(digits[:width])
        return ((found.groups[number - 1] or "") if 0 < number <= count else "") + digits[width:]

    return re.sub(r"\$(\$|\d+)", group, template, flags=re.ASCII)


def split(string: str | None, pattern: Any, limit: float | None) -> list[str] | None:
    """Implement ``$split`` without the groups of a regular expression among the parts, unlike the library."""
    if string is None or isinstance(pattern, str) or pattern is None:
        parts: list[str] | None = Functions.split(string, pattern, limit)
        return parts
    if limit is not None and limit < 0:
        raise JException("D3020", -1, limit)
    pieces, end = [], 0
    if limit == 0:
        return []
    for found in _limited(pattern, string, limit):
        pieces.append(string[end : found.start])
        end = found.end
    return pieces if limit is not None and len(pieces) >= limit else [*pieces, string[end:]]
