"""Type checks of arguments: Python accepts any value for a keyword."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from aws_cdk import Duration
from constructs import Construct

from unum_constructs.errors import ConstructError

_Choice = TypeVar("_Choice", bound=StrEnum)


def check_types(construct: Construct, kind: type, options: Mapping[str, object]) -> None:
    """Raise unless each named value in `options` is a `kind` or None.

    Raises:
        ConstructError: names the option, the expected type and the value.
    """
    for option, value in options.items():
        if value is not None and not isinstance(value, kind):
            raise ConstructError(construct, f"{option}: expected a {kind.__name__}, got {value!r}")


def checked_switch(construct: Construct, option: str, value: bool) -> bool:  # noqa: FBT001 - the option's value
    """Return `value`, an option that is on or off.

    Raises:
        ConstructError: it is neither True nor False.
    """
    check_types(construct, bool, {option: value})
    return value


def check_mappings(construct: Construct, options: Mapping[str, Mapping[str, object] | None]) -> None:
    """Raise unless every value in `options`, by name, is a mapping with text keys; `tags` need text values.

    Raises:
        ConstructError: names the option and the key or value.
    """
    check_types(construct, Mapping, options)
    for option, given in options.items():
        for key, value in (given or {}).items():
            if not isinstance(key, str) or not key:
                raise ConstructError(construct, f"{option}: expected texts as keys, got {key!r}")
            if option == "tags" and not isinstance(value, str):
                raise ConstructError(construct, f"tags[{key!r}]: expected text, got {value!r}")


def seconds(construct: Construct, option: str, given: object) -> float:
    """Return the seconds in `given`.

    Raises:
        ConstructError: it is no `Duration`, or a token.
    """
    if not isinstance(given, Duration):
        raise ConstructError(construct, f"{option}: expected an aws_cdk.Duration, got {given!r}")
    if given.is_unresolved():
        raise ConstructError(construct, f"{option}: expected a Duration that is known at synth, got a token")
    return given.to_milliseconds(integral=False) / 1000


def whole_seconds(construct: Construct, option: str, given: object) -> int:
    """Return the seconds in `given` as an integer.

    Raises:
        ConstructError: it is no `Duration`, a token, or a fraction of seconds.
    """
    found = seconds(construct, option, given)
    if found % 1:
        raise ConstructError(construct, f"{option}: expected whole seconds, got {found:g} s")
    return int(found)


def checked_choice(construct: Construct, option: str, value: str, choices: type[_Choice]) -> _Choice:
    """Return `value` as a member of `choices`.

    Raises:
        ConstructError: it is none.
    """
    try:
        return choices(value)
    except ValueError as error:
        raise ConstructError(
            construct, f"{option}: expected one of {[str(each) for each in choices]}, got {value!r}"
        ) from error


def checked_range(construct: Construct, option: str, value: int | None, allowed: range, unit: str = "") -> int | None:
    """Return `value`; None is allowed.

    Raises:
        ConstructError: it is outside of `allowed`, or no whole number.
    """
    # `type`, not `isinstance`: True is an int in Python.
    if value is not None and (type(value) is not int or value not in allowed):
        raise ConstructError(construct, f"{option}: expected {allowed[0]} to {allowed[-1]}{unit}, got {value!r}{unit}")
    return value
