"""What options are made of, before anything is asked of them: Python takes whatever it is given."""

from collections.abc import Mapping

from aws_cdk import Duration
from constructs import Construct

from unum_constructs.errors import ConstructError


def check_kinds(construct: Construct, kind: type, options: Mapping[str, object]) -> None:
    """Stop if one of `options`, by name, is neither a `kind` nor None.

    Raises:
        ConstructError: says which, and what it is.
    """
    for option, value in options.items():
        if value is not None and not isinstance(value, kind):
            raise ConstructError(construct, f"{option}: expected a {kind.__name__}, got {value!r}")


def check_mappings(construct: Construct, options: Mapping[str, Mapping[str, object] | None]) -> None:
    """Stop if one of `options`, by name, is no mapping of texts; or a value of `tags`, which are nothing but text.

    Raises:
        ConstructError: says which, and what it is.
    """
    check_kinds(construct, Mapping, options)
    for option, given in options.items():
        for key, value in (given or {}).items():
            if not isinstance(key, str) or not key:
                raise ConstructError(construct, f"{option}: expected texts as keys, got {key!r}")
            if option == "tags" and not isinstance(value, str):
                raise ConstructError(construct, f"tags[{key!r}]: expected text, got {value!r}")


def seconds(construct: Construct, option: str, given: object) -> float:
    """How many seconds `given` has.

    Raises:
        ConstructError: it is no `Duration`, or none that synth knows.
    """
    if not isinstance(given, Duration):
        raise ConstructError(construct, f"{option}: expected an aws_cdk.Duration, got {given!r}")
    if given.is_unresolved():
        raise ConstructError(construct, f"{option}: expected a Duration that is known at synth, got a token")
    return given.to_milliseconds(integral=False) / 1000


def whole_seconds(construct: Construct, option: str, given: object) -> int:
    """The same, if it is an integer.

    Raises:
        ConstructError: it is none.
    """
    found = seconds(construct, option, given)
    if found % 1:
        raise ConstructError(construct, f"{option}: expected whole seconds, got {found:g} s")
    return int(found)
