"""Names of the objects in which `unum_runtime.features.bucket_state.s3` stores items, sets and index entries.

* An item, a lease or the marker of a set: ``state:PARTITION/=SORT``.
* An addition to a set: ``state:PARTITION/=SORT/TIME.EXPIRY.FIRST.BITS``. Time and expiry are milliseconds; the bits say
  which of the numbers from FIRST on are members, in hexadecimal digits.
* An index entry: ``listed:INDEX PARTITION/=PLACE NAME``, with the name of the listed item.

No name of a workflow has a colon, so these objects and those with large values may share a bucket. IAM grants access by
these prefixes: `item_prefix` and `entry_prefix` keep the prefixes of partitions.
"""

import re

from unum_runtime.cold_start.digest import sha256
from unum_runtime.errors import StoreError
from unum_runtime.features.document_stores.conditional import Addition
from unum_runtime.model.naming import Key

_STATE, _LISTED = "state:", "listed:"
_SORTED = "/="
_MAX_BYTES = 1024
"""Longest name of an object. Source: Amazon S3 User Guide, "Naming Amazon S3 objects"."""

_RECORD_BYTES = 160
"""Space that a partition leaves for its sort keys and for additions to sets."""

_ESCAPED = re.compile("[%/]")


def item_prefix(partitions: str) -> str:
    """Return the prefix of objects with items of partitions with the prefix `partitions`."""
    return f"{_STATE}{partitions}"


def entry_prefix(partitions: str) -> str:
    """Return the prefix of index entries in index partitions with the prefix `partitions`."""
    return f"{_LISTED}{partitions}"


def partition_name(partition: str) -> str:
    """Return the common prefix of all objects of `partition`, and of no other partition."""
    if len(partition.encode()) > _MAX_BYTES - _RECORD_BYTES:
        # The workflow stays readable, because IAM policies grant access by this prefix.
        workflow, slash, _ = partition.partition("/")
        partition = f"{workflow}{slash}#{sha256(partition.encode())}"
    return f"{_STATE}{partition}{_SORTED}"


def item_name(key: Key) -> str:
    """Return the name of the object with the item at `key`."""
    return partition_name(key.partition) + _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", key.sort)


def sort_in(name: str, partition: str) -> str:
    """Return the sort key in the name of an item or an addition of `partition`."""
    escaped = name.removeprefix(partition_name(partition)).partition("/")[0]
    return escaped.replace("%2F", "/").replace("%25", "%")


def is_addition(name: str, partition: str) -> bool:
    """Return True for an addition to a set of `partition`, False for an item."""
    return "/" in name.removeprefix(partition_name(partition))


def addition_name(set_name: str, addition: Addition) -> str:
    """Return the name of the object that adds members to the set called `set_name`.

    Raises:
        StoreError: the members are too far apart for one name.
    """
    first = min(addition.members)
    bits = sum(1 << (member - first) for member in addition.members)
    name = f"{set_name}/{addition.at_ms}.{addition.expires_at_ms}.{first}.{bits:x}"
    if len(name.encode()) > _MAX_BYTES:
        apart = max(addition.members) - first
        raise StoreError(f"add {set_name}: expected members that fit into {_MAX_BYTES} bytes, got some {apart} apart")
    return name


def addition_of(name: str) -> Addition:
    """Read a name of `addition_name`."""
    at_ms, expires_at_ms, first, bits = name.rpartition("/")[2].split(".")
    offsets = enumerate(reversed(f"{int(bits, 16):b}"))
    return Addition(
        int(at_ms), int(expires_at_ms), frozenset(int(first) + offset for offset, bit in offsets if bit == "1")
    )


def entries_name(partition: str) -> str:
    """Return the common prefix of all entries of an index partition."""
    return f"{_LISTED}{partition}{_SORTED}"


def entry_name(partition: str, place: str, listed: Key) -> str:
    """Return the name of the entry at `place` for the item at `listed`."""
    # A space is smaller than every character of a place, so entries have the order of their places.
    return f"{entries_name(partition)}{place} {item_name(listed)}"


def entry_of(name: str, partition: str) -> tuple[str, Key]:
    """Return place and key of the listed item in the name of an entry."""
    place, _, listed = name.removeprefix(entries_name(partition)).partition(" ")
    own, _, _ = listed.removeprefix(_STATE).rpartition(_SORTED)
    return place, Key(own, sort_in(listed, own))
