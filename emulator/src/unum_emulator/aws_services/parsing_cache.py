"""What ministack finds out from a text alone is found out once for it: numbers, the grammar of expressions, ARNs.

A set of numbers that grows by one is validated and measured as a whole, again and again, so that the time of an
addition grew with the set's size; the conditions and updates that a client has are few, and so are functions.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from ministack.services import dynamodb, lambda_svc

from unum_emulator.patching import replace

_CACHE_SIZE = 16_384
_FUNCTIONS = (
    (dynamodb, "_number_error"),
    (dynamodb, "_ddb_canonicalize_number"),
    (dynamodb, "_number_size_bytes"),
    (dynamodb, "_tokenize"),  # returns a list, which nobody changes
    (dynamodb, "_condition_syntax_error"),
    (lambda_svc, "_lambda_function_account_region_from_arn"),
)

_Found = TypeVar("_Found")


def install() -> None:
    """Have what follows from a text found out once."""
    for module, name in _FUNCTIONS:
        replace(module, name, _cached(getattr(module, name)))


def _cached(find: Callable[..., _Found]) -> Callable[..., _Found]:
    """`find`, which remembers what it found for a text; requests may have anything else in its place."""
    cached = lru_cache(_CACHE_SIZE)(find)

    def find_cached(text: Any, *names: str) -> _Found:
        return cached(text, *names) if type(text) is str else find(text, *names)

    return find_cached
