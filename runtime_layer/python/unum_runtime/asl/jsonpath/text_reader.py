"""Reader of a text from left to right, base of the parsers of paths and intrinsic functions."""

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

_SPACE = re.compile(r"\s*")
_Part = TypeVar("_Part")


class PathSyntaxError(ValueError):
    """Invalid or unsupported path or intrinsic function.

    Attributes:
        text: the whole text.
        position: index of the character with the error.
        feature: name of a Step Functions feature that this runtime does not support; None for a mistake.
    """

    def __init__(self, text: str, position: int, allowed: str, *, feature: str | None = None) -> None:
        self.text = text
        self.position = position
        self.feature = feature
        super().__init__(f"{text!r}, character {position}: {allowed}")


class Reader:
    """A text with the current position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def _read_list(self, separator: str, part: Callable[[], _Part]) -> tuple[_Part, ...]:
        parts: list[_Part] = []
        while not parts or self._accept(separator):
            self._skip_space()
            parts.append(part())
            self._skip_space()
        return tuple(parts)

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _accept(self, token: str) -> bool:
        accepted = self._text.startswith(token, self._position)
        if accepted:
            self._position += len(token)
        return accepted

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._position)
        if match:
            self._position = match.end()
        return match

    def _skip_space(self) -> None:
        self._match(_SPACE)

    def _refuse(self, allowed: str, *, at: int | None = None) -> NoReturn:
        raise PathSyntaxError(self._text, self._position if at is None else at, allowed)
