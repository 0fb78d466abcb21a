"""Regular expressions of JSONata, and corrected functions that use them."""

import re
from typing import Any

from unum_runtime.asl.jsonata.library import Functions, JException, RegexFlags

_REGEX_PART = re.compile(
    r"\\k<(?P<again>\w+)>|\\(?P<escaped>.)|(?P<open>\[\^?)|(?P<close>\])|\(\?<(?P<group>[A-Za-z_]\w*)>", re.DOTALL
)
_ASCII_CLASSES = {"d": "[0-9]", "D": "[^0-9]", "w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]"}


def regex(pattern: str, flags: RegexFlags) -> re.Pattern[str]:
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
    return re.compile(_REGEX_PART.sub(translate, pattern), options)


def replace(string: str | None, pattern: Any, replacement: Any, limit: float | None) -> str | None:
    """Implement ``$replace`` without a second search in replaced text, unlike the library."""
    if string is None or pattern is None or replacement is None:
        return string
    if limit is not None and limit < 0:
        raise JException("D3011", -1, limit)
    if pattern == "":
        raise JException("D3010", -1, pattern)
    pieces, end = [], 0
    is_regex = not isinstance(pattern, str)
    matches = (pattern if is_regex else re.compile(re.escape(pattern))).finditer(string)
    for count, found in enumerate(matches):
        if limit is not None and count >= limit:
            break
        pieces += [string[end : found.start()], _replacement(found, replacement, is_regex=is_regex)]
        end = found.end()
    return "".join((*pieces, string[end:]))


def _replacement(found: re.Match[str], replacement: Any, *, is_regex: bool) -> str:
    if isinstance(replacement, str):
        return _fill(replacement, found) if is_regex else replacement
    groups = ["" if group is None else group for group in found.groups()]
    shown = {"match": found[0], "start": found.start(), "end": found.end(), "groups": groups}
    result = Functions.func_apply(replacement, [shown])
    if not isinstance(result, str):
        raise JException("D3012", -1, result)
    return result


def _fill(template: str, found: re.Match[str]) -> str:
    """Return `template` with groups in place of ``$1`` and so on; a number beyond the groups uses fewer digits."""
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
    """Implement ``$split`` without the groups of a regular expression among the parts, unlike the library."""
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
