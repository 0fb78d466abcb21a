"""Form of the documents in which `unum_google.firestore` stores items, leases, sets and index entries.

* An item or lease: ``item`` with its attributes.
* A set: ``members``, with the time of the addition and the set's expiry by it for each member, in milliseconds.
* An index entry: ``item`` with its attributes for lists, ``partition`` and ``of`` with the key of the listed item.

All of them have `SORT` and `EXPIRY`. Every write of an item has all of its fields, so that nothing of a former one
stays.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from unum_runtime.cold_start.digest import sha256
from unum_runtime.features.document_stores.conditional import Addition, Document, set_of
from unum_runtime.model.checkpoint import MEMBERS, Item
from unum_runtime.model.list_index import PARTITION, PLACE, PROJECTED
from unum_runtime.model.naming import Key

SORT, EXPIRY = "sort", "expires_at"
"""Fields of each document: its place in the partition, and the time at which a TTL policy may delete it."""

Fields: TypeAlias = dict[str, Any]

_ITEM, _LISTED_IN, _LISTED_AS = "item", "partition", "of"
_MEMBER = "m"
"""Prefix of members, because names of fields without quotes begin with a letter."""

_ESCAPES = {".": ".!", "/": ".~"}
"""Characters that ids of documents do not have, or not everywhere. Their order stays."""

_MAX_ID_BYTES = 1_500
"""Longest id. Source: Google Cloud Firestore documentation, "Quotas and limits"."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_NEVER_MS = 2**62
"""Expiry of documents of other writers that have none."""

_AFTER_NAMES = " ~"
"""End of a bound after all names of entries at one place: these go on with a space and hexadecimal digits."""


class Entry(NamedTuple):
    """Index entry.

    Attributes:
        partition: index partition.
        name: place and a digest of the listed item's key, in the order of places.
        fields: content of its document.
    """

    partition: str
    name: str
    fields: Fields


def document_id(name: str) -> str:
    """Return the id of the document called `name`, a partition or a sort key; ids have the order of short names."""
    # The first character keeps away from ids that Firestore reserves, such as "__a__".
    own = "=" + "".join(_ESCAPES.get(each, each) for each in name)
    return own if len(own.encode()) <= _MAX_ID_BYTES else f"#{sha256(name.encode())}"


def fields_of(key: Key, document: Document, now_ms: int) -> Fields:
    """Return the fields of the item, lease or set at `key`; its members were added at `now_ms`."""
    members = document.members
    added = None if members is None else additions(members, now_ms, document.expires_at_ms)
    return {SORT: key.sort, EXPIRY: as_time(document.expires_at_ms), _ITEM: document.item, MEMBERS: added}


def set_fields(key: Key, members: tuple[int, ...], now_ms: int, expires_at_ms: int) -> Fields:
    """Return the fields that are merged into the set at `key` to add `members`."""
    return {SORT: key.sort, EXPIRY: as_time(expires_at_ms), MEMBERS: additions(members, now_ms, expires_at_ms)}


def additions(members: Any, now_ms: int, expires_at_ms: int) -> Fields:
    """Return the fields of `members` in a set."""
    return {f"{_MEMBER}{member}": [now_ms, expires_at_ms] for member in members}


def document_of(fields: Mapping[str, Any], version: Any) -> Document:
    """Read the fields of an item, lease, set or index entry; what no store writes is left out."""
    expires_at_ms = _milliseconds(fields.get(EXPIRY))
    if (added := fields.get(MEMBERS)) is None:
        return Document(expires_at_ms, _item(fields), version=version)
    read = [Addition(at, until, frozenset([int(name.removeprefix(_MEMBER))])) for name, (at, until) in added.items()]
    members, until_ms = set_of(read)
    # A collected set has no members, and keeps its expiry.
    return Document(until_ms if read else expires_at_ms, {}, members, version)


def entry_of(key: Key, document: Document | None) -> Entry | None:
    """Return the index entry of the item at `key`; None for what lists do not show."""
    if document is None or PARTITION not in document.item:
        return None
    place = str(document.item[PLACE])
    name = f"{place} {sha256(repr(key).encode())}"
    shown = {each: document.item[each] for each in (PARTITION, PLACE, *PROJECTED) if each in document.item}
    owner = {_LISTED_IN: key.partition, _LISTED_AS: key.sort}
    return Entry(
        str(document.item[PARTITION]),
        name,
        {SORT: name, EXPIRY: as_time(document.expires_at_ms), _ITEM: shown, **owner},
    )


def listed_key(fields: Mapping[str, Any]) -> Key:
    """Return the key of the item that an index entry lists."""
    return Key(str(fields.get(_LISTED_IN)), str(fields.get(_LISTED_AS)))


def last_name(place: str) -> str:
    """Return a bound between entries at `place` and entries at later places."""
    return place + _AFTER_NAMES


def as_time(milliseconds: int) -> datetime:
    """Return the timestamp for `milliseconds` since 1970."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _milliseconds(value: Any) -> int:
    return (value - _EPOCH) // timedelta(milliseconds=1) if isinstance(value, datetime) else _NEVER_MS


def _item(fields: Mapping[str, Any]) -> Item:
    attributes = fields.get(_ITEM)
    found = attributes.items() if isinstance(attributes, dict) else ()
    return {name: value for name, value in found if isinstance(value, str | int) and not isinstance(value, bool)}
