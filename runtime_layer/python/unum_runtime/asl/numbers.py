"""Fields that say a number, such as ``TimeoutSeconds``, or where one is to be found, such as ``TimeoutSecondsPath``.

In place of a number a definition may have ``${Name}``, which becomes the text of one when the workflow is deployed.
"""

import math
from collections.abc import Callable, Mapping

from unum_runtime.asl.batches import MOST_BYTES
from unum_runtime.asl.serialize import dumps
from unum_runtime.asl.states_errors import RuntimeFailure, excerpt
from unum_runtime.cold_start.records import dataclass
from unum_runtime.model.ir import Json

_LONGEST_S = 99_999_999


@dataclass(frozen=True)
class _Bounds:
    """What a field may say.

    Attributes:
        least: the smallest number.
        most: the largest number.
        is_whole: only integers.
    """

    least: int = 0
    most: float = math.inf
    is_whole: bool = True

    def __str__(self) -> str:
        kind = "an integer" if self.is_whole else "a number"
        return f"{kind} from {self.least}" + ("" if self.most == math.inf else f" to {self.most}")

    def hold(self, value: Json) -> bool:
        """Whether `value` is a number of this kind, and within the bounds."""
        kinds = int if self.is_whole else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and self.least <= value <= self.most


_BOUNDS: dict[str, _Bounds] = {
    "Seconds": _Bounds(most=_LONGEST_S),
    "TimeoutSeconds": _Bounds(least=1, most=_LONGEST_S),
    "HeartbeatSeconds": _Bounds(least=1, most=_LONGEST_S),
    "MaxConcurrency": _Bounds(),
    "ToleratedFailureCount": _Bounds(),
    "ToleratedFailurePercentage": _Bounds(most=100, is_whole=False),
    "MaxItemsPerBatch": _Bounds(least=1),
    "MaxInputBytesPerBatch": _Bounds(least=1, most=MOST_BYTES),
}
"""What each such field may say (developer guide: Wait, Task, Map; ItemBatcher)."""


def number(fields: Mapping[str, Json], field: str, at: Callable[[str], Json]) -> float | None:
    """What `field` says, or what is found at the path in the field of the same name with ``Path``; None without either.

    Args:
        fields: of a state, or of its ``ItemBatcher``.
        field: its name.
        at: what is found at a path in the state's input after InputPath.

    Raises:
        RuntimeFailure: at the path is nothing, or no such number; or the deployment has given none.
    """
    path = fields.get(f"{field}Path")
    if path is None:
        return given(field, fields.get(field))
    return _found(field, path, at(path))


def given(field: str, value: Json) -> float | None:
    """The number that `field` of a definition says; None where `value` is None, because it says nothing.

    Raises:
        RuntimeFailure: `value` is a text that the deployment has given, or has failed to give, and no such number.
    """
    if value is None or not isinstance(value, str):
        return value
    bounds = _BOUNDS[field]
    read = _read(value, is_whole=bounds.is_whole)
    if read is None or not bounds.hold(read):
        raise RuntimeFailure(f"{field} must be {bounds}, and the deployment has given {excerpt(value)}")
    return read


def _found(field: str, path: str, value: Json) -> float:
    bounds = _BOUNDS[field]
    read = _read(value, is_whole=bounds.is_whole)
    if read is None:  # worded as AWS does, as far as it was recorded
        shown = value if isinstance(value, str) else dumps(value)
        kind = "integer" if bounds.is_whole else "number"
        raise RuntimeFailure(f'The {field}Path field refers to value "{shown}" which is not a valid {kind}: {path}')
    if read < 0:
        raise RuntimeFailure(f"{field} cannot be negative.")
    if not bounds.hold(read):
        raise RuntimeFailure(f"{field} must be {bounds}; at {path} is {read}")
    return read


def _read(value: Json, *, is_whole: bool) -> float | None:
    """`value` as a number; AWS takes a string such as "1" too."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value)
        if not read.is_integer():
            return None if is_whole else read
        return int(value) if isinstance(value, str | int) else int(read)
    except (ValueError, OverflowError):
        return None
