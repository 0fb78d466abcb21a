"""Signatures of intrinsic functions, for checks of literals by the compiler and of values at run time."""

from collections.abc import Callable
from dataclasses import dataclass

from unum_runtime.asl.numbers import is_number
from unum_runtime.model.states import Json


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of an argument.

    Attributes:
        name: name for error texts.
        fits: function from a value to True if the value is of this kind.
    """

    name: str
    fits: Callable[[Json], bool]


ANYTHING = Kind("any value", lambda _value: True)
ARRAY = Kind("an array", lambda value: isinstance(value, list))
NUMBER = Kind("a number", is_number)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
SHALLOW = Kind("false, because Step Functions merges no deeper than one level", lambda value: value is not True)
TEXT = Kind("a string", lambda value: isinstance(value, str))
LIMITED_TEXT = Kind(
    "a string of at most 10,000 characters", lambda value: isinstance(value, str) and len(value) <= LONGEST
)

LONGEST = 10_000
"""Maximum characters of Base64Encode, Base64Decode and Hash. Source: Step Functions Developer Guide, "Intrinsic
functions"."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Arguments of a function.

    Attributes:
        kinds: kinds in order; the last kind also applies to all further arguments.
        optional: number of optional arguments at the end.
        is_open: True if more arguments than `kinds` may follow.
    """

    kinds: tuple[Kind, ...]
    optional: int = 0
    is_open: bool = False

    def find_fault(self, position: int, value: Json) -> str | None:
        """Return the problem of `value` as argument number `position`, counted from 0; None for a valid value."""
        kind = self.kinds[min(position, len(self.kinds) - 1)]
        return None if kind.fits(value) else f"argument {position + 1} must be {kind.name}"

    def takes(self, count: int) -> bool:
        """Return True if `count` is a valid number of arguments."""
        return count >= len(self.kinds) - self.optional and (self.is_open or count <= len(self.kinds))

    def __str__(self) -> str:
        """Return the valid number of arguments, as text."""
        least, most = len(self.kinds) - self.optional, len(self.kinds)
        if self.is_open:
            return f"at least {least}" if least else "any number of"
        return f"{least}" if least == most else f"{least} or {most}"
