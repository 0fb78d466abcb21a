"""Inputs that are too large for an event: the event refers to them, and the receiver reads them.

What went before has often committed the same text as its outcome; then it is stored already, and the event refers to
the same object.
"""

import json

from unum_runtime.errors import StoreError
from unum_runtime.model.checkpoint import Success, to_text
from unum_runtime.model.envelope import Envelope, Stored, Value
from unum_runtime.model.naming import execution_partition
from unum_runtime.protocol.runtime import Runtime


def payload(rt: Runtime, envelope: Envelope) -> bytes:
    """The event as it is sent: with its input, or where that is too large and can be stored, with a reference to it.

    Raises:
        StoreError: the input could not be stored.
    """
    whole = envelope.to_bytes()
    if rt.large is None or len(whole) <= rt.large.event_bytes or not isinstance(envelope.input, Value):
        return whole
    return envelope.with_input(_stored(rt, envelope, envelope.input)).to_bytes()


def entered(rt: Runtime, stored: Stored) -> Value:
    """The input that an event refers to.

    Raises:
        StoreError: it could not be read.
    """
    if rt.large is None:
        raise StoreError(
            f"object {stored.value}: an event refers to it, but this function knows no bucket for payloads"
        )
    wanted = [stored.value, *filter(None, [stored.variables])]
    texts = rt.large.read_texts(wanted)
    variables = json.loads(texts[stored.variables]) if stored.variables else {}
    return Value(Success.from_text(texts[stored.value]), stored.entered_ms, variables)


def _stored(rt: Runtime, envelope: Envelope, value: Value) -> Stored:
    assert rt.large is not None  # noqa: S101 - the caller asked
    partition = execution_partition(rt.workflow.name, envelope.name.execution)
    variables = rt.large.store_text(partition, to_text(dict(value.variables))) if value.variables else None
    return Stored(rt.large.store_text(partition, value.given.text), value.entered_ms, variables)
