"""Quotas of Step Functions, for workflows that are compiled strictly.

Source: Step Functions Developer Guide, "Service quotas", and "Map state processing modes".
"""

from unum_runtime.asl.serialize import dumps
from unum_runtime.errors import StatesError
from unum_runtime.model.checkpoint import Failure, Success
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import FanOut, Json, Map

INLINE_BRANCHES = 40
"""Most iterations of an inline Map at once."""

DISTRIBUTED_BRANCHES = 10_000
"""Most child executions of a distributed Map at once."""


_ERROR = "States.DataLimitExceeded"


def branches_at_once(state: FanOut, limit: float | None) -> float | None:
    """Return the number of branches that `state` runs at once, None for all, given its ``MaxConcurrency``."""
    if not isinstance(state, Map):
        return limit
    most = DISTRIBUTED_BRANCHES if state.distributed else INLINE_BRANCHES
    return min(limit, most) if limit else most


def check_value(workflow: Workflow, value: Json, what: str) -> None:
    """Raise StatesError (``States.DataLimitExceeded``) if `value`, named by `what`, exceeds the quota."""
    if cause := _fault(workflow, dumps(value), what):
        raise StatesError(_ERROR, cause)


def oversized(workflow: Workflow, given: Success) -> Failure | None:
    """Return the failure for an oversized input of an execution or a branch."""
    cause = _fault(workflow, given.text, "input")
    return Failure(_ERROR, cause) if cause else None


def _fault(workflow: Workflow, text: str, what: str) -> str | None:
    size, limit = len(text.encode()), workflow.payload_limit
    if limit is None or size <= limit:
        return None
    return f"the {what} has {size} bytes; at most {limit} are allowed: pass large data by reference"
