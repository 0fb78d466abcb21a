"""Numbers of DynamoDB are looked at once for each text, and not whenever an item has it.

A set of numbers that grows by one is validated and measured as a whole, again and again, so that the time of the last
addition grew with the set's size; the members of completion sets are few texts.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from ministack.services import dynamodb

from unum_emulator.patching import replace

_REMEMBERED = 16_384
_FUNCTIONS = ("_number_error", "_ddb_canonicalize_number", "_number_size_bytes")

_Found = TypeVar("_Found")


def install() -> None:
    """Have what follows from a number's text found out once."""
    for name in _FUNCTIONS:
        replace(dynamodb, name, _once(getattr(dynamodb, name)))


def _once(find: Callable[[Any], _Found]) -> Callable[[Any], _Found]:
    """`find`, which remembers what it found for texts; requests may have anything else in their place."""
    remembered = lru_cache(_REMEMBERED)(find)
    return lambda number: remembered(number) if isinstance(number, str) else find(number)
