"""Timestamps: RFC 3339 with an uppercase ``T``, and ``Z`` or a numeric offset (specification, Timestamps)."""

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)

Instant: TypeAlias = "tuple[datetime, str]"
"""A moment with its second, and the digits of its fraction without trailing zeros; instants compare in order of time.

Digits keep any precision: recorded executions have nanoseconds, of which a datetime would drop three places.
"""


def parse_timestamp(value: object) -> "Instant | None":
    """The moment that `value` names; None when it is no timestamp."""
    match = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    from datetime import datetime  # noqa: PLC0415 - few workflows have timestamps in them

    second, fraction, offset = match.groups(default="")
    try:
        return datetime.fromisoformat(second + offset), fraction.rstrip("0")
    except ValueError:  # the shape is right, but there is no such day or hour
        return None


def milliseconds(moment: Instant) -> int:
    """`moment` in milliseconds since 1970; what is finer is dropped."""
    second, digits = moment
    return int(second.timestamp()) * 1000 + int(digits[:3].ljust(3, "0"))
