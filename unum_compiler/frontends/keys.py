"""Keys of functions that come as constructs, without the CDK: a construct is what has a node."""

import re
from collections.abc import Collection, Iterable
from itertools import chain, count
from typing import Any

_NO_KEY = re.compile(r"[^A-Za-z0-9_.-]+")


def unique_keys(functions: Iterable[Any], taken: Collection[str] = ()) -> dict[Any, str]:
    """A key for each of `functions`: its construct's id, or its path in the stack where ids are the same.

    Args:
        functions: constructs, in an order that does not change; one may be there several times.
        taken: keys that others have.
    """
    keys: dict[Any, str] = {}
    for function in dict.fromkeys(functions):
        used = {*taken, *keys.values()}
        keys[function] = next(name for name in _names(function) if name not in used)
    return keys


def _names(function: Any) -> Iterable[str]:
    """Names of `function`, the best one first."""
    ids = [_NO_KEY.sub("-", scope.node.id).lstrip(".-") for scope in function.node.scopes]
    longer = ("-".join(ids[-length:]) for length in range(1, len(ids)))
    return chain(longer, (f"{ids[-1]}-{number}" for number in count(2)))
