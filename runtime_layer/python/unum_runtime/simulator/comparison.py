"""Whether two outcomes are the same."""

import json

from unum_runtime.model.checkpoint import Failure, Outcome, Success, to_text
from unum_runtime.model.ir import Json
from unum_runtime.protocol.planning.plan import MAX_OUTCOME_BYTES

LIMIT = "States.DataLimitExceeded"


def explains(expected: Outcome, found: Outcome, limit: int | None = None) -> bool:
    """Whether `found` is `expected`, or says that `expected` is too large: larger than `limit`, or than is stored."""
    if isinstance(found, Failure) and found.error == LIMIT and isinstance(expected, Success):
        return len(to_text(expected.value).encode()) > min(limit or MAX_OUTCOME_BYTES, MAX_OUTCOME_BYTES)
    return same_json(_fields(expected), _fields(found))


def same_json(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON; Python alone would take true for 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _fields(outcome: Outcome) -> Json:
    return [outcome.value] if isinstance(outcome, Success) else [outcome.error, outcome.cause]
