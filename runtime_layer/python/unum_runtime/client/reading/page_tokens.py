"""Pages of a list, and the tokens that lead from one to the next."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from unum_runtime.errors import ClientError, InvalidToken
from unum_runtime.model.checkpoint import to_text
from unum_runtime.model.ir import Json

_Item = TypeVar("_Item")

DEFAULT_PAGE, LARGEST_PAGE = 100, 1_000
"""How many items a page has. Source: AWS Step Functions API Reference, GetExecutionHistory."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        name: whose list it is of.
        reverse: whether the list is read from its end.
        first: how many items come before it.
        size: how many items it may have.
    """

    name: str
    reverse: bool
    first: int
    size: int

    @classmethod
    def asked(cls, size: int, token: str | None, *, of: str, reverse: bool) -> "Page":
        """The page after the one that returned `token`, or the first.

        Args:
            size: how many items it may have; 0 for as many as usual.
            token: None for the first page.
            of: whose list it is of.
            reverse: whether the list is read from its end.

        Raises:
            InvalidToken: the token is for no page of this list in this order.
            ClientError: the size is none that a page may have.
        """
        first = 0 if token is None else _first(token, of, reverse=reverse)
        return cls(of, reverse, first, checked_size(size))

    def of(self, items: Sequence[_Item]) -> tuple[list[_Item], str | None]:
        """What of `items` is on it, and the token for the page after it; None if it is the last."""
        ordered = items[::-1] if self.reverse else items
        end = self.first + self.size
        token = None if end >= len(items) else new_token(self.name, end, self.reverse)
        return list(ordered[self.first : end]), token


def checked_size(size: int) -> int:
    """How many items a page has that may have `size`; 0 is for as many as usual.

    Raises:
        ClientError: no page may have so many.
    """
    if type(size) is not int or not 0 <= size <= LARGEST_PAGE:
        raise ClientError(f"maxResults: expected 0 to {LARGEST_PAGE}, got {size!r}")
    return size or DEFAULT_PAGE


def new_token(*content: Json) -> str:
    """A token with `content`, which `token_content` finds in it."""
    return base64.urlsafe_b64encode(to_text(content).encode()).decode()


def token_content(token: str) -> Json:
    """What is in a token; None if it is none."""
    try:
        return json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
    except (TypeError, ValueError, RecursionError):
        return None


def _first(token: str, name: str, *, reverse: bool) -> int:
    match token_content(token):
        case [str(of), int(first), bool(order)] if (of, order) == (name, reverse) and first > 0:
            return first
    raise InvalidToken(
        f"nextToken: expected what the page before returned, of {name!r} in the same order, got {token!r}"
    )
