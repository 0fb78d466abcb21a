"""Timestamps: RFC 3339 with an uppercase ``T``, and ``Z`` or a numeric offset. Source: specification, "Timestamps"."""

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)

Instant: TypeAlias = "tuple[datetime, str]"
"""Point in time: whole second, and fraction digits without trailing zeros. Instants compare in order of time.

Digits keep any precision. Recorded executions have nanoseconds; a datetime would drop three digits.
"""


def parse_timestamp(value: object) -> "Instant | None":
    """Parse a timestamp; return None for other values."""
    match = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    from datetime import datetime  # noqa: PLC0415 - few workflows compare timestamps

    second, fraction, offset = match.groups(default="")
    try:
        return datetime.fromisoformat(second + offset), fraction.rstrip("0")
    except ValueError:  # right shape, but no such day or hour, as in 2023-02-30
        return None


def to_milliseconds(instant: Instant) -> int:
    """Return `instant` in milliseconds since 1970, rounded down."""
    second, digits = instant
    return int(second.timestamp()) * 1000 + int(digits[:3].ljust(3, "0"))
