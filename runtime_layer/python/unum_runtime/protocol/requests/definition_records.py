"""Definition records: the IR of each version in the workflow's own store, for as long as its executions are stored.

A record has copies. A copy is named after the last day that it is needed, so the first start of a day creates the copy
that outlives all executions of that day, and all others find it. No copy is ever changed: create-if-absent suffices,
also for writers that die between two parts of a large definition. A copy contains the IR's canonical text, compressed;
its digest is the version's digest, so every reader verifies what it reads, and an incomplete copy counts as none.
"""

import binascii
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from unum_runtime.cold_start.digest import short_digest
from unum_runtime.errors import ClientError, DefinitionNotStored, InconsistentHistory
from unum_runtime.model.checkpoint import Item
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import Key, day_of_copy, definition_key, definition_partition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.base import Store

BODY = "definition"
"""Attribute with a part of the compressed IR in Base64."""

PART_BYTES = 390_000
"""Most characters of a part; key and attribute names take the rest of an item's 400 KB."""

MAX_IR_BYTES = 50_000_000
"""Largest IR that a reader decompresses, so that a forged record cannot exhaust its memory."""

DAY_S = 86_400

_REMEDY = "give the definition that was deployed then: `--file FILE`, or `definition=` of the client's methods"


def write_definition(rt: Runtime) -> int:
    """Store the definition of `rt` until after the last item of an execution that starts now.

    Returns:
        The time until which no further copy is needed, in milliseconds since 1970.

    Raises:
        StoreError: the store did not answer; the definition may be stored or not.
    """
    now_s, kept_s = rt.clock.now_ms() // 1000, _needed_s(rt)
    day = (now_s + kept_s) // DAY_S
    parts = _parts(rt.workflow.to_json())
    keys = [definition_key(rt.workflow.name, rt.workflow.digest, day, number) for number in range(len(parts))]
    # A read costs a fifth of a conditional write that fails. Parts are written in order, so the last proves all.
    if not rt.store.read(keys[-1:]):
        # One day more than needed: clocks differ, and a copy that ends with its last day may end in this minute.
        expires_at_s = (day + 2) * DAY_S
        for key, part in zip(keys, parts, strict=True):
            rt.store.create(key, {BODY: part}, expires_at_s=expires_at_s)
    return ((day + 1) * DAY_S - kept_s) * 1000


def read_definition(store: Store, workflow: str, digest: str) -> Workflow:
    """Return the definition of `workflow` with `digest`, verified against it.

    Raises:
        DefinitionNotStored: no copy is stored.
        InconsistentHistory: no stored copy has the digest: somebody has changed the table.
        ClientError: a later release has compiled it.
        StoreError: the store did not answer.
    """
    partition = definition_partition(workflow, digest)
    found = store.query(partition, newest=1)
    if not found:
        raise DefinitionNotStored(
            f"workflow {workflow!r}: expected the definition with digest {digest} in its table, found none: its "
            f"retention has passed; {_REMEDY}"
        )
    # One item is a whole copy of nearly every definition, and copies of many days may be stored.
    for text in _verified(found, digest):
        return _parsed(text, workflow, digest)
    for text in _verified(store.query(partition), digest):
        return _parsed(text, workflow, digest)
    raise InconsistentHistory(
        f"definition of workflow {workflow!r} in {partition}: expected a text with digest {digest}, found none: the "
        f"record is incomplete or forged; {_REMEDY}"
    )


def _needed_s(rt: Runtime) -> int:
    """Return the longest time from an execution's start to the expiry of its last item, in seconds."""
    # An execution may commit until the end of its retention, and that commit is kept as long again, or as a result.
    return rt.retention_s + max(rt.retention_s, rt.result_retention_s or 0)


def _parts(text: str) -> list[str]:
    body = binascii.b2a_base64(zlib.compress(text.encode()), newline=False).decode()
    return [body[begin : begin + PART_BYTES] for begin in range(0, len(body), PART_BYTES)]


def _verified(items: Mapping[Key, Item], digest: str) -> Iterator[str]:
    """Yield the texts with `digest` among the copies in `items`, the copy of the latest day first."""
    copies: dict[str, list[Item]] = {}
    for key in sorted(items):
        copies.setdefault(day_of_copy(key), []).append(items[key])
    for parts in reversed(copies.values()):
        content = _content(parts)
        if short_digest(content) == digest:
            yield content.decode()


def _content(parts: Iterable[Item]) -> bytes:
    """Return the decompressed content of a copy; anything else gives no definition's text."""
    body = "".join(str(part.get(BODY, "")) for part in parts)
    with suppress(ValueError, zlib.error):
        return zlib.decompressobj().decompress(binascii.a2b_base64(body), MAX_IR_BYTES)
    return b""


def _parsed(text: str, workflow: str, digest: str) -> Workflow:
    """Parse a verified `text`.

    Raises:
        ClientError: this release does not know all its fields.
    """
    try:
        found = Workflow.from_json(text)
        if found.digest == digest:
            return found
    except (KeyError, TypeError, ValueError):
        pass
    raise ClientError(
        f"definition {digest} of workflow {workflow!r}: a later release has compiled it, with fields that this release "
        "does not know; update unum-runtime"
    )
