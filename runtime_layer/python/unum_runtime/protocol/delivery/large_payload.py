"""Large inputs: send an object reference; receivers read the object.

The commit before the event has often stored the same text already; then both refer to the same object.
"""

from unum_runtime.errors import StoreError
from unum_runtime.json_text import parse_json, to_text
from unum_runtime.model.checkpoint import Success
from unum_runtime.model.envelope import Envelope, Stored, Value
from unum_runtime.model.naming import execution_partition
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import LargeItems


def store_large_input(large: LargeItems, envelope: Envelope) -> bytes:
    """Return event bytes; for oversized events, store the input and send a reference.

    Raises:
        ExecutionDeleted: the event follows a late one of a deleted execution.
        StoreError: the input could not be stored.
    """
    whole = envelope.to_bytes()
    if len(whole) <= large.event_bytes or not isinstance(envelope.input, Value):
        return whole
    if large.looks:
        from unum_runtime.protocol.delivery.deletion import check_deletion  # noqa: PLC0415 - few events are late

        # A retry follows no commit, which would find the mark of a deletion.
        check_deletion(large, envelope.workflow, envelope.name.execution.name)
    value, partition = envelope.input, execution_partition(envelope.workflow, envelope.name.execution)
    # The objects come first: a reference that is delivered before its object would fail the invocation.
    variables = large.store_text(partition, to_text(dict(value.variables))) if value.variables else None
    stored = Stored(large.store_text(partition, value.given.text), value.entered_ms, variables)
    return envelope.with_input(stored).to_bytes()


def read_stored(rt: Runtime, stored: Stored) -> Value:
    """Return an event's stored input.

    Raises:
        StoreError: the input could not be read.
    """
    if rt.large is None:
        raise StoreError(
            f"object {stored.value}: an event refers to it, but this function knows no bucket for payloads"
        )
    wanted = [stored.value, *filter(None, [stored.variables])]
    texts = rt.large.read_texts(wanted)
    variables = parse_json(texts[stored.variables]) if stored.variables else {}
    return Value(Success.from_text(texts[stored.value]), stored.entered_ms, variables)
