"""Keys of function constructs, without loading the CDK."""

import re
from collections.abc import Collection, Iterable
from itertools import chain, count
from typing import Any

from unum_compiler.frontends.construct_attributes import path_of

_NO_KEY = re.compile(r"[^A-Za-z0-9_.-]+")


def unique_keys(functions: Iterable[Any], taken: Collection[str] = ()) -> dict[Any, str]:
    """Return keys by function: construct id, or end of the construct path if ids collide.

    Args:
        functions: constructs in a stable order; repeated constructs count once.
        taken: keys of other functions.
    """
    keys: dict[Any, str] = {}
    for function in dict.fromkeys(functions):
        # Stable order, stable keys: a key is part of the IR, whose digest events must match.
        used = {*taken, *keys.values()}
        keys[function] = next(name for name in _names(function) if name not in used)
    return keys


def _names(function: Any) -> Iterable[str]:
    """Yield possible keys of `function`, the shortest first."""
    # The path has all ids except the app's, which is empty.
    ids = [_NO_KEY.sub("-", each).lstrip(".-") for each in path_of(function).split("/")]
    longer = ("-".join(ids[-length:]) for length in range(1, len(ids) + 1))
    return chain(longer, (f"{ids[-1]}-{number}" for number in count(2)))
