"""Caches for ministack's pure functions of texts: numbers, expression grammar and ARNs.

ministack validates and measures a number set as a whole at each addition, so an addition's time grew with the set's
size. Clients use few different conditions, updates and functions.
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
    (dynamodb, "_tokenize"),  # returns a list that ministack never changes
    (dynamodb, "_condition_syntax_error"),
    (lambda_svc, "_lambda_function_account_region_from_arn"),
)

_Found = TypeVar("_Found")


def install() -> None:
    """Add the caches."""
    for module, name in _FUNCTIONS:
        replace(module, name, _cached(getattr(module, name)))


def _cached(find: Callable[..., _Found]) -> Callable[..., _Found]:
    """Return `find` with a cache for texts; requests may contain other types in their place."""
    cached = lru_cache(_CACHE_SIZE)(find)

    def find_cached(text: Any, *names: str) -> _Found:
        return cached(text, *names) if type(text) is str else find(text, *names)

    return find_cached
