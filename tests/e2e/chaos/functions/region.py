"""Nodes of a region, and Tasks of a wave behind it: each result tells of all results before it."""

from typing import Any


def node(event: Any, context: Any) -> Any:  # noqa: ARG001 - Lambda gives it
    """Return one more than the sum of the sources' results, or than the input of the region."""
    return 1 + sum(event.values())


def split(event: Any, context: Any) -> Any:  # noqa: ARG001 - Lambda gives it
    """Return three numbers from the result of the region on."""
    return [event["f"] + offset for offset in range(3)]


def total(event: Any, context: Any) -> Any:  # noqa: ARG001 - Lambda gives it
    """Return the sum of the own number and the result of the previous branch."""
    return event["own"] + (event["previous"] or 0)


def encode(event: Any, context: Any) -> Any:  # noqa: ARG001 - Lambda gives it
    """Return one more than the number of the branch."""
    return event + 1
