"""Pages of lists, continued by tokens."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from unum_runtime.errors import ClientError, InvalidToken
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.states import Json

_Item = TypeVar("_Item")

DEFAULT_PAGE, LARGEST_PAGE = 100, 1_000
"""Default and maximum page size. Source: AWS Step Functions API Reference, GetExecutionHistory."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list.

    Attributes:
        name: name of the list.
        reverse: True if the list is read from its end.
        first: number of items before the page.
        size: maximum number of items.
    """

    name: str
    reverse: bool
    first: int
    size: int

    @classmethod
    def asked(cls, size: int, token: str | None, *, of: str, reverse: bool) -> "Page":
        """Return the page named by a token, or the first page.

        Args:
            size: maximum number of items; 0 for the default.
            token: token of the previous page; None for the first page.
            of: name of the list.
            reverse: True to read the list from its end.

        Raises:
            InvalidToken: token of another list or order, or no token.
            ClientError: invalid size.
        """
        first = 0 if token is None else _first(token, of, reverse=reverse)
        return cls(of, reverse, first, checked_size(size))

    def of(self, items: Sequence[_Item]) -> tuple[list[_Item], str | None]:
        """Return this page of `items`, plus the next token; None on the last page."""
        ordered = items[::-1] if self.reverse else items
        end = self.first + self.size
        token = None if end >= len(items) else new_token(self.name, end, self.reverse)
        return list(ordered[self.first : end]), token


def checked_size(size: int) -> int:
    """Return the page size for `size`; 0 means the default.

    Raises:
        ClientError: negative, above the maximum, or no whole number.
    """
    # `isinstance` would accept true and false, which are integers in Python.
    if type(size) is not int or not 0 <= size <= LARGEST_PAGE:
        raise ClientError(f"maxResults: expected 0 to {LARGEST_PAGE}, got {size!r}")
    return size or DEFAULT_PAGE


def new_token(*content: Json) -> str:
    """Return a token containing `content`; `token_content` reads it."""
    return base64.urlsafe_b64encode(to_text(content).encode()).decode()


def token_content(token: str) -> Json:
    """Return token content; None if malformed."""
    try:
        return parse_json(base64.b64decode(token, altchars=b"-_", validate=True))
    except (TypeError, ValueError, RecursionError):
        return None


def _first(token: str, name: str, *, reverse: bool) -> int:
    match token_content(token):
        case [str(of), int(first), bool(order)] if (of, order) == (name, reverse) and first > 0:
            return first
    raise InvalidToken(
        f"nextToken: expected what the page before returned, of {name!r} in the same order, got {token!r}"
    )
