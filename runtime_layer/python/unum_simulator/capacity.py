"""DynamoDB's item sizes and capacity units, computed instead of measured.

Source: Amazon DynamoDB Developer Guide, "DynamoDB item sizes and formats" and "DynamoDB read and write operations". AWS
does not document the size of a set; this module takes the sum of its members.
"""

from collections.abc import Iterable

from unum_runtime.model.checkpoint import MEMBERS, Item
from unum_runtime.model.naming import Key
from unum_runtime.store.dynamodb import EXPIRY, PARTITION, SORT

WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096
PAGE_BYTES = 1_048_576
"""Maximum bytes that one page of a Query reads."""

STORED_OVERHEAD_BYTES = 100
"""Bytes of billed storage per item, on top of the item's own size."""


def item_size(key: Key, item: Item) -> int:
    """Return the bytes of `item` (expiry included) together with its key."""
    return attributes_size({PARTITION: key.partition, SORT: key.sort, **item})


def set_size(key: Key, members: Iterable[int], expires_at_s: int) -> int:
    """Return the bytes of the item that stores a set."""
    return item_size(key, {EXPIRY: expires_at_s}) + len(MEMBERS) + sum(map(_number_size, members))


def attributes_size(attributes: Item) -> int:
    """Return the bytes of attribute names and values; text counts in UTF-8."""
    return sum(len(name) + _value_size(value) for name, value in attributes.items())


def write_units(size: int) -> int:
    """Return the units of a write to an item of `size` bytes; a failed condition costs the same."""
    return max(1, -(-size // WRITE_UNIT_BYTES))


def read_units(size: int) -> int:
    """Return the units of a strongly consistent read of `size` bytes; an empty read costs one unit."""
    return max(1, -(-size // READ_UNIT_BYTES))


def _value_size(value: str | int) -> int:
    return _number_size(value) if isinstance(value, int) else len(value.encode())


def _number_size(number: int) -> int:
    """Return a number's bytes: one per two significant digits, one extra, and one for a minus sign."""
    # DynamoDB stores numbers without leading and trailing zeros, so 1,000 is as large as 1.
    digits = str(abs(number)).rstrip("0")
    return 1 + -(-len(digits) // 2) + (number < 0)
