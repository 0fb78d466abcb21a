"""Numeric fields such as ``TimeoutSeconds``, and their reference forms such as ``TimeoutSecondsPath``.

Instead of a number, a definition may have a placeholder ``${Name}``; deployment replaces it by the text of a number.
"""

import math
import re
from collections.abc import Callable, Mapping

from unum_runtime.asl.item_sources import MOST_BYTES
from unum_runtime.asl.serialize import dumps
from unum_runtime.asl.states_errors import RuntimeFailure, excerpt
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.states import Json

_LONGEST_S = 99_999_999
_NUMERAL = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)


@dataclass(frozen=True)
class Bounds:
    """Allowed values of a field.

    Attributes:
        least: smallest number.
        most: largest number.
        is_whole: True if only integers are allowed.
    """

    least: int = 0
    most: float = math.inf
    is_whole: bool = True

    def __str__(self) -> str:
        kind = "an integer" if self.is_whole else "a number"
        return f"{kind} from {self.least} " + ("up" if self.most == math.inf else f"to {self.most}")

    def allow(self, value: float) -> bool:
        """Return True if `value` is within the bounds."""
        return self.least <= value <= self.most and (not self.is_whole or value == int(value))


BOUNDS: dict[str, Bounds] = {
    "Seconds": Bounds(most=_LONGEST_S),
    "TimeoutSeconds": Bounds(least=1, most=_LONGEST_S),
    "HeartbeatSeconds": Bounds(least=1, most=_LONGEST_S),
    "IntervalSeconds": Bounds(least=1, most=_LONGEST_S),
    "MaxAttempts": Bounds(most=_LONGEST_S),
    "BackoffRate": Bounds(least=1, is_whole=False),
    "MaxDelaySeconds": Bounds(least=1, most=31_622_399),
    "MaxConcurrency": Bounds(),
    "ToleratedFailureCount": Bounds(),
    "ToleratedFailurePercentage": Bounds(most=100, is_whole=False),
    "MaxItemsPerBatch": Bounds(),
    "MaxInputBytesPerBatch": Bounds(most=MOST_BYTES),
}
"""Bounds by field. Source: Step Functions Developer Guide, "Wait", "Task", "Map", "ItemBatcher", "Errors"."""


def is_number(value: Json) -> bool:
    """Return True for a JSON number; in Python, bool is a subclass of int."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_number(fields: Mapping[str, Json], field: str, select: Callable[[str], Json]) -> float | None:
    """Return the number in `field`, or at the path in `field` plus ``Path``; None without both fields.

    Args:
        fields: fields of a state, or of its ``ItemBatcher``.
        field: name of the field.
        select: function from a path to its value in the state's input after InputPath.

    Raises:
        RuntimeFailure: the path has no value or no valid number, or the deployment gave none.
    """
    path = fields.get(f"{field}Path")
    if path is None:
        return deployed_number(field, fields.get(field))
    return _number_at_path(field, path, select(path))


def deployed_number(field: str, value: Json) -> float | None:
    """Return the number of `field` in a definition, parsed from text if deployment replaced a placeholder.

    Raises:
        RuntimeFailure: `value` is text without a valid number.
    """
    if value is None:
        return None
    bounds = BOUNDS[field]
    number = _to_number(value, is_whole=bounds.is_whole)
    if number is None or not bounds.allow(number):
        raise RuntimeFailure(f"{field} must be {bounds}, and the deployment has given {excerpt(value)}")
    return number


def _number_at_path(field: str, path: str, value: Json) -> float:
    bounds = BOUNDS[field]
    number = _to_number(value, is_whole=bounds.is_whole)
    if number is None:  # this cause and the next are AWS's, as recorded
        shown = value if isinstance(value, str) else dumps(value)
        kind = "integer" if bounds.is_whole else "number"
        raise RuntimeFailure(f'The {field}Path field refers to value "{shown}" which is not a valid {kind}: {path}')
    if number < 0:
        raise RuntimeFailure(f"{field} cannot be negative.")
    if not bounds.allow(number):
        raise RuntimeFailure(f"{field} must be {bounds}; at {path} is {number}")
    return number


def _to_number(value: Json, *, is_whole: bool) -> float | None:
    """Convert a number or a numeral such as "1"; return None for other values.

    AWS's cause for the text "NoNumber", that it "is not a valid integer", suggests that it reads numbers in texts.
    """
    if not (_NUMERAL.fullmatch(value) if isinstance(value, str) else is_number(value)):
        return None  # Python would read "1_0" and " 1" as well
    try:
        number = float(value)
        if not number.is_integer():
            return None if is_whole else number
        return int(value) if isinstance(value, str | int) else int(number)
    except (ValueError, OverflowError):
        return None
