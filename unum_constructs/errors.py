"""Errors of the constructs."""

from constructs import IConstruct

from unum_runtime.errors import UnumError


class ConstructError(UnumError):
    """Invalid argument of a construct, or an invalid combination; the text begins with the construct's path.

    Args:
        construct: the construct, or its parent if the construct does not exist yet.
        message: option, expected and actual value, and remedy.
        child: id of a construct that does not exist yet.
    """

    def __init__(self, construct: IConstruct, message: str, *, child: str = "") -> None:
        path = "/".join(filter(None, (construct.node.path, child)))
        super().__init__(f"{path}: {message}")
