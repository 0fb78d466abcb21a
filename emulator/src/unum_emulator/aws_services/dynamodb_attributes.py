"""DynamoDB's checks and copies of attributes, without superfluous work.

Most attributes are strings and numbers. They contain no nested values, and no string is malformed; ministack
nevertheless checks each of them twice for both. It also copies an updated item four times with the module `copy`, which
keeps track of cycles that JSON cannot have.
"""

import copy
from collections.abc import Mapping
from typing import Any

from ministack.services import dynamodb

from unum_emulator.patching import replace

_FLAT = ("S", "N")


def install() -> None:
    """Replace the checks and the copy."""
    nesting_level = replace(dynamodb, "_nesting_level", None)
    request_values = replace(dynamodb, "_request_values", None)

    def level(value: Any, depth: int = 1) -> int:
        found: int = depth if _attribute_type(value) in _FLAT else nesting_level(value, depth)
        return found

    def values(request: Mapping[str, Any]) -> list[Any]:
        """Return the values that may be malformed or nested."""
        return [value for value in request_values(request) if _attribute_type(value) != "S"]

    replace(dynamodb, "_nesting_level", level)
    replace(dynamodb, "_request_values", values)
    replace(dynamodb, "copy", _Copy())


class _Copy:
    """The module `copy`, with a faster `deepcopy` for JSON."""

    def __getattr__(self, name: str) -> Any:
        return getattr(copy, name)

    def deepcopy(self, value: Any) -> Any:
        return _copy_json(value)


def _copy_json(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {name: _copy_json(each) for name, each in value.items()}
    if kind is list:
        return [each if type(each) is str else _copy_json(each) for each in value]
    # Strings are immutable, and by far the most frequent values.
    return value if kind is str else copy.deepcopy(value)


def _attribute_type(value: Any) -> Any:
    """Return the type name of an attribute value, or None for other values."""
    return next(iter(value)) if type(value) is dict and len(value) == 1 else None
