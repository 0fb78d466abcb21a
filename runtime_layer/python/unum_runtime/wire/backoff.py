"""Which failures of a call pass, and how long to wait for that: the standard mode of the AWS SDKs.

Source: AWS SDKs and Tools Reference Guide, "Retry behavior".
"""

from unum_runtime.wire.call_errors import CallError, error_code

MAX_ATTEMPTS = 6
"""The first one included."""

PAUSE_S = 0.05
THROTTLED_PAUSE_S = 1.0
MAX_PAUSE_S = 20.0
"""The longest pauses before the first retry, before it where there were too many requests, and before any."""

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
_OUT_OF_ORDER = frozenset({500, 502, 503, 504})


def is_transient(error: CallError) -> bool:
    """Whether the same call may succeed later."""
    return not error.response or (
        error_code(error) in _THROTTLED | _TIMED_OUT
        or error.response["ResponseMetadata"]["HTTPStatusCode"] in _OUT_OF_ORDER
    )


def pause_s(attempt: int, error: CallError) -> float:
    """Seconds to wait after `attempt`, counted from 0, has failed with `error`."""
    from random import uniform  # noqa: PLC0415 - few sandboxes come here

    first = THROTTLED_PAUSE_S if error_code(error) in _THROTTLED else PAUSE_S
    return uniform(0, min(MAX_PAUSE_S, first * 2**attempt))  # noqa: S311 - jitter, no secret
