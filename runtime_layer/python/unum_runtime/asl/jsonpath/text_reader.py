"""What the grammars of paths and of intrinsic functions have in common: reading a text from left to right."""

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

_SPACE = re.compile(r"\s*")
_Part = TypeVar("_Part")


class PathSyntaxError(ValueError):
    """A text is no path or intrinsic function, or none that is supported.

    Attributes:
        text: the text.
        position: index of the character at which reading stopped.
        feature: name of the feature if Step Functions has it and this runtime has not; None for a mistake.
    """

    def __init__(self, text: str, position: int, allowed: str, *, feature: str | None = None) -> None:
        self.text = text
        self.position = position
        self.feature = feature
        super().__init__(f"{text!r}, character {position}: {allowed}")


class Reader:
    """A text, and how far it has been read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def _separated(self, separator: str, part: Callable[[], _Part]) -> tuple[_Part, ...]:
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
