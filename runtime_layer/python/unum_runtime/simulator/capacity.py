"""How large DynamoDB takes an item to be, and how many capacity units that makes.

Source: Amazon DynamoDB Developer Guide, "DynamoDB item sizes and formats" and "DynamoDB read and write operations". How
a set is counted is not documented; it is taken for the sum of its members.
"""

from collections.abc import Iterable

from unum_runtime.model.checkpoint import MEMBERS, Item
from unum_runtime.model.naming import Key
from unum_runtime.store.dynamodb import EXPIRY, PARTITION, SORT

WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096
PAGE_BYTES = 1_048_576
"""How much a Query returns at most."""

STORED_OVERHEAD_BYTES = 100
"""What an item takes of the storage that is paid for, beside its own size."""


def item_size(key: Key, item: Item) -> int:
    """Bytes of `item`, which has its expiry in it, with its key."""
    return attributes_size({PARTITION: key.partition, SORT: key.sort, **item})


def set_size(key: Key, members: Iterable[int], expires_at_s: int) -> int:
    """Bytes of the item that holds a set."""
    return item_size(key, {EXPIRY: expires_at_s}) + len(MEMBERS) + sum(map(_number_size, members))


def attributes_size(attributes: Item) -> int:
    """Bytes of names and values; the size of a text is its UTF-8 encoding's."""
    return sum(len(name) + _value_size(value) for name, value in attributes.items())


def write_units(size: int) -> int:
    """Of a write that leaves, replaces or finds an item of `size` bytes, also where its condition fails."""
    return max(1, -(-size // WRITE_UNIT_BYTES))


def read_units(size: int) -> int:
    """Of a strongly consistent read of `size` bytes; reading nothing counts one unit."""
    return max(1, -(-size // READ_UNIT_BYTES))


def _value_size(value: str | int) -> int:
    return _number_size(value) if isinstance(value, int) else len(value.encode())


def _number_size(number: int) -> int:
    """A byte for two significant digits, and one more; another for a minus sign."""
    digits = str(abs(number)).rstrip("0")
    return 1 + -(-len(digits) // 2) + (number < 0)
