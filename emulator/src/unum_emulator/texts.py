"""What DynamoDB finds out from a text alone is found out once for it: numbers, and the grammar of conditions.

A set of numbers that grows by one is validated and measured as a whole, again and again, so that the time of an
addition grew with the set's size; and the conditions that a client has are few.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from ministack.services import dynamodb

from unum_emulator.patching import replace

_REMEMBERED = 16_384
_FUNCTIONS = ("_number_error", "_ddb_canonicalize_number", "_number_size_bytes", "_condition_syntax_error")

_Found = TypeVar("_Found")


def install() -> None:
    """Have what follows from a text found out once."""
    for name in _FUNCTIONS:
        replace(dynamodb, name, _once(getattr(dynamodb, name)))


def _once(find: Callable[..., _Found]) -> Callable[..., _Found]:
    """`find`, which remembers what it found for texts; requests may have anything else in their place."""
    remembered = lru_cache(_REMEMBERED)(find)

    def found(*given: Any) -> _Found:
        return remembered(*given) if all(isinstance(each, str) for each in given) else find(*given)

    return found
