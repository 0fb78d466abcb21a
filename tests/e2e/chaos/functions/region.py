"""Nodes of a region: each result tells of all results before it."""

from typing import Any


def node(event: Any, context: Any) -> Any:  # noqa: ARG001 - Lambda gives it
    """Return one more than the sum of the sources' results, or than the input of the region."""
    return 1 + sum(event.values())
