"""Whether values of a workflow may go into a bucket, as far as its definition tells."""

from enum import StrEnum

from unum_runtime.model.ir import Map, Workflow
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES


class Payload(StrEnum):
    """Where values go that are too large for an item of the table, or cost less elsewhere."""

    AUTO = "auto"
    """Into a bucket if the definition shows that there may be such values: if a Map reads its items from S3 or writes
    its results there, or if `payload_limit` allows more than an item holds. Nothing else in a definition may exceed 256
    KiB in Step Functions."""

    S3 = "s3"
    """Into a bucket."""

    INLINE = "inline"
    """Nowhere: a state whose output is larger than 380 KB fails with ``States.DataLimitExceeded``."""


def wants_bucket(compiled: Workflow, payload: Payload | str) -> bool:
    """Whether a workflow that says `payload` gets a bucket."""
    return payload == Payload.S3 or (payload == Payload.AUTO and _may_be_large(compiled))


def _may_be_large(compiled: Workflow) -> bool:
    """Whether the definition shows that values may be larger than items."""
    has_data_sets = any(isinstance(state, Map) and (state.reads or state.writes) for state in compiled.states.values())
    return has_data_sets or (compiled.payload_limit or 0) > MAX_OUTCOME_BYTES
