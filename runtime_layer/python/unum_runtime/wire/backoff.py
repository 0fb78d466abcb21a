"""Retry rules of the AWS SDKs' standard mode: transient errors, and pauses with exponential backoff.

Source: AWS SDKs and Tools Reference Guide, "Retry behavior".
"""

from unum_runtime.wire.call_errors import CallError, error_code

MAX_ATTEMPTS = 6
"""Maximum number of attempts, first attempt included."""

PAUSE_S = 0.05
THROTTLED_PAUSE_S = 1.0
MAX_PAUSE_S = 20.0
"""Upper limits of the pause: before the first retry, before the first retry after throttling, before any retry."""

_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_TIMED_OUT = frozenset({"RequestTimeout", "RequestTimeoutException"})
_SERVER_ERRORS = frozenset({500, 502, 503, 504})


def is_transient(error: CallError) -> bool:
    """Return True if the same call may succeed later."""
    return not error.response or (
        error_code(error) in _THROTTLED | _TIMED_OUT
        or error.response["ResponseMetadata"]["HTTPStatusCode"] in _SERVER_ERRORS
    )


def pause_s(attempt: int, error: CallError) -> float:
    """Return seconds to wait after `attempt`, counted from 0, failed with `error`."""
    from random import uniform  # noqa: PLC0415 - loaded only after a failed attempt

    first = THROTTLED_PAUSE_S if error_code(error) in _THROTTLED else PAUSE_S
    # Full jitter: without it all throttled sandboxes of a fan-out would retry together.
    return uniform(0, min(MAX_PAUSE_S, first * 2**attempt))  # noqa: S311 - jitter needs no secrecy
