"""Choice between table and bucket for large values."""

from enum import StrEnum

from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Map
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES


class Payload(StrEnum):
    """Storage of values too large for a table item, or cheaper elsewhere."""

    AUTO = "auto"
    """A bucket if the definition shows that such values may exist: a Map reads its items from S3 or writes its results
    there, or `payload_limit` allows more than an item holds. Step Functions limits every other value to 256 KiB."""

    S3 = "s3"
    """A bucket."""

    INLINE = "inline"
    """No bucket: a state whose output is larger than 380 KB fails with ``States.DataLimitExceeded``."""


def wants_bucket(compiled: Workflow, payload: Payload | str) -> bool:
    """Return True if a workflow with the option `payload` gets a bucket."""
    return payload == Payload.S3 or (payload == Payload.AUTO and _may_be_large(compiled))


def _may_be_large(compiled: Workflow) -> bool:
    """Return True if the definition allows values larger than a table item."""
    has_data_sets = any(isinstance(state, Map) and (state.reads or state.writes) for state in compiled.states.values())
    return has_data_sets or (compiled.payload_limit or 0) > MAX_OUTCOME_BYTES
