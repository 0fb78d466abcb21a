"""Checks of the arguments of nodes where they are built; messages name the node."""

from typing import Any

from unum_compiler.frontends.graph.graph_expressions import Expression, Reference
from unum_runtime.model.states import Json


def check_whole(node: str, argument: str, value: Any, least: int, *, may_be_place: bool = False) -> None:
    """Raise unless `value` is None, an integer >= `least`, or an allowed place.

    Raises:
        TypeError: `value` is something else.
        ValueError: the integer is too small.
    """
    if value is None or (may_be_place and isinstance(value, Reference)):
        return
    if isinstance(value, bool) or not isinstance(value, int):
        place = ", or a place in data" if may_be_place else ""
        raise TypeError(f"{node!r}: {argument}: expected an integer{place}, got {shown(value)}")
    if value < least:
        raise ValueError(f"{node!r}: {argument}: expected at least {least}, got {value}")


def check_number(node: str, argument: str, value: Any, least: float) -> None:
    """Raise unless `value` is a number >= `least`.

    Raises:
        TypeError: `value` is something else.
        ValueError: the number is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{node!r}: {argument}: expected a number, got {shown(value)}")
    if value < least:
        raise ValueError(f"{node!r}: {argument}: expected at least {least:g}, got {value}")


def check_text(node: str, argument: str, value: Any, *, may_be_place: bool = False) -> None:
    """Raise TypeError unless `value` is text, or a place if that is allowed."""
    if not isinstance(value, str) and not (may_be_place and isinstance(value, Reference)):
        place = ", or a place in data" if may_be_place else ""
        raise TypeError(f"{node!r}: {argument}: expected text{place}, got {shown(value)}")


def check_truth(node: str, argument: str, value: Any) -> None:
    """Raise TypeError unless `value` is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{node!r}: {argument}: expected True or False, got {shown(value)}")


def number_field(node: str, argument: str, field: str, value: Any, least: int = 0) -> dict[str, Json]:
    """Return ASL's field for an integer or a place; nothing for None.

    Raises:
        TypeError: `value` is something else.
        ValueError: the integer is too small.
    """
    check_whole(node, argument, value, least, may_be_place=True)
    if value is None:
        return {}
    return {f"{field}Path": value.text} if isinstance(value, Reference) else {field: value}


def shown(value: Any) -> str:
    """Return `value` for a message."""
    return value.text if isinstance(value, Expression) else repr(value)
