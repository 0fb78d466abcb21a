"""Regular expressions of JSONata, and the functions that work with them otherwise than the library does."""

import re
from collections.abc import Iterator
from typing import Any

from unum_runtime.asl.jsonata.library import Functions, JException, RegexFlags

_REGEX_PART = re.compile(
    r"\\k<(?P<again>\w+)>|\\(?P<escaped>.)|(?P<open>\[\^?)|(?P<close>\])|\(\?<(?P<group>[A-Za-z_]\w*)>", re.DOTALL
)
_ASCII_CLASSES = {"d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]"}


def regex(pattern: str, flags: RegexFlags) -> re.Pattern[str]:
    r"""A regular expression of JSONata, which has ``(?<name>...)``, and for which ``\d`` and ``\w`` are of ASCII."""
    within = False

    def translated(part: re.Match[str]) -> str:
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
    return re.compile(_REGEX_PART.sub(translated, pattern), options)


def replace(string: str | None, pattern: Any, replacement: Any, limit: float | None) -> str | None:
    """``$replace``: what was put in is not looked at again."""
    if string is None or pattern is None or replacement is None:
        return string
    if limit is not None and limit < 0:
        raise JException("D3011", -1, limit)
    if pattern == "":
        raise JException("D3010", -1, pattern)
    pieces, end = [], 0
    for count, found in enumerate(_found(string, pattern)):
        if limit is not None and count >= limit:
            break
        pieces += [string[end : found.start()], _replaced(found, replacement, is_regex=not isinstance(pattern, str))]
        end = found.end()
    return "".join((*pieces, string[end:]))


def _found(string: str, pattern: Any) -> Iterator[re.Match[str]]:
    return (re.compile(re.escape(pattern)) if isinstance(pattern, str) else pattern).finditer(string)


def _replaced(found: re.Match[str], replacement: Any, *, is_regex: bool) -> str:
    if isinstance(replacement, str):
        return _filled(replacement, found) if is_regex else replacement
    groups = ["" if group is None else group for group in found.groups()]
    shown = {"match": found[0], "start": found.start(), "end": found.end(), "groups": groups}
    result = Functions.func_apply(replacement, [shown])
    if not isinstance(result, str):
        raise JException("D3012", -1, result)
    return result


def _filled(template: str, found: re.Match[str]) -> str:
    """`template` with the groups that ``$1`` and its like stand for: of more digits than there are groups, fewer."""
    count = len(found.groups())

    def group(mark: re.Match[str]) -> str:
        digits = mark[1]
        if digits == "$":
            return "$"
        if digits.startswith("0"):
            return found[0] + digits[1:]
        width = max(1, len(str(count)))
        while width > 1 and int(digits[:width]) > count:
            width -= 1
        number = int(digits[:width])
        return ((found[number] or "") if number <= count else "") + digits[width:]

    return re.sub(r"\$(\$|\d+)", group, template, flags=re.ASCII)


def split(string: str | None, pattern: Any, limit: float | None) -> list[str] | None:
    """``$split``: the groups of a regular expression are no parts."""
    if string is None or isinstance(pattern, str) or pattern is None:
        parts: list[str] | None = Functions.split(string, pattern, limit)
        return parts
    if limit is not None and limit < 0:
        raise JException("D3020", -1, limit)
    pieces, end = [], 0
    for found in pattern.finditer(string):
        pieces.append(string[end : found.start()])
        end = found.end()
    return [*pieces, string[end:]][: None if limit is None else int(limit)]
