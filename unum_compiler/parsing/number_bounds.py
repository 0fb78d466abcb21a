"""Bounds of numeric fields.

Source: AWS Step Functions Developer Guide, "Wait workflow state", "Task workflow state", "Handling errors in Step
Functions workflows", "Using Map state in Distributed mode".
"""

from collections.abc import Mapping
from typing import NamedTuple

from unum_compiler.parsing.object_reader import Part, is_placeholder
from unum_compiler.problems import shown
from unum_runtime.asl.batches import MOST_BYTES
from unum_runtime.asl.jsonpath.operators import OPERATORS
from unum_runtime.model.states import Json

_MOST = 99_999_999  # seconds, more than three years: the limit that the pages give for most fields


class _Bounds(NamedTuple):
    least: int
    most: int | None = _MOST
    is_whole: bool = True

    def __str__(self) -> str:
        kind = "an integer" if self.is_whole else "a number"
        return f"{kind} ≥ {self.least}" if self.most is None else f"{kind} from {self.least} to {self.most}"


_BOUNDS: Mapping[str, _Bounds] = {
    "Seconds": _Bounds(0),
    "TimeoutSeconds": _Bounds(1),
    "HeartbeatSeconds": _Bounds(1),
    "IntervalSeconds": _Bounds(1),
    "MaxAttempts": _Bounds(0),
    "BackoffRate": _Bounds(1, None, is_whole=False),
    "MaxDelaySeconds": _Bounds(1, 31_622_399),  # less than a leap year
    "MaxConcurrency": _Bounds(0, None),
    "ToleratedFailureCount": _Bounds(0, None),
    "ToleratedFailurePercentage": _Bounds(0, 100, is_whole=False),
    "MaxItems": _Bounds(0, 100_000_000),
    "MaxItemsPerBatch": _Bounds(0),
    "MaxInputBytesPerBatch": _Bounds(0, MOST_BYTES),
}

NUMBERS = frozenset(_BOUNDS)
"""Names of the fields that hold numbers."""

COMPARED = frozenset(name for name in OPERATORS if name.startswith("Numeric"))
"""Comparisons with numbers, which may be known at deployment too."""


def check_number(part: Part, field: str) -> None:
    """Report a value of `field` outside its bounds; placeholders are checked when a function starts."""
    bounds, value = _BOUNDS[field], part.fields[field]
    kinds = (int,) if bounds.is_whole else (int, float)
    if is_placeholder(value):
        return
    if not isinstance(value, kinds) or isinstance(value, bool):  # True is an int in Python, no number in JSON
        part.mistake(field, f"expected {bounds}, got {shown(value)}{_hint(value)}")
    elif value < bounds.least or (bounds.most is not None and value > bounds.most):
        part.mistake(field, f"expected {bounds}, got {value}")


def _hint(value: Json) -> str:
    is_jsonata = isinstance(value, str) and value.startswith("{%")
    return '; JSONata needs "QueryLanguage": "JSONata" in the state or at the top' if is_jsonata else ""
